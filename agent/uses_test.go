package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
)

// tallied keeps what turns made of skills, in a few words each.
type tallied struct {
	turns [][]string
	err   error
}

func (k *tallied) count(ctx context.Context, uses []Use) error {
	slices.SortFunc(uses, func(a, b Use) int { return cmp.Compare(a.Skill, b.Skill) })
	var turn []string
	for _, u := range uses {
		turn = append(turn, fmt.Sprintf("%s %s shown %d loaded %d=%d+%d+%d calls %d failed %d denied %d",
			u.Skill, u.Agent, u.Shown, u.Loaded, u.UserStarted, u.ModelStarted, u.Preloaded, u.ToolCalls, u.ToolErrors, u.Denied))
		if u.Source == "" || u.Digest == "" || u.At.IsZero() || (u.Shown > 0) != (u.CatalogTokens > 0) || (u.Loaded > 0) != (u.BodyTokens > 0) {
			turn = append(turn, fmt.Sprintf("%+v", u))
		}
	}
	k.turns = append(k.turns, turn)
	return cmp.Or(k.err, ctx.Err())
}

func countedFixture(t *testing.T, steps []scripted.Step) (*fixture, *tallied) {
	t.Helper()
	k := &tallied{}
	return newFixture(t, steps, func(d *Deps, _ *gate.Options) {
		d.Uses, d.Kind, d.Confirmer = k.count, "helper", always(gate.No)
	}), k
}

func TestATurnIsCountedOnceWhenItIsOver(t *testing.T) {
	t.Parallel()
	f, k := countedFixture(t, []scripted.Step{
		called("boom", nil), called("send", map[string]any{"text": "b"}),
		called("skill", map[string]any{"name": "narrow"}), called("look", map[string]any{"text": "x"}), {Text: "done"}, {Text: "again"},
	})
	k.err = errors.New("the disk is full") // fails no turn
	for _, text := range []string{"/pdf fill it", "go on"} {
		if events, err := f.run(t, t.Context(), Input{Text: text, Skills: []Preload{{Name: "briefly", By: "signal"}, {Name: "nothing", By: "host"}}}); err != nil || end(events).Stop != StopEnd {
			t.Fatalf("%+v, %v", end(events), err)
		}
	}
	want := []string{
		"[briefly helper shown 1 loaded 1=0+0+1 calls 4 failed 1 denied 1",
		"narrow helper shown 1 loaded 1=0+1+0 calls 1 failed 0 denied 0",
		"pdf helper shown 1 loaded 1=1+0+0 calls 4 failed 1 denied 1]",
	}
	if len(k.turns) != 2 || fmt.Sprint(k.turns[0]) != fmt.Sprintf("%s %s %s", want[0], want[1], want[2]) {
		t.Errorf("%q", k.turns)
	}
}

// A plan asks no model, and what no model saw was not shown.
func TestPlansAndTurnsThatNeverBeganAreNotCounted(t *testing.T) {
	t.Parallel()
	f, k := countedFixture(t, nil)
	if _, err := f.Prepare(t.Context(), f.s, Input{Text: "/pdf", Origin: gate.Interactive}); err != nil {
		t.Fatal(err)
	}
	for range f.Run(t.Context(), f.s, Input{Text: "no origin"}) {
	}
	events, _ := f.run(t, t.Context(), Input{Text: "the model is away"})
	if len(k.turns) != 0 || end(events).Stop != StopModel {
		t.Errorf("%q", k.turns)
	}
}

func TestATurnWhoseLoopIsTheHostsIsCountedAtItsEnd(t *testing.T) {
	t.Parallel()
	f, k := countedFixture(t, nil)
	own, err := f.Begin(t.Context(), f.s, Input{Text: "/pdf", Origin: gate.Interactive})
	if err != nil {
		t.Fatal(err)
	}
	own.Call(model.Call{ID: "1", Name: "look"})
	if len(k.turns) != 0 {
		t.Error("counted before it was over")
	}
	own.End()
	own.End()
	if len(k.turns) != 1 || k.turns[0][len(k.turns[0])-1] != "pdf helper shown 1 loaded 1=1+0+0 calls 1 failed 0 denied 0" {
		t.Errorf("%q", k.turns)
	}
}
