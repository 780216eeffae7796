package mastra

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// noplan is a plan without router and catalog.
type noplan struct{}

func (noplan) Plan(context.Context, agent.PlanInput) (agent.Plan, error) { return agent.Plan{}, nil }

// norecord keeps no rows.
type norecord struct{}

func (norecord) Record(context.Context, gate.Row) error { return nil }

// needy is a tool of the host that needs skills.
type needy struct {
	name  string
	needs []string
	byArg bool // needs the skill that the argument names
	tier  gate.Tier
	set   string
}

func (n needy) Spec() toolset.Spec {
	tier := n.tier
	if tier == 0 {
		tier = gate.ReadOnly
	}
	return toolset.Spec{
		Name: n.name, Description: "Does " + n.name + ".", Toolset: n.set, Tier: tier, ReadOnly: tier == gate.ReadOnly, Requires: n.needs,
		Input: json.RawMessage(`{"type":"object","properties":{"with":{"type":"string"}}}`),
	}
}

func (n needy) Requires(args json.RawMessage) []string {
	var in struct{ With string }
	if !n.byArg || json.Unmarshal(args, &in) != nil || in.With == "" {
		return nil
	}
	return []string{in.With}
}

func (n needy) Call(context.Context, toolset.Call) (toolset.Result, error) {
	return toolset.Result{Text: n.name + " ran"}, nil
}

const needs = "MISSING_REQUIRED_SKILL"

// says wants a call to run, or to be refused with a code.
func says(t *testing.T, turn *agent.Turn, name, input, code string) model.Result {
	t.Helper()
	res := call(turn, name, input)
	if ran := res.Text == name+" ran"; ran != (code == "") || !strings.Contains(res.Text, code) || res.IsError == ran {
		t.Errorf("%s %s: %+v, want %q", name, input, res, code)
	}
	return res
}

func loadBy(t *testing.T, turn *agent.Turn, name string) {
	t.Helper()
	if res := call(turn, "load_skill", `{"skillName":"`+name+`"}`); res.IsError || !strings.Contains(res.Text, `"success":true`) {
		t.Fatal(res.Text)
	}
}

func TestR001_NeedsItsSkill(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	turn := d.begin(d.sheet(needy{name: "tool", needs: []string{"a"}}))
	if res := says(t, turn, "tool", `{}`, needs); !strings.Contains(res.Text, `\"a\"`) || !strings.Contains(res.Text, "call again") {
		t.Errorf("%s", res.Text)
	}
	loadBy(t, turn, "a")
	says(t, turn, "tool", `{}`, "")
}

func TestR002_NotShownBeforeAndNotFromHistory(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	r := d.sheet(needy{name: "tool", needs: []string{"a"}})
	turn := d.begin(r)
	want(t, "before", shown(turn)["tool"], false)
	loadBy(t, turn, "a")
	want(t, "loaded", shown(turn)["tool"], true)
	turn.End()
	d.s.Clear()
	want(t, "after a clear", shown(d.begin(r))["tool"], false)
}

func TestR003_AllOfSeveral(t *testing.T) {
	t.Parallel()
	d := demand(t, "a", "b")
	turn := d.begin(d.sheet(needy{name: "tool", needs: []string{"a", "b"}}))
	loadBy(t, turn, "a")
	if res := says(t, turn, "tool", `{}`, needs); strings.Contains(res.Text, `\"a\"`) {
		t.Errorf("%s", res.Text)
	}
	loadBy(t, turn, "b")
	says(t, turn, "tool", `{}`, "")
}

func TestR004_CheckedAgainAtTheCall(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	r := d.sheet(needy{name: "tool", needs: []string{"a"}})
	turn := d.begin(r)
	loadBy(t, turn, "a")
	want(t, "shown", shown(turn)["tool"], true)
	turn.End()
	turn = d.begin(r)
	d.s.Clear()
	says(t, turn, "tool", `{}`, needs)
}

func TestR005_SeparateAndClosedAtFirst(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	r := d.sheet(needy{name: "tool", needs: []string{"a"}})
	turn := d.begin(r)
	loadBy(t, turn, "a")
	d.session()
	d.turn.End()
	says(t, d.begin(r), "tool", `{}`, needs)
	says(t, turn, "tool", `{}`, "")
}

