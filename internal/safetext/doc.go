// Package safetext is the one printing door: text that came from a file, a model,
// a network or a person passes here before anyone sees it.
//
// What belongs here: cleaning of one-line fields for models (Field), making hostile
// bytes visible for people (Text, Line), cutting without breaking a character
// (Clip), and the Printer that commands write with. What may not come in: layout,
// tables, words, knowledge of skills.
//
//	field.go    what is removed from a field, what is kept and why
//	visible.go  the forms that people see: \x1b, <U+202E>
//	clip.go     cutting on borders of characters as people count them
//	printer.go  the writer of every command
//	classes.go  which code points are dangerous, which are bases that excuse them
package safetext
