package fold

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// NFC returns s in Unicode normalisation form C; s itself when it is already.
func NFC(s string) string {
	if ascii(s) {
		return s
	}
	return norm.NFC.String(s)
}

// NFKC returns s in Unicode normalisation form KC; s itself when it is already.
func NFKC(s string) string {
	if ascii(s) {
		return s
	}
	return norm.NFKC.String(s)
}

// Key returns the full case fold of NFKC(s), again in NFKC: two names are the same
// name when their keys are equal. A string that is its own key is returned as it is.
func Key(s string) string {
	if ascii(s) {
		return strings.ToLower(s)
	}
	return norm.NFKC.String(strings.Map(cherokee, cases.Fold().String(norm.NFKC.String(s))))
}

// cherokee folds Cherokee to its capitals, as Unicode does: the tables of the case
// library swap the two forms, so that folding twice would undo itself.
func cherokee(r rune) rune {
	switch {
	case r >= 0xAB70 && r <= 0xABBF:
		return r - 0xAB70 + 0x13A0
	case r >= 0x13F8 && r <= 0x13FD:
		return r - 8
	}
	return r
}

// Handle returns the form of a name that people type: Key(s) with runs of blanks,
// "_" and "." turned into "-", everything that is no letter, mark, digit, "-" or ":"
// dropped, hyphens collapsed and trimmed. Letters of every script stay. The result
// is empty when nothing stays.
func Handle(s string) string {
	key := Key(s)
	if isHandle(key) {
		return key
	}
	var b strings.Builder
	b.Grow(len(key))
	hyphen := false
	for _, r := range key {
		switch {
		case r == '-' || r == '_' || r == '.' || unicode.IsSpace(r):
			hyphen = b.Len() > 0
		case r == ':' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r):
			if hyphen {
				b.WriteByte('-')
				hyphen = false
			}
			b.WriteRune(r)
		}
	}
	// A mark may now stand behind a letter that it composes with.
	return Key(b.String())
}

// isHandle reports whether an ASCII key needs no rewriting.
func isHandle(key string) bool {
	if key == "" {
		return true
	}
	for i := 0; i < len(key); i++ {
		c := key[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == ':':
		case c == '-' && i > 0 && i < len(key)-1 && key[i-1] != '-':
		default:
			return false
		}
	}
	return true
}

// Skeleton returns a form in which look-alike names are equal (after the idea of
// UTS 39: decompose, map confusable letters to one prototype, decompose again). It
// serves spoof checks only and is never shown.
func Skeleton(s string) string {
	s = norm.NFD.String(Key(s))
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			continue
		}
		if p, ok := confusable[r]; ok {
			b.WriteString(p)
			continue
		}
		b.WriteRune(r)
	}
	// Pairs of letters that read as one come last, over the mapped text.
	return pairs.Replace(norm.NFD.String(b.String()))
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
