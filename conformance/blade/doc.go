// Package blade proves that dialect blade reads, ranks and separates skills as Blade
// Agent SDK's skills do.
//
// What belongs here: one test for each row of the suite, named TestBlade, the row's id
// and its slug, against the public API only; TestEveryRowIsATest holds the list, and the
// rows that are left out with their reason. What may not come in: code that another
// room imports, and behaviour of deft's own dialect.
//
//	suite_test.go    the list of rows, and what the tests share
//	reading_test.go  A: reading SKILL.md
//	shell_test.go    A: the fields of commands and hooks
//	sources_test.go  B: sources and precedence
//	views_test.go    C: identity, profiles, isolation; D: data skills
//	catalog_test.go  E: what is listed
//	tool_test.go     E, F: the tool that loads skills, body and assets
//	paths_test.go    H: path conditions
//	policy_test.go   I: which tools are declared; K: tools that are found
//	effects_test.go  J: patches and layers
//	inline_test.go   G: inline commands; those of Z that are about them
//	apart_test.go    Z: what is not reproduced, with what is in its place
//	hooks_test.go    K: hooks
//	differs_test.go  the rows that deft does not keep
//	loop_test.go     H, J: what concerns a whole turn
package blade
