package toolset

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// The targets: skill of 3 KB at most 60 µs, skill_read of 1 KB at most 80 µs, a skill
// among 100,000 found in at most 5 µs, an unknown name among them answered with close
// names in at most 10 ms, skill_search at most 200 µs beyond the search.

func BenchmarkSkill3KB(b *testing.B) {
	root := b.TempDir()
	write(b, root, map[string]string{"a/SKILL.md": md("a", "", strings.Repeat("A line of a skill's text.\n", 120))})
	h := newHouse(b, root)
	tool := Skills(h.o)[0]
	in := []byte(`{"name":"a"}`)
	b.ReportAllocs()
	for b.Loop() {
		if res, err := tool.Call(context.Background(), Call{Input: in, Turn: h.turn}); err != nil || res.IsError {
			b.Fatal(err, res.Text)
		}
		if _, err := h.turn.Deactivate("a"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSkillRead1KB(b *testing.B) {
	root := b.TempDir()
	write(b, root, map[string]string{"a/SKILL.md": md("a", "", "x\n"), "a/r.md": strings.Repeat("A line of text.\n", 64)})
	h := newHouse(b, root)
	tool := Skills(h.o)[1]
	in := []byte(`{"name":"a","path":"r.md"}`)
	b.ReportAllocs()
	for b.Loop() {
		if res, err := tool.Call(context.Background(), Call{Input: in, Turn: h.turn}); err != nil || res.IsError {
			b.Fatal(err, res.Text)
		}
	}
}

// manySkills is a Snapshot of 100,000 skills given in code.
func manySkills(b *testing.B) *registry.Snapshot {
	defs := make([]source.Definition, 100_000)
	for i := range defs {
		defs[i] = source.Definition{Name: fmt.Sprintf("skill-%06d", i), Description: "What it does.", Content: "x"}
	}
	reg, err := registry.Open(b.Context(), registry.Config{Sources: []source.Source{source.Data(defs, source.DataOptions{})}})
	if err != nil {
		b.Fatal(err)
	}
	return reg.Snapshot()
}

func BenchmarkAmong100k(b *testing.B) {
	snap := manySkills(b)
	location := snap.Winners[54_321].Location
	for _, sel := range []string{"skil-054321", location} { // the first lookup sorts the names
		_, _ = snap.Lookup(sel)
	}
	b.Run("name", func(b *testing.B) {
		for b.Loop() {
			if _, err := snap.Lookup("skill-054321"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("location", func(b *testing.B) {
		for b.Loop() {
			if _, err := snap.Lookup(location); err != nil {
				b.Fatal(err)
			}
		}
	})
	tool := firstTool(Options{}, NameSkill)
	b.Run("unknown", func(b *testing.B) {
		turn := turnOf(b, still{snap}, skill.Deft)
		for b.Loop() {
			if res, err := tool.Call(context.Background(), Call{Input: []byte(`{"name":"skil-054321"}`), Turn: turn}); err != nil || !res.IsError {
				b.Fatal(err, res.Text)
			}
		}
	})
}

func BenchmarkSearchAnswer(b *testing.B) {
	snap := snapshotOf(b, skill.Deft, map[string]string{"a": md("a", "", "x\n")})
	var hits []Hit
	for i := range maxTopK {
		hits = append(hits, Hit{
			Address: fmt.Sprint("skill-", i), Description: strings.TrimSpace(strings.Repeat("What it does. ", 12)), File: "SKILL.md", StartLine: 3, EndLine: 9,
			Score: int64(9000 - i), Strength: "normal", Snippet: strings.TrimSpace(strings.Repeat("a line of text ", 12)),
		})
	}
	tool := firstTool(Options{Searcher: &found{answer: Found{Hits: hits, Searched: 100}}}, NameSkillSearch)
	turn := turnOf(b, still{snap}, skill.Deft)
	b.ReportAllocs()
	for b.Loop() {
		if res, err := tool.Call(context.Background(), Call{Input: []byte(`{"query":"q","topK":20}`), Turn: turn}); err != nil || res.IsError {
			b.Fatal(err, res.Text)
		}
	}
}

// How long the tools of a session take to make: descriptions, schemas and names.
func BenchmarkSkills(b *testing.B) {
	o := Options{Style: StyleBoth, Searcher: noSearch{}}
	for b.Loop() {
		Skills(o)
	}
}

func BenchmarkExposed(b *testing.B) {
	snap := snapshotOf(b, skill.Deft, map[string]string{"a": md("a", "", "x\n")})
	o := Options{Style: StyleBoth, Searcher: noSearch{}}
	for b.Loop() {
		Exposed(o, View{Snapshot: snap})
	}
}
