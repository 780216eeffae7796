// Package scan looks for what is dangerous in the files of a skill, and says where.
//
// What belongs here: reading a tree within bounds, cutting texts into lines and places,
// decoding, the rules and how they match, hidden Unicode, what files are, and findings.
// What may not come in: a verdict. A Result is a list of findings and of what was not
// read; nothing here, nor in the words for people, calls a skill harmless. What happens
// on a finding is policy of the caller. Nothing is executed, and no link is followed.
//
//	rules/*.yaml  the rules, one family a file, each with texts that it must and must not
//	              match; words.yaml: fragments that patterns share as {name}
//	rule.go       the form of a rule; load.go: reading and checking rules
//	literals.go   what a text has to hold before a pattern is tried; automaton.go: finding
//	              that in one pass, so that cost grows with the text and not with the rules
//	text.go       lines and the places they stand in; taught.go: text that warns or teaches
//	match.go      patterns over lines, and the conditions of a rule
//	decode.go     base64, hex, escapes and the like: decoded text is looked at again
//	hidden.go     invisible and misleading characters; what is legitimate beside what
//	header.go     the header's structure; names that imitate; names.txt: what is imitated
//	tree.go       the walk, its bounds, links and special files; magic.go: what bytes are
//	archive.go    archives inside a skill
//	parts.go      named pieces of a text that are put together
//	declared.go   what scripts do and the skill does not say
//	reader.go     texts that a language model reads beside the rules; reader.md: what it is
//	              told
//
// A rule must never name a skill, a host or a sentence of a test set: it has to hold for
// texts that its author has not seen.
package scan
