package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/race"
	"github.com/deftskills/deft/search/benchdata"
)

// letters is the word of that rank in a library.
func letters(rank int) string { return benchdata.Word(rank) }

// library makes n skills of about 3 KB with a reference of 1 KB.
func library(n int) []Document {
	docs := make([]Document, n)
	for i, s := range benchdata.Library(n) {
		if race.Enabled { // the race detector wants the paths, not the words
			s.Body, s.Reference = s.Body[:len(s.Body)/8], s.Reference[:len(s.Reference)/8]
		}
		docs[i] = withReference(doc(s.Name, s.Description, s.Body), "references/r.md", s.Reference)
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

// bigLibrary is an index of 80,000 skills, made once for every benchmark that asks.
var bigLibrary = sync.OnceValues(func() ([]Document, *Index) {
	docs := library(80_000)
	x, err := Open(Options{})
	if err != nil {
		panic(err)
	}
	if _, err := x.AddDocs(context.Background(), "", docs); err != nil {
		panic(err)
	}
	if _, err := x.Search(context.Background(), Query{Text: "x"}); err != nil {
		panic(err)
	}
	return docs, x
})

// benchmarkQuery asks each query over and over and reports the middle time and the
// one that one in a hundred exceeds.
func benchmarkQuery(b *testing.B, x *Index) {
	rnd := rand.New(rand.NewPCG(3, 4))
	mixed := benchdata.NewWords(3).Text
	for _, q := range []struct {
		name string
		text func() string
	}{
		{"rare", func() string { return letters(20_000 + rnd.IntN(9000)) }},
		{"frequent3", func() string { return "wax wbx wcx" }},
		{"frequent12", func() string { return "wax wbx wcx wdx wex wfx wgx whx wix wjx wbax wbbx" }},
		{"mixed1to12", func() string { return mixed(1 + rnd.IntN(12)) }},
		{"mixed64", func() string { return mixed(64) }},
	} {
		b.Run(q.name, func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				text := q.text()
				start := time.Now()
				if _, err := x.Search(context.Background(), Query{Text: text}); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-us")
		})
	}
}

func BenchmarkQuery10k(b *testing.B) {
	x := indexOf(b, library(10_000)...)
	if err := x.Warm(context.Background(), ""); err != nil {
		b.Fatal(err)
	}
	benchmarkQuery(b, x)
}

func BenchmarkQuery80k(b *testing.B) {
	_, x := bigLibrary()
	st := x.Stats()
	b.Logf("%d bytes of postings and %d others a skill", st.Postings/80_000, (st.Bytes-st.Postings)/80_000)
	benchmarkQuery(b, x)
}

func BenchmarkUpdate(b *testing.B) {
	docs, x := bigLibrary()
	ctx := context.Background()
	b.Run("unchanged80k", func(b *testing.B) {
		for b.Loop() {
			if _, err := x.AddDocs(ctx, "", docs); err != nil {
				b.Fatal(err)
			}
		}
	})
	x.Search(ctx, Query{Text: "x"})
	b.Run("one-more", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if err := x.Put(ctx, "", doc(fmt.Sprintf("more-%d", i), "one more skill", "its body")); err != nil {
				b.Fatal(err)
			}
			if _, err := x.Search(ctx, Query{Text: "wcjehx", Bare: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkOpen80k(b *testing.B) {
	docs, x := bigLibrary()
	o := Options{Dir: b.TempDir()}
	ctx := context.Background()
	kept := opened(b, o)
	s := kept.scope("")
	s.gen.Store(x.scope("").gen.Load())
	kept.write(s)
	var load time.Duration
	for b.Loop() {
		y, err := Open(o)
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		y.load(y.scope(""))
		load += time.Since(start)
		if report, err := y.AddDocs(ctx, "", docs); err != nil || report.Unchanged < 80_000 {
			b.Fatal(report, err)
		}
		_ = y.Close()
	}
	b.ReportMetric(float64(load.Milliseconds())/float64(b.N), "load-ms")
}

func BenchmarkScan1000(b *testing.B) {
	docs := library(1000)
	x := indexOf(b, docs...)
	for b.Loop() {
		if _, err := x.Search(context.Background(), Query{Text: "absent", Mode: Text}); err != nil {
			b.Fatal(err)
		}
	}
}
