package catalog

import (
	"fmt"
	"testing"

	"github.com/deftskills/deft/registry"
)

// library has n skills with descriptions of about 130 characters.
func library(n int) []*registry.Record {
	all := make([]*registry.Record, n)
	for i := range all {
		all[i] = record(fmt.Sprintf("skill-%06d", i), fmt.Sprintf(
			"Handles chore number %d for the team. Use when the request mentions chore %d, its inputs, its outputs, or the report after it.", i, i))
	}
	return all
}

// benchmarkWarm renders n skills of which one changes each time.
func benchmarkWarm(b *testing.B, n int) {
	r, all := New(Config{}), library(n)
	render(b, r, Input{Snapshot: snapshot(all...), Mode: ModeStable, Tools: exposed})
	turn := 0
	b.ReportAllocs()
	for b.Loop() {
		turn++
		all[n/2] = record(all[n/2].Skill.Name, fmt.Sprintf("Changed %d times.", turn))
		render(b, r, Input{Snapshot: &registry.Snapshot{Winners: all, All: all}, Mode: ModeStable, Tools: exposed})
	}
}

func BenchmarkRender10k(b *testing.B)  { benchmarkWarm(b, 10_000) }
func BenchmarkRender100k(b *testing.B) { benchmarkWarm(b, 100_000) }

func BenchmarkRenderCached(b *testing.B) {
	r, in := New(Config{}), Input{Snapshot: snapshot(library(10_000)...), Tools: exposed}
	render(b, r, in)
	b.ReportAllocs()
	for b.Loop() {
		render(b, r, in)
	}
}

func BenchmarkRenderCold10k(b *testing.B) {
	counter, s := O200k(), snapshot(library(10_000)...)
	counter.Count("load the tables")
	for b.Loop() {
		render(b, New(Config{Counter: counter}), Input{Snapshot: s, Tools: exposed})
	}
}
