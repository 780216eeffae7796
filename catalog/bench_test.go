package catalog

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/deftskills/deft/internal/race"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
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

// BenchmarkTiers1k renders dialect minimax where descriptions don't fit, one changing.
func BenchmarkTiers1k(b *testing.B) {
	r, all := New(Config{}), library(1000)
	in := Input{Snapshot: snapshot(all...), Dialect: skill.MiniMax, Budget: Budget{Limit: 20_000}}
	c := render(b, r, in)
	if !c.Report.SoftOverflow || c.Report.Shortened < 900 {
		b.Fatalf("%+v", c.Report)
	}
	turn := 0
	next := func() {
		turn++
		all[500] = record(all[500].Skill.Name, fmt.Sprintf("Changed %d times, and longer than most by a few words: %s", turn, all[499].Skill.Description))
		in.Snapshot = &registry.Snapshot{Winners: all, All: all}
		render(b, r, in)
	}
	next() // the first one asks for lengths that no other asked for
	b.ReportAllocs()
	for b.Loop() {
		next()
	}
}

// Not parallel: it counts what the whole process allocates.
func TestAWarmRenderAllocatesLittle(t *testing.T) {
	for _, n := range []int{10_000, 40_000} {
		if race.Enabled && n > 10_000 {
			continue
		}
		r, all := New(Config{Counter: Estimate()}), library(n)
		in := Input{Mode: ModeStable, Tools: exposed}
		turn := func(i int) Catalog {
			all[n/2] = record(all[n/2].Skill.Name, fmt.Sprintf("Changed %d times.", i))
			in.Snapshot = &registry.Snapshot{Winners: all, All: all}
			return render(t, r, in)
		}
		size := 0
		for i := range 4 { // buffers grow in the first ones
			size = len(turn(i).Stable.Text)
		}
		const rounds = 20
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range rounds {
			turn(10 + i)
		}
		runtime.ReadMemStats(&after)
		if got, bound := int(after.TotalAlloc-before.TotalAlloc)/rounds, 64<<10+3*size; got > bound {
			t.Errorf("%d skills: %d bytes a render of %d, the bound is %d", n, got, size, bound)
		}
	}
}
