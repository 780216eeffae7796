package route

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/fold"
)

// ignorable are the code points that show nothing: they go before anything is
// compared, so that a hidden character cannot split or join a word.
var ignorable = &unicode.RangeTable{
	LatinOffset: 1,
	R16: []unicode.Range16{
		{Lo: 0x00AD, Hi: 0x00AD, Stride: 1}, {Lo: 0x034F, Hi: 0x034F, Stride: 1}, {Lo: 0x061C, Hi: 0x061C, Stride: 1},
		{Lo: 0x115F, Hi: 0x1160, Stride: 1}, {Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, {Lo: 0x180B, Hi: 0x180F, Stride: 1},
		{Lo: 0x200B, Hi: 0x200F, Stride: 1}, {Lo: 0x202A, Hi: 0x202E, Stride: 1}, {Lo: 0x2060, Hi: 0x206F, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, {Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1},
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, {Lo: 0xFFF0, Hi: 0xFFF8, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1BCA0, Hi: 0x1BCA3, Stride: 1}, {Lo: 0x1D173, Hi: 0x1D17A, Stride: 1}, {Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1},
	},
}

// Normalise makes a message and a keyword alike: without invisible characters, in
// compatibility form, case-folded without a locale, with straight quotes, a blank
// for each hyphen inside a word, single blanks, trimmed. Invalid bytes become U+FFFD.
// Normalise(Normalise(s)) is Normalise(s).
func Normalise(s string) string {
	if !isASCII(s) {
		s = foldWide(s)
	}
	return lay(s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foldWide does the steps that ASCII does not need. Folding can undo the
// compatibility form, and that form can bring letters back that fold: both are
// repeated until nothing changes, which takes two rounds for real text.
func foldWide(s string) string {
	s = valid(s)
	for range 4 {
		next := fold.Key(strings.Map(plainSign, fold.NFKC(s)))
		if next == s {
			break
		}
		s = next
	}
	return strings.Map(plainSign, s)
}

// valid replaces every invalid byte by U+FFFD.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // ranging yields U+FFFD for each invalid byte
		b.WriteRune(r)
	}
	return b.String()
}

// plainSign drops what is invisible and makes quotes and hyphens the ones that
// people type.
func plainSign(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return r
	case unicode.Is(ignorable, r):
		return -1
	case r >= 0x2018 && r <= 0x201B:
		return '\''
	case r >= 0x201C && r <= 0x201F:
		return '"'
	}
	return r
}

func isHyphen(r rune) bool { return r == '-' || r >= 0x2010 && r <= 0x2015 || r == 0x2212 }

// lay lowers ASCII letters, and puts single blanks where white space or a hyphen
// inside a word was.
func lay(s string) string {
	b := make([]byte, 0, len(s))
	before := rune(' ') // the character before, blanks as they come out
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case unicode.IsSpace(r), isHyphen(r) && isWord(before) && isWord(runeAt(s, i+n)):
			if before != ' ' {
				b = append(b, ' ')
			}
			r = ' '
		case r >= 'A' && r <= 'Z':
			b = append(b, byte(r)|0x20)
		default:
			b = append(b, s[i:i+n]...)
		}
		before, i = r, i+n
	}
	if n := len(b); n > 0 && b[n-1] == ' ' {
		b = b[:n-1]
	}
	return string(b)
}

func runeAt(s string, i int) rune {
	if i >= len(s) {
		return ' '
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return r
}

// isWord reports whether r is a word character: a letter, mark, digit or "_" of a
// script that puts blanks between words.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
	}
	return (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)) && !isUnspaced(r)
}

func isUnspaced(r rune) bool {
	return r >= 0x0E00 && (r == 0x3005 || r == 0x30FC || unicode.In(r,
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// whole reports whether text[a:b] stands alone: where the piece begins or ends with a
// word character, the text beside it must not go on with one.
func whole(text string, a, b int) bool {
	if a > 0 && isWord(runeAt(text, a)) {
		if r, _ := utf8.DecodeLastRuneInString(text[:a]); isWord(r) {
			return false
		}
	}
	if b < len(text) && isWord(runeAt(text, b)) {
		if r, _ := utf8.DecodeLastRuneInString(text[:b]); isWord(r) {
			return false
		}
	}
	return true
}
