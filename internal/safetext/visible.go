package safetext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text returns s for a person's terminal: newlines and tabs stay, everything that
// could move the cursor, change colours, reorder or hide text becomes a visible
// escape, such as \x1b or <U+202E>. CR LF becomes a newline. Text that holds none
// of these is returned as it is.
func Text(s string) string { return visible(s, false) }

// Line is Text for one line: newlines and tabs become \n and \t, so that a name
// cannot forge a line of output.
func Line(s string) string { return visible(s, true) }

func visible(s string, line bool) string {
	if readable(s, line) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	var kept []rune // what stands before, for contextual characters
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\r' && !line && strings.HasPrefix(s[i+1:], "\n"):
		case (r == '\n' || r == '\t') && !line:
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7F:
			fmt.Fprintf(&b, `\x%02x`, r)
		case isControl(r) || isGone(r) || r == 0x2028 || r == 0x2029:
			fmt.Fprintf(&b, "<U+%04X>", r)
		case contextual(r):
			n = keepOrShow(&b, &kept, s[i:], n)
		default:
			kept = append(kept, r)
			b.WriteRune(r)
			i += n
			continue
		}
		if !contextual(r) {
			kept = kept[:0] // an escape or a line's end joins nothing
		}
		i += n
	}
	return b.String()
}

// keepOrShow writes the contextual character at the start of rest, n bytes long, as
// it is where it carries meaning, else visibly, and returns the bytes it used.
func keepOrShow(b *strings.Builder, kept *[]rune, rest string, n int) int {
	const longest = 16 // runes of the longest flag tag sequence
	ahead := make([]rune, 0, longest)
	for _, r := range rest {
		if len(ahead) == longest {
			break
		}
		ahead = append(ahead, r)
	}
	used := excused(*kept, ahead)
	if used == 0 {
		fmt.Fprintf(b, "<U+%04X>", ahead[0])
		*kept = (*kept)[:0]
		return n
	}
	whole := string(ahead[:used])
	*kept = append(*kept, ahead[:used]...)
	b.WriteString(whole)
	return len(whole)
}

// readable reports whether s is printable ASCII, with newlines and tabs where they
// are allowed.
func readable(s string, line bool) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < ' ' || c > '~') && (line || c != '\n' && c != '\t') {
			return false
		}
	}
	return true
}
