package shellcmd

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Word is one word of a command before the shell expands it.
type Word struct {
	// Text is the word without quotes and backslashes; of a word that is not Fixed
	// the part in front of what is unknown.
	Text string
	// Fixed says that the program gets exactly Text, save for a tilde in front.
	Fixed bool
	// Split says that an expansion stands outside quotes: the word may become
	// several words or none.
	Split bool
	// Glob says that a pattern or braces stand outside quotes: the word may become
	// other words, each of which begins with Text where Split is false.
	Glob bool
	// Tilde says that the word begins with an unquoted "~".
	Tilde bool
	// quoted says that something of the word stood in quotes or behind a backslash.
	quoted bool
}

// wordReader puts one word together from its parts.
type wordReader struct {
	out   Word
	text  strings.Builder
	known bool   // nothing unknown so far
	odd   string // what makes the word unjudgeable, "" = nothing
}

func readWord(w *syntax.Word) (Word, string) {
	r := wordReader{known: true}
	r.out.Fixed = true
	for i, part := range w.Parts {
		r.part(part, i == 0)
	}
	r.out.Text = r.text.String()
	return r.out, r.odd
}

func (r *wordReader) add(text string) {
	if r.known {
		r.text.WriteString(text)
	}
}

func (r *wordReader) unknown(quoted bool) {
	r.known, r.out.Fixed = false, false
	r.out.Split = r.out.Split || !quoted
}

func (r *wordReader) part(part syntax.WordPart, first bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		r.literal(p.Value, first)
	case *syntax.SglQuoted:
		r.out.quoted = true
		text, ok := p.Value, true
		if p.Dollar {
			text, ok = ansiC(p.Value)
		}
		if !ok {
			r.unknown(true)
			return
		}
		r.add(text)
	case *syntax.DblQuoted:
		r.out.quoted = true
		if p.Dollar { // a translation: the text is another one
			r.unknown(true)
			return
		}
		for _, inner := range p.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				r.add(unescapeIn(lit.Value))
				continue
			}
			r.unknown(!splitsInQuotes(inner))
		}
	case *syntax.ProcSubst:
		r.add("/dev/fd/") // the shell puts a path of this form here
		r.unknown(true)
	case *syntax.ExtGlob:
		r.known, r.out.Fixed, r.out.Glob = false, false, true
	default:
		r.unknown(false)
	}
}

// splitsInQuotes reports an expansion that becomes several words even in quotes:
// "$@" and "${a[@]}".
func splitsInQuotes(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	if !ok {
		return false
	}
	if p.Param != nil && p.Param.Value == "@" {
		return true
	}
	return p.Index != nil
}

// literal reads text that stood outside quotes.
func (r *wordReader) literal(value string, first bool) {
	if first && strings.HasPrefix(value, "~") {
		r.out.Tilde = true
	}
	runes := []rune(value)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == '\\' && i+1 < len(runes):
			i++
			r.out.quoted = true
			if runes[i] != '\n' {
				r.add(string(runes[i]))
			}
		case strings.ContainsRune("*?[", c), c == '{' && isBrace(string(runes[i:])):
			r.known, r.out.Fixed, r.out.Glob = false, false, true
		case c >= utf8.RuneSelf && unicode.IsSpace(c):
			r.odd = "a blank outside ASCII"
			fallthrough
		default:
			r.add(string(c))
		}
	}
}

// isBrace reports whether text, which begins with "{", may be a brace expansion. A
// brace that is none costs a question at most.
func isBrace(text string) bool {
	return strings.Contains(text, ",") || strings.Contains(text, "..")
}

// unescapeIn takes the backslashes away that count inside double quotes.
func unescapeIn(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) && strings.IndexByte("$`\"\\\n", value[i+1]) >= 0 {
			i++
			if value[i] == '\n' {
				continue
			}
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// ansiEscapes are the one-letter escapes of $'…'.
var ansiEscapes = map[byte]string{
	'a': "\a", 'b': "\b", 'e': "\x1b", 'E': "\x1b", 'f': "\f", 'n': "\n", 'r': "\r",
	't': "\t", 'v': "\v", '\\': "\\", '\'': "'", '"': "\"", '?': "?",
}

// ansiC decodes $'…'. ok is false where shells differ or cut the text short: a NUL,
// \c, or an escape that nobody defines.
func ansiC(value string) (text string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			b.WriteByte(value[i])
			continue
		}
		i++
		if i == len(value) {
			return "", false
		}
		c := value[i]
		if plain, known := ansiEscapes[c]; known {
			b.WriteString(plain)
			continue
		}
		base, most, from := 16, 2, i+1
		switch {
		case c == 'x':
		case c == 'u':
			most = 4
		case c == 'U':
			most = 8
		case c >= '0' && c <= '7':
			base, most, from = 8, 3, i
		default:
			return "", false
		}
		to := from
		for to < len(value) && to-from < most && isDigit(value[to], base) {
			to++
		}
		n, err := strconv.ParseUint(value[from:to], base, 32)
		if err != nil || n == 0 || n > unicode.MaxRune {
			return "", false
		}
		if c == 'u' || c == 'U' {
			b.WriteRune(rune(n))
		} else {
			b.WriteByte(byte(n))
		}
		i = to - 1
	}
	return b.String(), true
}

func isDigit(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
