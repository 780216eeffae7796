package evals

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
)

func addresses(snap *registry.Snapshot) (out []string) {
	for _, rec := range snap.Winners {
		out = append(out, rec.Address+" "+string(rec.Skill.File))
	}
	return out
}

func TestAGrownCorpusIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	dir := smallSet(t).Corpus
	first, err := readCorpus(dir, 40)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := readCorpus(dir, 40)
	if a, b := addresses(first), addresses(second); len(a) != 40 || !slices.Equal(a, b) {
		t.Errorf("%d skills, then %d: %v", len(a), len(b), a)
	}
	plain, _ := readCorpus(dir, 0)
	copies, strangers := 0, 0
	for _, rec := range first.Winners {
		switch {
		case strings.HasPrefix(rec.Address, "foreign/"):
			strangers++
		case origin(rec.Address) != rec.Address:
			copies++
			if !slices.ContainsFunc(plain.Winners, func(o *registry.Record) bool { return o.Address == origin(rec.Address) }) {
				t.Errorf("%s is a copy of nothing", rec.Address)
			}
		}
	}
	if copies < 15 || strangers < 15 || copies+strangers+len(plain.Winners) != 40 {
		t.Errorf("%d copies and %d foreign skills beside %d", copies, strangers, len(plain.Winners))
	}
}

// BenchmarkGrown measures what 30,000 skills cost beside the 2,400 real ones, in points.
func BenchmarkGrown(b *testing.B) {
	for b.Loop() {
		opt := devSet(b)
		before, err := Routing(context.Background(), opt)
		if err != nil {
			b.Fatal(err)
		}
		opt.Grow = 30_000
		after, err := Routing(context.Background(), opt)
		if err != nil {
			b.Fatal(err)
		}
		for _, m := range []struct {
			name string
			a, b float64
		}{
			{"hit1", before.Hit1, after.Hit1},
			{"hit5", before.Hit5, after.Hit5},
			{"mrr10", before.MRR10, after.MRR10},
			{"should", before.Trigger.ShouldTop1, after.Trigger.ShouldTop1},
			{"should-not", before.Trigger.NotTop1, after.Trigger.NotTop1},
			{"refused", float64(before.Abstain.Refused) / 100, float64(after.Abstain.Refused) / 100},
			{"wrongly", float64(before.Abstain.Wrongly) / 100, float64(after.Abstain.Wrongly) / 100},
		} {
			b.ReportMetric(100*m.a, m.name)
			b.ReportMetric(100*m.b, m.name+"-grown")
		}
		b.ReportMetric(float64(after.Skills), "skills")
		b.ReportMetric(float64(after.P50US), "p50-us")
	}
}
