package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// signs are the signs of ASCII in the order of the root locale; digits and letters
// follow them.
const signs = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"

// accents are the common ones in the order of the root locale.
const accents = "\u0301\u0300\u0306\u0302\u030c\u030a\u0308\u030b\u0303\u0307"

// spelled are letters that sort like others and do not decompose.
var spelled = map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ł': "l"}

// order returns a key whose byte order is the order of names in the root locale:
// letters first of all, then accents, then small before large. It follows the Unicode
// collation's root for Latin, Greek, Cyrillic, kana and Han; the tables of the whole
// collation would weigh more than all else here.
func order(s string) string {
	var letters, marks, sizes strings.Builder
	for _, r := range norm.NFD.String(s) {
		if unicode.Is(unicode.Mn, r) {
			if at := strings.IndexRune(accents, r); at >= 0 {
				r = rune(2 + at)
			}
			marks.WriteRune(r)
			continue
		}
		lower := unicode.ToLower(r)
		base := spelled[lower]
		if base == "" {
			base = string(kana(lower))
		}
		for _, b := range base {
			letters.WriteRune(weight(b))
			marks.WriteByte(1)
			sizes.WriteByte(size(r, lower, b))
		}
	}
	return letters.String() + "\x00" + marks.String() + "\x00" + sizes.String()
}

// weight places a letter; all weights are above the separator of the key.
func weight(r rune) rune {
	switch at := strings.IndexRune(signs, r); {
	case at >= 0:
		return rune(1 + at)
	case r >= 0x1100 && r <= 0x11FF: // Hangul, decomposed, stands before kana
		return r - 0x1100 + 0x2E00
	case r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r):
		return 1
	}
	return r
}

// kana turns katakana into hiragana: they differ as much as small and large letters.
func kana(r rune) rune {
	if r >= 0x30A1 && r <= 0x30F6 {
		return r - 0x60
	}
	return r
}

func size(r, lower, base rune) byte {
	if r != lower || lower != base && lower >= 0x30A1 && lower <= 0x30F6 {
		return 2
	}
	return 1
}
