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
// Shell commands come as the words of their simple commands; what reads them is package
// shellcmd, and what proves them is the gate.
//
// Open pattern.go for the grammar, words.go for shell words, list.go for matching,
// subject.go for tools' names and arguments.
package toolrule
