// Package shellcmd reads a shell command line as a syntax tree and returns what it
// would start: every simple command anywhere in it, every redirection, and every
// thing that makes a line impossible to judge.
//
// What belongs here: the tree, words and what is fixed about them, bounds on input.
// What may not come in: rules, verdicts, tables of programs (gate), running anything.
//
// Two promises hold for any text: a command that the shell would start from this line
// stands in Script.Commands, or a reason stands in Script.Refused; and a Word that
// says Fixed reaches the program exactly as its Text.
//
// Open parse.go for the walk over the tree, word.go for what a word may become, shells.go
// for lines that another shell than bash runs.
package shellcmd
