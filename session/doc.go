// Package session answers, at any moment and without the conversation: which skills
// are active, since when, with which text, what they permit, and what holds now.
//
// What belongs here: activation of one skill or of a replacing set, the two layers of
// patches (session and turn) with the pure Derive, arguments, the text that a model
// is given for a skill, and the audit event of each change. What may not come in:
// verdicts on calls (gate), the form of tools (toolset), relevance and catalogs
// (route, search, catalog), files outside the interfaces of source.
//
// A Session has one writer, its running Turn; readers never block, since layers are
// immutable and swapped as a whole.
//
// Open layers.go for what a patch is and how patches replace each other, derive.go
// for what holds in the end, activate.go for the order of checks before a skill
// starts, find.go for what an actor may know of, effects.go for what a skill brings
// beside its text, paths.go for skills that wait for a file, referenced.go for the files
// that a conversation is about, set.go for the replacing set, arguments.go for
// placeholders, hooks.go for hooks in force, inline.go for the commands of a text, bodies.go for reading, render.go
// for the text given to the model,
// layouts.go for that of other dialects, manners.go for what they do their own way,
// slash.go for what counts as the user's own start, turn.go for a turn's life, fresh.go
// for a shortened conversation, fork.go for skills that a sub-agent carries out, state.go for a resumed one.
package session
