// Package agentskills proves that deft judges skills as the open standard's reference
// validator does, and that its strict verdict never stops a load.
//
// What belongs here: one test for each line of the suite, named Test, the group and
// the line's name in camel case, against the public API only; TestEveryLineIsATest
// holds the list. What may not come in: code that another room imports, and
// behaviour of deft's own dialect.
//
//	parser_test.go     reading a file into the standard's six fields
//	validator_test.go  the rules that the reference's own tests pin
//	edge_*_test.go     further edges of the reference, pinned by observation
//	prompt_test.go     the catalog in the standard's format
//	discovery_test.go  the roots that the standard's client guide names
//	suite_test.go      the list of lines, and what the tests share
package agentskills
