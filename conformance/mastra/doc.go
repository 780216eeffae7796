// Package mastra proves that dialect mastra finds, names and judges skills as Mastra's
// workspace skills do.
//
// What belongs here: one test for each line of the suite, named Test, the line's id
// with three digits and its behaviour, against the public API only; TestEveryLineIsATest
// holds the list, and the lines that are left out with their reason. What may not come
// in: code that another room imports. The lines M say what deft's own dialect must not do.
//
//	suite_test.go      the list of lines, and what the tests share
//	workspace_test.go  W: listing, files, locations, refresh, validity, types, requests
//	requests_test.go   W: checks, dynamic paths, faults, where paths are read
//	globs_test.go      W, G: globs
//	names_test.go      W: equal names, direct paths, single changes
//	validate_test.go   V: what is a valid skill
//	code_test.go       D: skills given in code
//	versions_test.go   B: stored versions as file systems; blobs_test.go the stores that
//	                   these lines run on; trees_test.go, nodes_test.go: what is stored as
//	                   Mastra stores it; publish_test.go: publishing, strategies
//	mustnot_test.go    M: what must not happen; of search and tools mustnot_search_test.go, mustnot_tools_test.go
package mastra
