// Package catalog decides what a model is told about the skills that exist: which
// ones, in which words, within which budget, and keeps account of everything that
// it shortened, left out or hid.
//
// It promises: the text never exceeds its budget; every name is shown before any
// description; text from skills cannot leave the block; equal input gives equal
// bytes, so that providers' prompt caches hold; nothing is cut without a word, to
// the model and in the Report.
//
// What belongs here: filters of visibility, formats with their escaping and
// parsing, budgets, the guidance that goes before the list. What may not come in:
// file access, model calls, the clock, and the packages route and search: what they
// found arrives as plain Routed values, named by registry.Record.Address.
//
//	catalog.go         the values that go in and come out
//	dialect.go         the table of dialects: formats, filters, budgets, caps, order
//	render.go          one render from options to blocks; modes
//	filter.go          who is in, and the reason of everyone who is not
//	shape.go           the six formats
//	entry.go           one skill's line at each level of detail, and what it costs
//	cache.go           lines kept between renders, results kept by key
//	escape.go          what may not appear in a line as it is
//	collate.go         the order of names in the root locale
//	parse.go           reading a block back
//	budget.go          how much room there is
//	concede.go         what is given up when it is not enough, step by step
//	concede_tiers.go   the same in dialect minimax: built-in skills first
//	concede_hosts.go   the same in dialects claude-code and codex
//	tail.go            what belongs to the turn: hints, routed skills
//	guidance.go        the words about the list (guidance_*.md)
//	delta.go           what changed between two catalogs
//	thread.go          one conversation: what it keeps, what it is told
//	report.go          the account
package catalog
