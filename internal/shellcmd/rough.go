package shellcmd

import (
	"slices"
	"strings"
)

// reserved are the words of the shell's grammar behind which a command begins.
var reserved = []string{"if", "then", "elif", "else", "while", "until", "do", "time", "coproc"}

// Rough cuts a line that [Parse] cannot read at everything that could begin another
// command, and each part into words. Whoever forbids something looks at each part: too
// many parts are better than one too few. Nothing may be allowed by it.
func Rough(line string) [][]string {
	parts := strings.FieldsFunc(line, func(r rune) bool {
		return r < ' ' && r != '\t' || strings.ContainsRune(";|&<>`(){}!", r)
	})
	var out [][]string
	for _, part := range parts {
		command := roughWords(strings.TrimLeft(part, "$ \t"))
		for len(command) > 1 && (strings.Contains(command[0], "=") || slices.Contains(reserved, command[0])) {
			command = command[1:] // an assignment or a word of the grammar is not the program
		}
		if len(command) > 0 {
			out = append(out, command)
		}
	}
	return out
}

// roughWords splits at blanks outside quotes and drops quotes and backslashes.
func roughWords(text string) []string {
	var out []string
	var word strings.Builder
	in, open := false, rune(0)
	rs := []rune(text)
	for i := 0; i < len(rs); i++ {
		switch c := rs[i]; {
		case open != 0 && c == open:
			open = 0
		case open == '"' && c == '\\' && i+1 < len(rs):
			i++
			word.WriteRune(rs[i])
		case open != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			open, in = c, true
		case c == '\\' && i+1 < len(rs):
			i++
			word.WriteRune(rs[i])
			in = true
		case c == ' ' || c == '\t':
			if in {
				out = append(out, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(c)
			in = true
		}
	}
	if in {
		out = append(out, word.String())
	}
	return out
}
