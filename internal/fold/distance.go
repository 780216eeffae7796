package fold

// Distance returns the Damerau–Levenshtein distance of a and b in code points
// (insertion, deletion, replacement, swap of neighbours; each letter is part of at
// most one edit), or limit+1 as soon as it is known to be greater than limit. A
// negative limit counts as 0.
func Distance(a, b string, limit int) int {
	limit = max(limit, 0)
	if a == b {
		return 0
	}
	ra, rb := []rune(a), []rune(b)
	if abs(len(ra)-len(rb)) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
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
