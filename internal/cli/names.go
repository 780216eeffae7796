package cli

import (
	"slices"
	"strings"
	"unicode"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
)

// closest returns at most n of the candidates that a person may have meant by
// name: within edit distance 2 or with a shared beginning of 3 letters, nearest
// first, ties in order of the candidates.
func closest(name string, candidates []string, n int) []string {
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, c := range candidates {
		d := distance(strings.ToLower(name), strings.ToLower(c))
		if d <= 2 && d < len(name) || len(name) >= 3 && strings.HasPrefix(strings.ToLower(c), strings.ToLower(name[:3])) {
			found = append(found, near{c, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.distance - b.distance })
	var out []string
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// distance is the edit distance where swapping two neighbours is one step.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := [3][]int{make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, now := rows[(i+2)%3], rows[i%3], rows[(i+1)%3]
		if i == 1 {
			last = rows[1]
		}
		now[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
	}
	return rows[(len(x)+1)%3][len(y)]
}

// nameMatches lists the names that begin with part, or hold it.
func nameMatches(snap *registry.Snapshot, part string) []string {
	key := fold.Key(part)
	var first, later []string
	for _, rec := range snap.Winners {
		if strings.ContainsFunc(rec.Address, unicode.IsSpace) || safetext.Line(rec.Address) != rec.Address {
			continue // no shell shows or takes it as it is
		}
		name := rec.Address + "\t" + safetext.Clip(safetext.Line(rec.Skill.Description), 60)
		switch {
		case strings.HasPrefix(rec.Skill.Key, key):
			first = append(first, name)
		case strings.Contains(rec.Skill.Key, key) || strings.Contains(fold.Key(rec.Skill.Description), key):
			later = append(later, name)
		}
	}
	return append(first, later...)
}

// snake turns a Go name into snake_case; runs of capitals are one word.
func snake(name string) string {
	upper := func(i int) bool { return i >= 0 && i < len(name) && name[i] >= 'A' && name[i] <= 'Z' }
	var out strings.Builder
	for i := range len(name) {
		if upper(i) && i > 0 && (!upper(i-1) || i+1 < len(name) && !upper(i+1)) {
			out.WriteByte('_')
		}
		out.WriteByte(name[i])
	}
	return strings.ToLower(out.String())
}

// sortedKeys lists the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
