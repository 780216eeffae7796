package route

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// library makes n skills of 8 keywords; the message of 1 KiB hits 2 % of them.
func library(n int) (*registry.Snapshot, TurnRoutingContext) {
	recs := make([]*registry.Record, n)
	for i := range recs {
		k := make([]string, 8)
		for j := range k {
			k[j] = fmt.Sprintf("word%d%c", i%(n/2+1), 'a'+j)
		}
		if i%50 == 0 {
			k[7] = "needle" + fmt.Sprint(i%500)
		}
		recs[i] = record(fmt.Sprintf("skill-%05d", i), keywords(k...))
	}
	var b strings.Builder
	for i := 0; b.Len() < 1000; i++ {
		fmt.Fprintf(&b, "needle%d filler text that hits nothing ", i%10*50)
	}
	in := TurnRoutingContext{Message: b.String()}
	for i := range 50 {
		in.Retrieved = append(in.Retrieved, Retrieved{Address: fmt.Sprintf("skill-%05d", i), Score: int64(1000 - i), Coverage: 60})
	}
	return snapshot(recs...), in
}

// spent reports the CPU time of what follows: other work on the machine counts for
// nothing in it.
func spent(b *testing.B) {
	b.Helper()
	start := cpu()
	b.Cleanup(func() { b.ReportMetric((cpu()-start).Seconds()*1000/float64(b.N), "cpu-ms/op") })
}

func benchmarkRoute(b *testing.B, n int) {
	snap, in := library(n)
	r, _ := Compile(snap, Options{})
	b.ReportAllocs()
	spent(b)
	for b.Loop() {
		if _, err := r.Route(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRoute10k(b *testing.B)  { benchmarkRoute(b, 10_000) }
func BenchmarkRoute100k(b *testing.B) { benchmarkRoute(b, 100_000) }

// worst makes n skills that all hit a message of 64 KiB.
func worst(n int) (*registry.Snapshot, TurnRoutingContext) {
	recs := make([]*registry.Record, n)
	for i := range recs {
		k := make([]string, 8)
		for j := range k {
			k[j] = fmt.Sprintf("w%d", (i*8+j)%8000)
		}
		recs[i] = record(fmt.Sprintf("skill-%05d", i), keywords(k...), func(s *skill.Skill) { routing(s).Stages = []string{"decide"} })
	}
	var b strings.Builder
	for i := 0; b.Len() < 64<<10; i++ {
		fmt.Fprintf(&b, "w%d buy ", i%8000)
	}
	return snapshot(recs...), TurnRoutingContext{Message: b.String()}
}

// BenchmarkRouteWorst shows that the time grows with the hits alone: three sizes on
// one line.
func BenchmarkRouteWorst(b *testing.B) {
	for _, n := range []int{25_000, 50_000, 100_000} {
		snap, in := worst(n)
		r, _ := Compile(snap, Options{})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			spent(b)
			for b.Loop() {
				if _, err := r.Route(context.Background(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile100k(b *testing.B) {
	snap, _ := library(100_000)
	b.ReportAllocs()
	spent(b)
	for b.Loop() {
		r, _ := Compile(snap, Options{})
		b.ReportMetric(float64(r.footprint())/(1<<20), "MiB")
	}
}

// BenchmarkNext100k is a Snapshot in which no keyword changed.
func BenchmarkNext100k(b *testing.B) {
	snap, _ := library(100_000)
	r, _ := Compile(snap, Options{})
	b.ReportAllocs()
	spent(b)
	for b.Loop() {
		r, _ = r.Next(snap)
	}
}

// footprint is what automaton and postings hold, in bytes.
func (r *Router) footprint() int {
	m := r.machine
	n := 4*(len(m.first)+len(m.fail)+len(m.out)+len(m.link)+len(m.size)) + len(m.label)
	n += 4*len(r.useAt) + 8*len(r.uses) + len(r.triggers)
	for _, p := range r.patterns {
		n += 16 + len(p)
	}
	return n
}

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{300, 10_000} {
		snap, _ := library(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Compile(snap, Options{})
			}
		})
	}
}
