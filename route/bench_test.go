package route

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
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

func benchmarkRoute(b *testing.B, n int) {
	snap, in := library(n)
	r, _ := Compile(snap, Options{})
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, err := r.Route(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRoute10k(b *testing.B)  { benchmarkRoute(b, 10_000) }
func BenchmarkRoute100k(b *testing.B) { benchmarkRoute(b, 100_000) }

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
