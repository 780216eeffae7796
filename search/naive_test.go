package search

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// naiveScores ranks documents by the formula as it is written, from counted words.
func naiveScores(docs []Document, query string) map[string]int64 {
	o, an := DefaultOptions(), usualAnalyzer()
	count := func(name bool, text string) map[string]int {
		m := map[string]int{}
		an.each(text, name, func(term []byte, _ int) bool { m[string(term)]++; return true })
		return m
	}
	size := func(m map[string]int) (n int) {
		for _, c := range m {
			n += c
		}
		return n
	}
	tf := make([][4]map[string]int, len(docs))
	fields := [4]Field{Name, Description, Body, Headings} // a short body is its own beginning
	var sums, filled [4]int
	for i, d := range docs {
		raw, _ := d.Read(context.Background(), "")
		body := count(false, string(raw[d.Body.Start:]))
		tf[i] = [4]map[string]int{count(true, d.Name), count(false, d.Description), body, body}
		for f := range fields {
			if n := size(tf[i][f]); n > 0 {
				sums[f] += n
				filled[f]++
			}
		}
	}
	wide := 0 // documents with a word of a script without blanks
	for i := range docs {
		for f := range fields {
			if slices.ContainsFunc(slices.Collect(maps.Keys(tf[i][f])), func(t string) bool { return isUnit([]byte(t)) }) {
				wide++
				break
			}
		}
	}
	scores := map[string]int64{}
	for _, q := range an.parse(Query{Text: query, Plain: true}).terms {
		term, n, all := q.term, 0, len(docs)
		if q.cjk {
			all = wide
		}
		for i := range docs {
			if tf[i][0][term]+tf[i][1][term]+tf[i][2][term] > 0 {
				n++
			}
		}
		idf := math.Log(1 + (float64(all-n)+0.5)/(float64(n)+0.5))
		for i, d := range docs {
			sum := 0.0
			for f, field := range fields {
				if tf[i][f][term] > 0 {
					p := o.Fields[field]
					avg := float64(sums[f]) / float64(filled[f])
					sum += p.Weight * float64(tf[i][f][term]) / (1 - p.B + p.B*float64(size(tf[i][f]))/avg)
				}
			}
			if sum > 0 {
				scores[d.Address] += int64(math.Round(1024 * q.weight() * idf * math.Pow(an.rarity(term, n, len(docs)), 0.25) * sum * (o.K1 + 1) / (sum + o.K1)))
			}
		}
	}
	return scores
}

func TestTheIndexRanksAsTheFormulaSays(t *testing.T) {
	t.Parallel()
	words := strings.Split("whale sea ship sail wind 港口风暴 翻译 deploy.yaml getUser 번역", " ")
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12), func(w []string) string { return strings.Join(w, " ") })
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "skills")
		docs := make([]Document, n)
		for i := range docs {
			docs[i] = doc(fmt.Sprintf("n%02d", i), text.Draw(t, "description"), text.Draw(t, "body"))
		}
		query := text.Draw(t, "query")
		want := naiveScores(docs, query)
		x, _ := Open(Options{})
		if _, err := x.AddDocs(context.Background(), "", docs); err != nil {
			t.Fatal(err)
		}
		res, err := x.Search(context.Background(), Query{Text: query, TopK: 5, Plain: true, Bare: true})
		if err != nil || res.Total != len(want) {
			t.Fatalf("%d hits of %d, %v", res.Total, len(want), err)
		}
		for i, h := range res.Hits {
			// The naive sum rounds in another order.
			if d := h.Score - want[h.Address]; d < -16 || d > 16 {
				t.Fatalf("%s has score %d, want %d", h.Address, h.Score, want[h.Address])
			}
			if i > 0 && cmp.Or(cmp.Compare(res.Hits[i-1].Score, h.Score), strings.Compare(h.Name, res.Hits[i-1].Name)) < 0 {
				t.Fatalf("hits %d and %d are out of order", i-1, i)
			}
		}
		lowest := int64(0)
		if len(res.Hits) == 5 {
			lowest = res.Hits[4].Score
		}
		for a, s := range want {
			if s > lowest+16 && !slices.ContainsFunc(res.Hits, func(h Hit) bool { return h.Address == a }) {
				t.Fatalf("%s with score %d is not among the hits", a, s)
			}
		}
	})
}

func FuzzQuery(f *testing.F) {
	x, err := Open(Options{})
	if err != nil {
		f.Fatal(err)
	}
	if _, err := x.AddDocs(context.Background(), "", cjkLibrary); err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", `"the weather" -city`, "--", `"`, "管", "-", "\xff\"", "weather@test", `-"a b"`, "“weather”"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, mode := range []Mode{BM25, Text} {
			res, err := x.Search(context.Background(), Query{Text: s, Mode: mode, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range res.Hits {
				if h.Coverage < 0 || h.Coverage > 100 || len(h.Matches) == 0 || !utf8.ValidString(h.Matches[0].Snippet) {
					t.Fatalf("%q finds %+v", s, h)
				}
			}
		}
	})
}