func TestR006_SkillIsGone(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	turn := d.begin(d.sheet(needy{name: "tool", needs: []string{"gone"}}))
	if res := says(t, turn, "tool", `{}`, "REQUIRED_SKILL_UNAVAILABLE"); strings.Contains(res.Text, "call again") {
		t.Errorf("%s", res.Text)
	}
}

func TestR007_OthersUntouchedRulesMayDependOnInput(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	turn := d.begin(d.sheet(needy{name: "free"}, needy{name: "tool", byArg: true}))
	says(t, turn, "free", `{}`, "")
	says(t, turn, "tool", `{}`, "")
	says(t, turn, "tool", `{"with":"a"}`, needs)
	loadBy(t, turn, "a")
	says(t, turn, "tool", `{"with":"a"}`, "")
}

func TestR008_PermissionsStillApply(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	turn := d.begin(d.sheet(needy{name: "tool", needs: []string{"a"}, tier: gate.AlwaysConfirm}))
	loadBy(t, turn, "a")
	says(t, turn, "tool", `{}`, gate.CodeNoAnswerer)
}

func TestR009_NoListingForACheck(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	d := deskOf(t, m)
	d.o.OnDemand = toolset.OnDemandOnly
	turn := d.begin(d.sheet(needy{name: "tool", needs: []string{"a"}}))
	before, _ := m.counts()
	for range 3 {
		says(t, turn, "tool", `{}`, needs)
	}
	after, _ := m.counts()
	want(t, "operations", after, before)
}

func TestR010_WorksInsideTheLoop(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	d := deskOf(t, m)
	d.o.OnDemand = toolset.OnDemandOnly
	turn := d.begin(d.sheet(needy{name: "tool", needs: []string{"a"}}))
	before, _ := m.counts()
	want(t, "names", names(d.view.Snapshot()), []string{"a"})
	after, _ := m.counts()
	want(t, "operations of a listing", after, before)
	results := turn.Call(
		model.Call{ID: "1", Name: "load_skill", Input: json.RawMessage(`{"skillName":"a"}`)},
		model.Call{ID: "2", Name: "tool", Input: json.RawMessage(`{}`)},
	)
	want(t, "errors", []bool{results[0].IsError, len(results) == 2}, []bool{false, true})
	says(t, turn, "tool", `{}`, "")
}

func TestR011_GuardIsPartOfTheTool(t *testing.T) {
	t.Parallel()
	// The guard stands in the tool's own description: whoever runs its loop by hand gets
	// it too, and nothing that a host sets takes it off.
	d := demand(t, "a")
	turn := d.begin(d.sheet(needy{name: "tool", needs: []string{"a"}}))
	for range 2 {
		says(t, turn, "tool", `{}`, needs)
	}
}

func TestR012_MixedBatch(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	turn := d.begin(d.sheet(needy{name: "free"}, needy{name: "tool", needs: []string{"a"}}))
	res := turn.Call(
		model.Call{ID: "1", Name: "tool", Input: json.RawMessage(`{}`)},
		model.Call{ID: "2", Name: "free", Input: json.RawMessage(`{}`)},
	)
	want(t, "texts", []bool{strings.Contains(res[0].Text, needs), res[1].Text == "free ran"}, []bool{true, true})
}

func TestR013_WhatIsActiveIsAValue(t *testing.T) {
	t.Parallel()
	d := demand(t, "a", "b")
	loadOn(t, d, "a")
	kept := d.s.Active()
	layers := d.s.Layers()
	loadOn(t, d, "b")
	kept[0].Name = "changed"
	want(t, "active", active(d), []string{"a", "b"})
	want(t, "kept", layers.Len(), 1)
	want(t, "ready", slices.ContainsFunc(d.s.Active(), func(a session.Activation) bool { return a.Name == "changed" }), false)
}

func TestR014_RecoveryToolsNeedNothing(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	d.o.Names = map[string]string{}
	turn := d.begin(d.sheet(needy{name: "way_out", needs: []string{"gone"}, set: "skills"}))
	says(t, turn, "way_out", `{}`, "")
	loadBy(t, turn, "a")
}
