package evals

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/deftskills/deft/search"
)

var updateCommon = flag.Bool("update-common", false, "write search/common.txt anew from the corpus in DEFT_TESTDATA")

// TestCommonWordsAreWritten makes the table of words that many skills share. A word's
// share is the mean over collections, so that one collection's boilerplate counts
// once; for scripts without blanks only texts in them are counted. It changes nothing
// without its flag.
func TestCommonWordsAreWritten(t *testing.T) {
	if !*updateCommon {
		return
	}
	c := &corpus{files: map[string][]byte{}}
	if err := c.read(filepath.Join(os.Getenv("DEFT_TESTDATA"), "corpus", "skills-dev.tar.gz")); err != nil {
		t.Fatal(err)
	}
	spaced, unspaced := map[string]*shares{}, map[string]*shares{}
	for name, raw := range c.files {
		collection, _, _ := strings.Cut(name, "/")
		seen := map[string]bool{}
		search.Tokens(string(raw), func(t search.Token) bool { seen[t.Term] = true; return true })
		han := strings.Count(string(raw), "的") > 10
		vote(spaced, collection, seen, func(r rune) bool { return r >= 'a' && r <= 'z' })
		if han {
			vote(unspaced, "all", seen, func(r rune) bool { return unicode.Is(unicode.Han, r) })
		}
	}
	lines := map[int][]string{}
	for _, m := range []map[string]*shares{spaced, unspaced} {
		for word, p := range mean(m) {
			if pct := bucket(p); pct > 0 {
				lines[pct] = append(lines[pct], word)
			}
		}
	}
	var b strings.Builder
	b.WriteString("# Words, as Tokens cuts them, that many skills share: the number is the percentage of\n# skills that hold them, rounded down to a step. Made by a test of internal/evals.\n")
	for _, pct := range slices.SortedFunc(mapsKeys(lines), func(a, b int) int { return cmp.Compare(b, a) }) {
		slices.Sort(lines[pct])
		fmt.Fprintf(&b, "%d %s\n", pct, strings.Join(lines[pct], " "))
	}
	if err := os.WriteFile(filepath.Join("..", "..", "search", "common.txt"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mapsKeys(m map[int][]string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// shares counts one collection.
type shares struct {
	texts int
	with  map[string]int
}

func vote(m map[string]*shares, collection string, seen map[string]bool, of func(rune) bool) {
	s := m[collection]
	if s == nil {
		s = &shares{with: map[string]int{}}
		m[collection] = s
	}
	s.texts++
	for w := range seen {
		if strings.IndexFunc(w, func(r rune) bool { return !of(r) }) < 0 {
			s.with[w]++
		}
	}
}

// mean averages the shares over the collections with at least 20 texts.
func mean(m map[string]*shares) map[string]float64 {
	sum, in, n := map[string]float64{}, map[string]float64{}, 0.0
	for _, s := range m {
		if s.texts < 20 {
			continue
		}
		n++
		for w, k := range s.with {
			sum[w] += float64(k) / float64(s.texts)
			in[w]++
		}
	}
	for w := range sum {
		if sum[w] /= n; in[w] < 0.6*n {
			delete(sum, w) // a collection's own word
		}
	}
	return sum
}

func bucket(p float64) int {
	for _, pct := range []int{60, 45, 33, 25, 18, 13, 9, 6, 4} {
		if p >= float64(pct)/100 {
			return pct
		}
	}
	return 0
}
