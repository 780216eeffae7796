package minara

import (
	"slices"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// alarm is a session with a scripted model, and what happened in its turns.
type alarm struct {
	t      *testing.T
	e      *deft.Engine
	s      *deft.Session
	m      *scripted.Model
	events []agent.Event
	ledger
}

// newAlarm opens a session over the skills; the model plays the steps, one a request.
func newAlarm(t *testing.T, s skills, change func(*deft.Options, *deft.SessionOptions), steps ...scripted.Step) *alarm {
	t.Helper()
	a := &alarm{t: t, m: scripted.New("alarm", scripted.Script{Steps: steps})}
	o := deft.Options{
		Workspace: t.TempDir(), Dialect: skill.Minara, OnlySources: true, More: []source.Source{from("", s)}, Record: &a.ledger, OS: "linux",
		Tools: []toolset.Tool{
			hostTool{"get_price", gate.ReadOnly, ""}, hostTool{"note", gate.ConfirmOnce, ""}, hostTool{"place_order", gate.ManualOnly, ""},
			hostTool{"echo", gate.ReadOnly, ""},
		},
	}
	so := deft.SessionOptions{Model: a.m}
	if change != nil {
		change(&o, &so)
	}
	var err error
	if a.e, err = deft.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.e.Close() })
	if a.s, err = a.e.NewSession(t.Context(), so); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.s.Close() })
	return a
}

// run runs a turn to its end.
func (a *alarm) run(in deft.Input) *agent.End {
	a.t.Helper()
	a.events = nil
	var end *agent.End
	for e, err := range a.s.Run(a.t.Context(), in) {
		a.events = append(a.events, e)
		if e.Type == agent.TurnFinished {
			end = e.End
		} else if err != nil {
			a.t.Fatal(err)
		}
	}
	return end
}

// of returns the events of one type.
func (a *alarm) of(kind agent.EventType) []agent.Event {
	return slices.DeleteFunc(slices.Clone(a.events), func(e agent.Event) bool { return e.Type != kind })
}

// asked is the last user message of the n-th request.
func (a *alarm) asked(n int) string {
	a.t.Helper()
	list := a.m.Requests()
	if n >= len(list) {
		a.t.Fatalf("%d requests", len(list))
	}
	return list[n].Messages[0].Text
}

func calls(tool string, input any) scripted.Step {
	return scripted.Step{Calls: []scripted.Call{{Name: tool, Input: input}}}
}
