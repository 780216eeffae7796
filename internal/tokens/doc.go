// Package tokens counts what text costs a model.
//
// What belongs here: counters behind one small interface. What may not come in:
// budgets, caches, knowledge of prompts. Counting loads tables of some megabytes at
// the first Count, so nothing here may be called by a command that shows no count.
//
//	counter.go  the interface, the estimate
//	o200k.go    the exact counter and when it falls back to bytes
package tokens
