package scan

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/safetext"
)

// hidden looks for characters that a reader does not see, or sees as others. What
// Unicode needs them for passes: joiners in emoji and in scripts that join, direction
// marks beside right-to-left text, tags of a flag, selectors after their base.
func hidden(f *file, lines []line) (out []Finding, extra []decoded) {
	for i := range lines {
		l := &lines[i]
		if isASCII(l.raw) && strings.IndexFunc(l.raw, control) < 0 {
			continue
		}
		found, tags := hiddenIn(l)
		for _, h := range found {
			out = append(out, f.built(h.id, l.no, l.start+h.at+1, h.text))
		}
		if tags != "" {
			extra = append(extra, decoded{l.no, l.start + 1, "tags", tags, placed("tags", l), anyLang})
		}
	}
	return out, extra
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func control(r rune) bool { return r < 0x20 && r != '\t' && r != '\r' || r == 0x7F }

// mark is one hidden character or run in a line.
type mark struct {
	id   string
	at   int // byte of the piece
	text string
}

func hiddenIn(l *line) (found []mark, tags string) {
	// Field keeps exactly what has a meaning in its place.
	kept, removed := safetext.Field(strings.ReplaceAll(l.raw, "\t", " "))
	seen := map[string]bool{}
	add := func(id string, at int, r rune) {
		if !seen[id] {
			seen[id] = true
			found = append(found, mark{id, at, fmt.Sprintf("U+%04X in: %s", r, l.raw[max(0, at-40):min(len(l.raw), at+80)])})
		}
	}
	rtl := hasRightToLeft(l.raw)
	survivors := contextualCounts(kept)
	var tagged []byte
	selectors := 0
	for at, r := range l.raw {
		if isSelector(r) {
			if selectors++; selectors == 4 {
				add("UN006", at, r)
			}
		} else {
			selectors = 0
		}
		id := hiddenRule(r, l.raw[:at], rtl)
		switch {
		case id == "":
			continue
		case removed > 0 && survivors[r] > 0:
			survivors[r]-- // one of them has a meaning; which one does not matter for a count
			continue
		case removed == 0 && r != 0x1B && !control(r) && !fillers[r]:
			continue
		case id == "UN001":
			tagged = append(tagged, byte(r-0xE0000))
		}
		add(id, at, r)
	}
	return append(found, lookAlikes(l)...), printable(tagged)
}

func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7E {
			return -1
		}
		return r
	}, string(b))
}

// contextualCounts counts in cleaned text what stays only where it has a meaning.
func contextualCounts(kept string) map[rune]int {
	counts := map[rune]int{}
	for _, r := range kept {
		if r >= 0x200C && r <= 0x200F || r >= 0xE0000 {
			counts[r]++
		}
	}
	return counts
}

// fillers are letters and blanks that show nothing.
var fillers = map[rune]bool{0x3164: true, 0x115F: true, 0x1160: true, 0xFFA0: true, 0x180E: true}

func isSelector(r rune) bool { return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF }

// hiddenRule names the rule for a character that may be hidden; before is the line up
// to it.
func hiddenRule(r rune, before string, rtl bool) string {
	switch {
	case r >= 0xE0000 && r <= 0xE007F:
		return "UN001"
	case r == 0x200B || r == 0x2060 || r >= 0x2061 && r <= 0x2064 || r == 0x200C || r == 0x200D || r == 0xFEFF:
		if last, _ := utf8.DecodeLastRuneInString(before); r == 0x200B && unicode.In(last, unicode.Thai, unicode.Khmer, unicode.Lao, unicode.Myanmar) {
			return "" // where words have no blanks it marks where a line may break
		}
		if last, _ := utf8.DecodeLastRuneInString(before); !unicode.IsLetter(last) && !unicode.IsDigit(last) && last != r {
			return "UN010"
		}
		return "UN002"
	case r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069:
		if rtl && r != 0x202D && r != 0x202E {
			return ""
		}
		return "UN003"
	case r == 0x1B || r == 0x9B || r == 0x9D || r == 0x90:
		return "UN004"
	case control(r) || r >= 0x80 && r < 0xA0:
		return "UN005"
	case fillers[r]:
		return "UN007"
	}
	return ""
}

func hasRightToLeft(s string) bool {
	for _, r := range s {
		if r >= 0x590 {
			if p, _ := bidi.LookupRune(r); (p.Class() == bidi.R || p.Class() == bidi.AL) && r != 0x200F {
				return true
			}
		}
	}
	return false
}

// lookAlikes finds words that mix scripts so that they read as Latin ones.
func lookAlikes(l *line) (found []mark) {
	for at, word := range words(l.raw) {
		if !imitates(word) {
			continue
		}
		if l.where&(inHeader|inCode|inScript|inData) == 0 && !strings.Contains(l.raw, "://") {
			continue
		}
		return []mark{{"UN008", at, fmt.Sprintf("%s reads as %s", word, fold.Skeleton(word))}}
	}
	return nil
}

// words yields the runs of letters of s and where they begin.
func words(s string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		from := -1
		for i, r := range s + " " {
			switch letter := unicode.IsLetter(r) || unicode.IsMark(r); {
			case letter && from < 0:
				from = i
			case !letter && from >= 0:
				if !yield(from, s[from:i]) {
					return
				}
				from = -1
			}
		}
	}
}

// imitates reports whether a word has Latin letters and others that pass for Latin ones.
func imitates(word string) bool {
	latin, other := 0, 0
	for _, r := range word {
		switch {
		case r < 0x80:
			latin++
		case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee):
			other++
		default:
			return false
		}
	}
	return latin > 0 && other > 0 && latin+other > 3 && isASCII(fold.Skeleton(word))
}
