package catalog

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

func next(t *testing.T, th *Thread, in Input) Catalog {
	t.Helper()
	c, err := th.Next(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func three(edit func(r *registry.Record), more ...*registry.Record) *registry.Snapshot {
	b := record("b", "Does b.")
	if edit != nil {
		edit(b)
	}
	return snapshot(append([]*registry.Record{record("a", "Does a."), b, record("c", "Does c.")}, more...)...)
}

func TestChangesAreToldAtTheEndAndThePrefixStays(t *testing.T) {
	t.Parallel()
	in := Input{Snapshot: three(nil), Tools: exposed, Routing: true}
	th := New(Config{}).Thread()
	first := next(t, th, in)
	if again := next(t, th, in); again.Prefix() != first.Prefix() || again.Tail.Text != "" {
		t.Errorf("nothing changed, and yet: %q", again.Tail.Text)
	}
	in.Snapshot = three(func(r *registry.Record) { r.Skill.Description = "Does <more>." }, record("d", "New here."))
	in.Snapshot.Winners = in.Snapshot.Winners[1:] // a is gone
	in.Routed = []Routed{{Address: "d", Score: 1, Reasons: []string{"kw:d"}}}
	changed := next(t, th, in)
	want := "<skills_changed>\n+ d: New here.\n- a\n~ b: Does &lt;more&gt;.\n</skills_changed>\n<relevant_skills>\n- d [kw:d]\n</relevant_skills>"
	if changed.Tail.Text != want || changed.Prefix() != first.Prefix() || changed.Key != first.Key || changed.Report.Changes == 0 {
		t.Errorf("tail %q", changed.Tail.Text)
	}
	if again := next(t, th, in); again.Tail.Text != want {
		t.Errorf("the next turn does not tell it: %q", again.Tail.Text)
	}
	th.Fresh()
	in.Routed = nil
	whole := next(t, th, in)
	if whole.Tail.Text != "" || !strings.Contains(whole.Stable.Text, "- d: New here.\n") || strings.Contains(whole.Stable.Text, "- a:") {
		t.Errorf("after the conversation was shortened:\n%s\n%s", whole.Stable.Text, whole.Tail.Text)
	}
	if again := next(t, th, in); again.Stable != whole.Stable || again.Tail.Text != "" {
		t.Error("a second round differs")
	}
}

func TestWhatComesBackNeedsNoWord(t *testing.T) {
	t.Parallel()
	th := New(Config{Counter: Estimate()}).Thread()
	in := Input{Snapshot: three(nil), Tools: exposed}
	first := next(t, th, in)
	in.Snapshot = three(func(r *registry.Record) { r.State = registry.Disabled })
	if off := next(t, th, in); off.Tail.Text != "<skills_changed>\n- b\n</skills_changed>" || off.Stable != first.Stable {
		t.Errorf("tail %q", off.Tail.Text)
	}
	in.Snapshot = three(nil)
	if on := next(t, th, in); on.Tail.Text != "" || on.Stable != first.Stable || on.Key != first.Key {
		t.Errorf("tail %q", on.Tail.Text)
	}
}

func TestLargeChangesWriteThePrefixAnew(t *testing.T) {
	t.Parallel()
	add := func(n int, text string) *registry.Snapshot {
		var more []*registry.Record
		for i := range n {
			more = append(more, record(fmt.Sprintf("new-%02d", i), text))
		}
		return three(nil, more...)
	}
	for name, tt := range map[string]struct {
		snap *registry.Snapshot
		d    skill.Dialect
		told bool
	}{
		"twenty":          {add(20, "Short."), "", true},
		"twenty-one":      {add(21, "Short."), "", false},
		"long ones":       {add(10, strings.Repeat("many words ", 80)), "", true},
		"too long":        {add(20, strings.Repeat("龘靐齉爩", 40)), "", false},
		"another dialect": {add(1, "Short."), skill.MiniMax, false},
	} {
		th := New(Config{}).Thread()
		in := Input{Snapshot: three(nil), Tools: exposed, Dialect: tt.d}
		first := next(t, th, in)
		in.Snapshot = tt.snap
		c := next(t, th, in)
		if told := c.Stable == first.Stable; told != tt.told || told != strings.HasPrefix(c.Tail.Text, openDelta) || c.Report.Changes > 300 {
			t.Errorf("%s: told %v, tail %q", name, told, c.Tail.Text)
		}
	}
	th := New(Config{}).Thread()
	in := Input{Snapshot: three(nil), Tools: exposed}
	first := next(t, th, in)
	in.Tools.Search = ""
	in.Snapshot = three(nil, record("d", "New."))
	if c := next(t, th, in); c.Stable == first.Stable || c.Tail.Text != "" {
		t.Error("another set of tools keeps the old guidance")
	}
}

func TestAModeHoldsUntilAnotherIsBetterForTwoTurns(t *testing.T) {
	t.Parallel()
	th := New(Config{}).Thread()
	small, large := three(nil), chores(50)
	in := Input{Snapshot: small, Tools: exposed, Routing: true, Budget: Budget{Limit: 200}}
	for i, tt := range []struct {
		s    *registry.Snapshot
		want Mode
	}{{small, ModeStable}, {large, ModeStable}, {small, ModeStable}, {large, ModeStable}, {large, ModeRouted}, {large, ModeRouted}, {small, ModeRouted}, {small, ModeStable}} {
		in.Snapshot = tt.s
		if c := next(t, th, in); c.Report.Mode != tt.want {
			t.Errorf("turn %d: %s, want %s", i, c.Report.Mode, tt.want)
		}
	}
}

func TestRanksHoldForAConversation(t *testing.T) {
	t.Parallel()
	th := New(Config{}).Thread()
	in := Input{Snapshot: chores(50), Tools: exposed, Budget: Budget{Limit: 1000}, Rank: Rank{Pinned: []string{"task-090"}}}
	if !th.First() {
		t.Error("not at the beginning")
	}
	first := next(t, th, in)
	in.Rank = Rank{Pinned: []string{"task-100"}}
	if again := next(t, th, in); th.First() || again.Stable != first.Stable || !strings.Contains(again.Stable.Text, "task-090: ") {
		t.Error("another turn's ranks changed the prefix")
	}
}
