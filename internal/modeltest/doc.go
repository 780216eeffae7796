// Package modeltest is a model server for tests: it speaks the wire formats of the
// providers over real HTTP on the loopback interface, from a script of steps, with
// the faults that real servers have. It also holds the suite that every adapter of
// agent/model passes.
//
// What belongs here: formats as providers send them, checks of what a client sends,
// faults. What may not come in: anything that the product itself uses.
//
// Which file to open: script.go for what a step can be, server.go for requests and
// faults, anthropic.go, chat.go and responses.go for one format each, check.go for
// what is wrong with a request, suite.go for the suite.
package modeltest
