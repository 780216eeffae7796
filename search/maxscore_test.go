package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// exhaustive scores every document for every term and sorts them all.
func exhaustive(x *Index, q Query) (hits []*found, total int) {
	q, _ = q.check(false)
	q.Filter = q.Filter.folded()
	ask := x.an.parse(q)
	g := x.scope(q.Scope).gen.Load()
	p := g.plan(x.opt, x.an, ask, q.Filter)
	n := g.norms(&x.opt, p.fields)
	for i, part := range g.parts {
		all := make([]found, len(part.docs))
		matched := make([]bool, len(part.docs))
		for t := range p.terms {
			w := &p.terms[t]
			if w.list[i] < 0 {
				continue
			}
			for c := part.list(w.list[i]); c.doc != finished; c.next() {
				if c.read(); c.mask&n.fields != 0 {
					all[c.doc].score += n.contribution(w.worth, &c.counts, &part.lens[c.doc])
					matched[c.doc] = true
				}
			}
		}
		for _, t := range ask.without {
			if at, ok := part.find(t); ok {
				for c := part.list(at); c.doc != finished; c.next() {
					matched[c.doc] = false
				}
			}
		}
		for d := range all {
			f := &all[d]
			f.document, f.part, f.number = part.docs[d], i, uint32(d)
			if matched[d] && part.alive(uint32(d)) && q.View.Has(f.Address) && q.Filter.admits(f.document) && f.score >= q.MinScore {
				hits = append(hits, f)
			}
		}
	}
	slices.SortFunc(hits, (*found).before)
	return hits[:min(len(hits), q.TopK)], len(hits)
}

func sameAsExhaustive(t *rapid.T, x *Index, q Query) {
	want, total := exhaustive(x, q)
	res, err := x.Search(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if res.Total != total || len(res.Hits) != len(want) {
		t.Fatalf("%q: %d hits of %d, want %d of %d", q.Text, len(res.Hits), res.Total, len(want), total)
	}
	for i, h := range res.Hits {
		if h.Address != want[i].Address || h.Score != want[i].score {
			t.Fatalf("%q: hit %d is %s with %d, want %s with %d", q.Text, i, h.Address, h.Score, want[i].Address, want[i].score)
		}
	}
}

// TestPruningChangesNoHit holds MaxScore to the scoring of everything: several blocks
// and windows, several segments, dead documents, views, filters, exclusions.
func TestPruningChangesNoHit(t *testing.T) {
	t.Parallel()
	docs := library(5200)
	for i := range docs {
		if i%3 == 0 {
			docs[i].Kind = "project"
		}
	}
	x := indexOf(t, docs[:4300]...)
	for _, upto := range []int{4900, 5200} { // further segments, and documents that are gone
		if err := x.Warm(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		if _, err := x.AddDocs(context.Background(), "", docs[upto/20:upto]); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Warm(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	if g := x.scope("").gen.Load(); len(g.parts) < 2 || g.parts[0].gone == 0 {
		t.Fatalf("%d parts, %d gone", len(g.parts), g.parts[0].gone)
	}
	view := NewView(func(a string) bool { return !strings.HasSuffix(a, "7") })
	word := rapid.Custom(func(t *rapid.T) string {
		most := rapid.SampledFrom([]int{10, 300, 20_000}).Draw(t, "rank")
		return letters(rapid.IntRange(0, most).Draw(t, "word"))
	})
	rapid.Check(t, func(t *rapid.T) {
		q := Query{
			Text: strings.Join(rapid.SliceOfN(word, 1, 14).Draw(t, "words"), " "), Bare: true,
			TopK:     rapid.SampledFrom([]int{1, 5, 50}).Draw(t, "topk"),
			MinScore: rapid.SampledFrom([]int64{0, 0, 0, 900, 5000}).Draw(t, "least"),
		}
		switch rapid.IntRange(0, 5).Draw(t, "narrowed") {
		case 1:
			q.View = view
		case 2:
			q.Filter.Kinds = []string{"project"}
		case 3:
			q.Filter.Fields = []Field{Description}
		case 4:
			q.Filter.NoReferences = true
		case 5:
			q.Text += " -" + word.Draw(t, "without")
		}
		sameAsExhaustive(t, x, q)
	})
}

func TestPruningIsExactInSmallLibrariesToo(t *testing.T) {
	t.Parallel()
	words := strings.Split("whale sea ship sail wind 港口风暴 翻译 deploy.yaml getUser 번역", " ")
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12), func(w []string) string { return strings.Join(w, " ") })
	rapid.Check(t, func(t *rapid.T) {
		docs := make([]Document, rapid.IntRange(1, 40).Draw(t, "skills"))
		for i := range docs {
			docs[i] = doc(fmt.Sprintf("n%02d", i), text.Draw(t, "description"), text.Draw(t, "body"))
		}
		x, _ := Open(Options{})
		for _, upto := range []int{len(docs) / 2, len(docs)} {
			if _, err := x.AddDocs(context.Background(), "", docs[upto/4:upto]); err != nil {
				t.Fatal(err)
			}
			if err := x.Warm(context.Background(), ""); err != nil {
				t.Fatal(err)
			}
		}
		sameAsExhaustive(t, x, Query{Text: text.Draw(t, "query"), TopK: 3, Plain: true, Bare: true})
	})
}

func FuzzCursor(f *testing.F) {
	x := indexOf(f, library(300)...)
	if err := x.Warm(context.Background(), ""); err != nil {
		f.Fatal(err)
	}
	s := x.scope("").gen.Load().parts[0].segment
	at, _ := s.find(letters(1))
	f.Add(s.data[s.listAt[at]:s.listAt[at+1]], uint32(300), uint32(7))
	f.Add("", uint32(1), uint32(0))
	f.Fuzz(func(t *testing.T, data string, df, target uint32) {
		s := &segment{lens: make([][fieldCount]uint32, 300), data: data, listAt: []uint32{0, uint32(len(data))}, df: []uint32{df % 1000}}
		for n, c := 0, s.list(0); c.doc != finished; c.next() {
			if c.read(); c.doc >= 300 {
				t.Fatalf("document %d", c.doc)
			}
			if n++; n > 1000 {
				t.Fatal("the walk does not end")
			}
		}
		c := s.list(0)
		c.seek(target)
		c.read()
	})
}
