package fold

import "unicode/utf8"

// Distance returns the Damerau–Levenshtein distance of a and b in code points
// (insertion, deletion, replacement, swap of neighbours; each letter is part of at
// most one edit), or limit+1 as soon as it is known to be greater than limit. A
// negative limit counts as 0.
func Distance(a, b string, limit int) int {
	limit = max(limit, 0)
	if a == b {
		return 0
	}
	a, b = apart(a, b)
	// Names are short: what they are compared in is on the stack.
	var runes [2][short]rune
	ra, rb := appendRunes(runes[0][:0], a), appendRunes(runes[1][:0], b)
	if abs(len(ra)-len(rb)) > limit {
		return limit + 1
	}
	if limit < 2 && max(len(ra), len(rb)) > limit && !(limit == 1 && swapped(ra, rb)) {
		return limit + 1 // both ends differ: one edit is a letter or a swap
	}
	var rows [3][short + 1]int
	before, last, row := rows[0][:], rows[1][:], rows[2][:]
	if len(rb) > short {
		before, last, row = make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
	}
	before, last, row = before[:len(rb)+1], last[:len(rb)+1], row[:len(rb)+1]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(ra); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(rb); j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		// A swap reaches back two rows, so both must be past the limit.
		if least > limit && i > 1 && minimum(last) > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(rb)], limit+1)
}

// short is how many code points are compared without an allocation.
const short = 64

// apart takes the common beginning and end off two texts: no edit is needed there.
func apart(a, b string) (string, string) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
		n--
	}
	a, b = a[n:], b[n:]
	n = 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !(utf8.RuneStart(a[len(a)-n]) && utf8.RuneStart(b[len(b)-n])) {
		n--
	}
	return a[:len(a)-n], b[:len(b)-n]
}

func appendRunes(to []rune, text string) []rune {
	for _, r := range text {
		to = append(to, r)
	}
	return to
}

func swapped(a, b []rune) bool {
	return len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// Nearest returns the candidate with the least Distance to word within limit, the
// first of equals, and whether there is one.
func Nearest(word string, candidates []string, limit int) (string, bool) {
	best, found := "", false
	for _, c := range candidates {
		if d := Distance(word, c, limit); d <= limit {
			best, found = c, true
			limit = d - 1
			if limit < 0 {
				break
			}
		}
	}
	return best, found
}

func minimum(xs []int) int {
	m := xs[0]
	for _, x := range xs {
		m = min(m, x)
	}
	return m
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
