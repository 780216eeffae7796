package shellcmd

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Judged is a line as it has to be judged where a shell of that name runs it ("" = sh):
// the line itself where bash's grammar says what the shell would do, else a call of the
// shell, which no rule and no proof covers. Whoever reads a line by one grammar and has it
// run by another can be told one thing and do another.
func Judged(shell, line string) string {
	switch shell {
	case "bash":
		return line
	case "", "sh":
		if portable(line) {
			return line
		}
		shell = "sh"
	}
	return shell + " -c '" + strings.ReplaceAll(line, "'", `'\''`) + "'"
}

// portable reports whether a shell that knows the standard's grammar alone finds the same
// parts in a line as bash does. Quotes with a dollar sign in front end elsewhere for the
// one than for the other, so that none is let through.
func portable(line string) bool {
	bash, ok := printed(line, syntax.LangBash)
	if !ok {
		return false
	}
	posix, ok := printed(line, syntax.LangPOSIX)
	return ok && bash == posix
}

func printed(line string, grammar syntax.LangVariant) (string, bool) {
	file, err := syntax.NewParser(syntax.Variant(grammar), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil {
		return "", false
	}
	ok := true
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			ok = ok && !n.Dollar
		case *syntax.DblQuoted:
			ok = ok && !n.Dollar
		case *syntax.Assign:
			ok = ok && !n.Append
		}
		return ok
	})
	var b strings.Builder
	if !ok || syntax.NewPrinter().Print(&b, file) != nil {
		return "", false
	}
	return b.String(), true
}
