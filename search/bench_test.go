package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// letters is the word of that rank in a library.
func letters(rank int) string {
	return "w" + strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(rank)) + "x"
}

// library makes n skills of about 3 KB with a reference of 1 KB, the words drawn so
// that few are frequent and many rare.
func library(n int) []Document {
	rnd := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rnd, 1.1, 4, 30_000)
	words := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(letters(int(zipf.Uint64())))
			if i%12 == 11 {
				b.WriteByte('\n')
			} else {
				b.WriteByte(' ')
			}
		}
		return b.String()
	}
	docs := make([]Document, n)
	for i := range docs {
		docs[i] = withReference(doc(fmt.Sprintf("skill-%d", i), words(20), "\n# "+words(4)+words(440)), "references/r.md", words(150))
	}
	return docs
}

func BenchmarkIndex(b *testing.B) {
	docs := library(2000)
	b.ResetTimer()
	for b.Loop() {
		x := indexOf(b, docs...)
		if err := x.Warm(context.Background(), ""); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(x.Stats().Bytes)/2000, "bytes/skill")
	}
	b.ReportMetric(2000*float64(b.N)/b.Elapsed().Seconds(), "skills/s")
}

func benchmarkQuery(b *testing.B, n int) {
	x := indexOf(b, library(n)...)
	if err := x.Warm(context.Background(), ""); err != nil {
		b.Fatal(err)
	}
	for _, q := range []struct{ name, text string }{
		{"rare", "wcjehx"}, {"frequent", "wax wbx wcx"}, {"twelve", "wax wbx wcx wdx wex wfx wgx whx wix wjx wbax wbbx"},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := x.Search(context.Background(), Query{Text: q.text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkQuery10k(b *testing.B) { benchmarkQuery(b, 10_000) }

func BenchmarkUpdateUnchanged10k(b *testing.B) {
	docs := library(10_000)
	x := indexOf(b, docs...)
	if err := x.Warm(context.Background(), ""); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		if _, err := x.AddDocs(context.Background(), "", docs); err != nil {
			b.Fatal(err)
		}
	}
}
