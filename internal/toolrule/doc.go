// Package toolrule parses and matches the patterns of tool lists: allowed-tools and
// disallowed-tools of a skill, and the host's own lists. It is the only matcher, so
// that an allow and a deny can never read one pattern in two ways.
//
//	pattern = name [ "(" spec ")" ]
//	name    = ident | ident "*" | "*"
//	spec    = "*"                  as if absent
//	        | words ":*"           at the end only: the same as words " *"
//	        | words                may hold "*"; " *" at the end is a word boundary
//	        | "domain:" host       network tools; "*.example.org" is not example.org
//	        | path glob            file tools; relative = workspace, "~/", "//" = absolute
//
// What belongs here: the grammar, the table of names that one tool goes by, and which
// argument of a tool a spec speaks of. What may not come in: verdicts (gate), which
// list is in force (session), anything that opens a file.
//
// Shell commands are judged here without a shell grammar: a command that holds any
// operator, expansion or redirection is covered by no words, and a deny looks at every
// part of it. A caller that has parsed the command passes its simple commands instead.
//
// Open pattern.go for the grammar, words.go for shell words, list.go for matching,
// subject.go for tools' names and arguments.
package toolrule
