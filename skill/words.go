package skill

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// wordAt reports whether s begins with a letter, digit or underscore of any script.
func wordAt(s string) bool { return s != "" && (isWord(s[0]) || isLetterAt(s)) }

func isLetterAt(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// isName reports whether s can stand between ${ and }.
func isName(s string) bool {
	for i, r := range s {
		switch {
		case r == '_' || unicode.IsLetter(r):
		case i > 0 && (r == '-' || r == '.' || unicode.IsDigit(r) || unicode.IsMark(r)):
		default:
			return false
		}
	}
	return s != ""
}

// SplitArguments cuts raw arguments into words: at blanks; '…' is literal; "…" knows \"
// and \\; outside quotes a backslash escapes only a blank, a quote or a backslash; a
// quote that does not close is an ordinary character.
func SplitArguments(raw string) []string {
	var out []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if inWord {
				out = append(out, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case c == '\\' && i+1 < len(raw) && strings.IndexByte(" \t\n'\"\\", raw[i+1]) >= 0:
			i++
			word.WriteByte(raw[i])
		case c == '\'' || c == '"':
			if end := argumentQuote(raw, i); end > 0 {
				word.WriteString(unescapeQuoted(raw[i+1:end], c))
				i = end
			} else {
				word.WriteByte(c)
			}
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		out = append(out, word.String())
	}
	return out
}

// argumentQuote returns the index of the quote that closes the one at i, or -1.
func argumentQuote(raw string, i int) int {
	for j := i + 1; j < len(raw); j++ {
		switch {
		case raw[i] == '"' && raw[j] == '\\' && j+1 < len(raw) && (raw[j+1] == '"' || raw[j+1] == '\\'):
			j++
		case raw[j] == raw[i]:
			return j
		}
	}
	return -1
}

func unescapeQuoted(s string, quote byte) string {
	if quote != '"' || strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\') {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
