// Package minimax holds the suite that proves dialect minimax: one test a line, named
// after the line and the behaviour, on real files. Odd results are pinned on purpose;
// a test whose name ends in Deft shows what deft's own dialect does instead.
//
// Lines about the list of slash commands and the panel stand in the table
// as lines of later suites, by the rooms that will hold them. What
// needs a seam of a room (a watcher whose events a test sends) is tested there: such a
// test names its line in its comment.
package minimax
