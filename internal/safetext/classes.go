package safetext

import (
	"unicode"

	"golang.org/x/text/unicode/bidi"
)

// gone lists the code points that a field never keeps: they are invisible and
// change what the text around them says or how it is ordered.
var gone = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00AD, Hi: 0x00AD, Stride: 1}, // soft hyphen
		{Lo: 0x200B, Hi: 0x200B, Stride: 1}, // zero width space
		{Lo: 0x202A, Hi: 0x202E, Stride: 1}, // bidirectional embeddings and overrides
		{Lo: 0x2060, Hi: 0x2064, Stride: 1}, // word joiner, invisible operators
		{Lo: 0x2066, Hi: 0x2069, Stride: 1}, // bidirectional isolates
		{Lo: 0xFDD0, Hi: 0xFDEF, Stride: 1}, // noncharacters
		{Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1}, // byte order mark
		{Lo: 0xFFF9, Hi: 0xFFFB, Stride: 1}, // interlinear marks
	},
}

// pictures approximates Extended_Pictographic, wide enough that every emoji
// sequence of Unicode keeps its joiners.
var pictures = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00A9, Hi: 0x00A9, Stride: 1},
		{Lo: 0x00AE, Hi: 0x00AE, Stride: 1},
		{Lo: 0x203C, Hi: 0x203C, Stride: 1},
		{Lo: 0x2049, Hi: 0x2049, Stride: 1},
		{Lo: 0x2122, Hi: 0x2122, Stride: 1},
		{Lo: 0x2139, Hi: 0x2139, Stride: 1},
		{Lo: 0x2190, Hi: 0x21FF, Stride: 1},
		{Lo: 0x2300, Hi: 0x23FF, Stride: 1},
		{Lo: 0x24C2, Hi: 0x24C2, Stride: 1},
		{Lo: 0x25A0, Hi: 0x27BF, Stride: 1},
		{Lo: 0x2934, Hi: 0x2935, Stride: 1},
		{Lo: 0x2B00, Hi: 0x2BFF, Stride: 1},
		{Lo: 0x3030, Hi: 0x3030, Stride: 1},
		{Lo: 0x303D, Hi: 0x303D, Stride: 1},
		{Lo: 0x3297, Hi: 0x3299, Stride: 2},
	},
	R32: []unicode.Range32{{Lo: 0x1F000, Hi: 0x1FAFF, Stride: 1}},
}

// joined are the scripts whose letters take joiners: the Indic ones and the
// cursive ones.
var joined = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic, unicode.Adlam,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese, unicode.Javanese,
}

const (
	zwnj, zwj = 0x200C, 0x200D
	lrm, rlm  = 0x200E, 0x200F
	vs15      = 0xFE0E
	vs16      = 0xFE0F
	blackFlag = 0x1F3F4
	tagEnd    = 0xE007F
)

func isTag(r rune) bool           { return r >= 0xE0000 && r <= tagEnd }
func isIdeographicVS(r rune) bool { return r >= 0xE0100 && r <= 0xE01EF }
func isControl(r rune) bool       { return r < 0x20 || r >= 0x7F && r <= 0x9F }
func isNonchar(r rune) bool       { return r&0xFFFE == 0xFFFE }
func isPicture(r rune) bool       { return unicode.Is(pictures, r) }
func isGone(r rune) bool          { return unicode.Is(gone, r) || isNonchar(r) }

// takesVS reports whether a text or emoji selector means something after r; digits,
// "#" and "*" are bases of keycaps.
func takesVS(r rune) bool {
	return isPicture(r) || r >= '0' && r <= '9' || r == '#' || r == '*'
}

func isJoined(r rune) bool {
	return r >= 0x600 && (unicode.IsLetter(r) || unicode.IsMark(r)) && unicode.In(r, joined...)
}

func isRightToLeft(r rune) bool {
	if r < 0x590 {
		return false
	}
	p, _ := bidi.LookupRune(r)
	return p.Class() == bidi.R && r != rlm || p.Class() == bidi.AL
}

// contextual reports whether r is kept or removed by what stands beside it.
func contextual(r rune) bool {
	return r >= zwnj && r <= rlm || r == vs15 || r == vs16 || isTag(r) || isIdeographicVS(r)
}

// excused returns how many runes of rs, starting with the contextual rs[0], carry
// meaning after before, the runes already kept; 0 means that rs[0] does not.
func excused(before, rs []rune) int {
	prev, next := last(before), rune(-1)
	if len(rs) > 1 {
		next = rs[1]
	}
	switch r := rs[0]; {
	case r == zwnj || r == zwj:
		base := prev
		if base == vs16 && len(before) > 1 {
			base = before[len(before)-2]
		}
		return one(isPicture(base) && isPicture(next) || isJoined(prev) && isJoined(next))
	case r == lrm || r == rlm:
		return one(isRightToLeft(prev) || isRightToLeft(next))
	case r == vs15 || r == vs16:
		return one(takesVS(prev))
	case isIdeographicVS(r):
		return one(unicode.Is(unicode.Han, prev))
	case prev == blackFlag:
		return flagTags(rs)
	}
	return 0
}

// flagTags returns the length of a well-formed tag sequence at the start of rs.
func flagTags(rs []rune) int {
	for i, r := range rs {
		switch {
		case r == tagEnd && i > 0:
			return i + 1
		case r < 0xE0020 || r >= tagEnd:
			return 0
		}
	}
	return 0
}

func last(rs []rune) rune {
	if len(rs) == 0 {
		return -1
	}
	return rs[len(rs)-1]
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
