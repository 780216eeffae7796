package safetext

import (
	"unicode"
	"unicode/utf8"
)

// Field returns s as one clean line for a model's prompt and the number of code
// points (for invalid UTF-8: bytes) that were removed from it.
//
// White space of every kind collapses to single blanks, ends trimmed; that is not
// counted. Control characters, terminal escape sequences, invalid UTF-8 and
// invisible characters that reorder or hide text go. Joiners, direction marks,
// variation selectors and flag tags stay where the characters beside them need
// them. Nothing is normalised: the text that is left is the text that was written.
// Field is idempotent and returns s itself when nothing is to do.
func Field(s string) (clean string, removed int) {
	if plain(s) {
		return s, 0
	}
	rs, removed := decode(s)
	out := make([]rune, 0, len(rs))
	for i := 0; i < len(rs); {
		r := rs[i]
		switch {
		case r == ' ':
			if len(out) > 0 && last(out) != ' ' {
				out = append(out, ' ')
			}
			i++
		case !contextual(r):
			out = append(out, r)
			i++
		default:
			n := excused(out, rs[i:])
			out = append(out, rs[i:i+n]...)
			if n == 0 {
				removed++
				n = 1
			}
			i += n
		}
	}
	if last(out) == ' ' {
		out = out[:len(out)-1]
	}
	return string(out), removed
}

// plain reports whether s is printable ASCII without a blank at an end or beside
// another: the common case, that needs no work.
func plain(s string) bool {
	blank := true
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' || s[i] == ' ' && blank {
			return false
		}
		blank = s[i] == ' '
	}
	return !blank || s == ""
}

// decode returns the runes of s with white space as blanks and without what never
// stays, and how many code points that were.
func decode(s string) (rs []rune, removed int) {
	rs = make([]rune, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			removed++
		case r == 0x1B || r == 0x9B || r == 0x9D:
			n = escape(s[i:])
			removed += utf8.RuneCountInString(s[i : i+n])
		case unicode.IsSpace(r):
			rs = append(rs, ' ')
		case isControl(r) || isGone(r):
			removed++
		default:
			rs = append(rs, r)
		}
		i += n
	}
	return rs, removed
}

// escape returns the length in bytes of the terminal sequence at the start of s,
// which begins with ESC or one of the single-character introducers. An unfinished
// sequence counts as its first character only, so that it cannot swallow text.
func escape(s string) int {
	_, intro := utf8.DecodeRuneInString(s)
	kind, at := byte('['), intro
	switch {
	case s[0] == 0x1B && len(s) == 1:
		return 1
	case s[0] == 0x1B:
		kind, at = s[1], 2
	case s[1] == 0x9D: // U+009D in UTF-8 is C2 9D
		kind = ']'
	}
	switch kind {
	case '[':
		return orElse(control(s, at), intro)
	case ']', 'P', 'X', '^', '_':
		return orElse(stringSequence(s, at), intro)
	}
	if s[0] == 0x1B && s[1] >= 0x30 && s[1] <= 0x7E {
		return 2
	}
	return intro
}

// control returns the end of a control sequence whose parameters start at i, or 0.
func control(s string, i int) int {
	for ; i < len(s); i++ {
		switch {
		case s[i] >= 0x40 && s[i] <= 0x7E:
			return i + 1
		case s[i] < 0x20 || s[i] > 0x3F:
			return 0
		}
	}
	return 0
}

// stringSequence returns the end of an operating system command or the like whose
// text starts at i, or 0 where it is not closed on its line.
func stringSequence(s string, i int) int {
	for ; i < len(s) && s[i] != '\n'; i++ {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1B && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		}
	}
	return 0
}

func orElse(n, other int) int {
	if n > 0 {
		return n
	}
	return other
}
