package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
)

// TestEventStreams holds what a consumer sees of a turn, one golden file a case. The
// clock is the bubble's: waits take no time.
func TestEventStreams(t *testing.T) {
	text := func(s string) scripted.Step { return scripted.Step{Text: s} }
	look := called("look", map[string]any{"text": "x"})
	many := func(names ...string) scripted.Step {
		var s scripted.Step
		for _, n := range names {
			c := scripted.Call{Name: n}
			if n == "skill" {
				c.Input = map[string]any{"name": "pdf"}
			}
			s.Calls = append(s.Calls, c)
		}
		return s
	}
	huge := scripted.Step{Calls: []scripted.Call{{Name: "look", Raw: json.RawMessage(`{"text":"` + strings.Repeat("x", 2<<20) + `"}`)}}}
	tests := []struct {
		name   string
		steps  []scripted.Step
		in     Input
		change func(*Deps, *gate.Options)
		cancel func(Event) bool // the consumer cancels when it sees this
	}{
		{name: "plain answer", steps: []scripted.Step{{Text: "Four, as ever.", Reasoning: "sum"}}},
		{name: "tool", steps: []scripted.Step{look, text("Seen.")}},
		{name: "unknown tool", steps: []scripted.Step{called("lock", nil), text("No such thing.")}},
		{name: "huge arguments", steps: []scripted.Step{huge, text("Too much.")}},
		{name: "broken arguments", steps: []scripted.Step{{Calls: []scripted.Call{{Name: "look", Raw: json.RawMessage(`{"text": "of`)}}}, text("Sorry.")}},
		{name: "denied by a person", steps: []scripted.Step{called("send", nil), text("As you wish.")}, change: func(d *Deps, _ *gate.Options) { d.Confirmer = always(gate.No) }},
		{name: "nobody to ask", steps: []scripted.Step{called("send", nil), text("Left undone.")}},
		{name: "autonomous", steps: []scripted.Step{called("note", nil), look, text("Looked.")}, in: Input{Origin: gate.Cron}, change: func(d *Deps, _ *gate.Options) { d.Confirmer = always(gate.Once) }},
		{name: "confirmed", steps: []scripted.Step{called("send", map[string]any{"text": "hi"}), text("Sent.")}, change: func(d *Deps, _ *gate.Options) { d.Confirmer = always(gate.Once) }},
		{name: "remembered", steps: []scripted.Step{called("note", nil), called("note", nil), text("Twice.")}, change: func(d *Deps, _ *gate.Options) { d.Confirmer = always(gate.ForSession) }},
		{name: "typed approval", steps: []scripted.Step{called("swap", nil), text("Swapped.")}, change: func(d *Deps, _ *gate.Options) { d.Confirmer = always(gate.Once) }},
		{name: "no record", steps: []scripted.Step{look, text("No.")}, change: func(_ *Deps, o *gate.Options) { o.Audit = &rows{err: errors.New("disk full")} }},
		{name: "tools that break", steps: []scripted.Step{many("boom", "fail", "bytes"), text("Broken.")}},
		{name: "side by side", steps: []scripted.Step{many("look", "look", "note", "look"), text("Done.")}, change: func(_ *Deps, o *gate.Options) { o.Auto = gate.ConfirmOnce }},
		{name: "skill beside others", steps: []scripted.Step{many("note", "look", "skill"), text("Read it now.")}, change: func(_ *Deps, o *gate.Options) { o.Auto = gate.ConfirmOnce }},
		{name: "skill by the user", in: Input{Text: "/pdf form.pdf"}, steps: []scripted.Step{text("Filled.")}},
		{name: "skills by flag", in: Input{Text: "go", Skills: []Preload{{Name: "narrow", By: "host"}, {Name: "nothing"}, {Name: "briefly"}}}, steps: []scripted.Step{called("note", nil), text("Only looking.")}},
		{name: "unknown command", in: Input{Text: "/pfd form.pdf"}, steps: []scripted.Step{text("Hm.")}},
		{name: "a path is no command", in: Input{Text: "/etc/hosts please"}, steps: []scripted.Step{text("Hm.")}},
		{name: "cut stream", steps: []scripted.Step{{Text: "half a", Cut: true}, text("Whole.")}},
		{name: "rate limit", steps: []scripted.Step{{Error: &scripted.Failure{Kind: model.KindRate, Status: 429, RetryAfter: 7 * time.Second, Message: "slow down"}}, text("Later.")}},
		{name: "server fails for good", steps: repeat(5, scripted.Step{Error: &scripted.Failure{Status: 500, Message: "it broke"}})},
		{name: "bad key", steps: []scripted.Step{{Error: &scripted.Failure{Kind: model.KindAuth, Status: 401, Message: "no"}}}},
		{name: "asked to wait too long", steps: []scripted.Step{{Error: &scripted.Failure{Kind: model.KindRate, Status: 429, RetryAfter: 5 * time.Minute, Message: "come back"}}}},
		{name: "silent model", steps: []scripted.Step{{Text: "Well", Hang: true}, text("Back again.")}},
		{name: "loop", steps: repeat(8, look)},
		{name: "max steps", steps: append(repeat(5, look), text("So far.")), in: Input{Budget: Budget{Steps: 3}}, change: func(d *Deps, _ *gate.Options) {}},
		{name: "max calls", steps: []scripted.Step{many("look", "bytes", "look"), text("Two of them.")}, in: Input{Budget: Budget{Calls: 2}}},
		{name: "max tokens", steps: []scripted.Step{{Calls: []scripted.Call{{Name: "look"}}, Usage: &scripted.Usage{Input: 900, Output: 9}}, {Calls: []scripted.Call{{Name: "bytes"}}, Usage: &scripted.Usage{Input: 300, Output: 9}}, text("Enough.")}, in: Input{Budget: Budget{InputTokens: 1000}}},
		{name: "max time", steps: []scripted.Step{called("hang", nil), text("It took too long.")}, in: Input{Budget: Budget{Time: time.Minute}}},
		{name: "answer cut by its bound", steps: []scripted.Step{{Text: "On and", Stop: model.StopLength}}},
		{name: "refused by the model", steps: []scripted.Step{{Text: "I will not.", Stop: model.StopRefused}}},
		{name: "cancel at the start", steps: []scripted.Step{text("Never.")}, cancel: func(e Event) bool { return e.Type == TurnStarted }},
		{name: "cancel in the text", steps: []scripted.Step{text("One two three")}, cancel: func(e Event) bool { return e.Type == TextDelta }},
		{name: "cancel before the gate", steps: []scripted.Step{look, text("Never.")}, cancel: func(e Event) bool { return e.Type == ToolRequested }},
		{name: "cancel in a tool", steps: []scripted.Step{many("hang", "look"), text("Never.")}, cancel: func(e Event) bool { return e.Type == ToolStarted && e.Call.Tool == "hang" }},
		{name: "cancel at a question", steps: []scripted.Step{called("send", nil), text("Never.")}, cancel: func(e Event) bool { return e.Type == ConfirmNeeded }, change: func(d *Deps, _ *gate.Options) { d.Confirmer = always(gate.Once) }},
		{name: "cancel in a retry", steps: []scripted.Step{{Cut: true}, text("Never.")}, cancel: func(e Event) bool { return e.Type == Retried }},
		{name: "empty request", in: Input{Text: " "}},
		{name: "request too large", in: Input{Text: strings.Repeat("a", MaxInput+1)}},
		{name: "script too short", steps: []scripted.Step{look}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, tt.steps, tt.change)
				in := tt.in
				if in.Text == "" {
					in.Text = "what is two and two"
				}
				if in.Origin == "" {
					in.Origin = gate.Interactive
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var events []Event
				for e, err := range f.Run(ctx, f.s, in) {
					events = append(events, e)
					if e.Type != TurnFinished && err != nil {
						t.Errorf("%s comes with %v", e.Type, err)
					}
					if tt.cancel != nil && tt.cancel(e) {
						cancel()
					}
				}
				checkStream(t, events)
				got := show(events)
				if len(in.Text) > 100 {
					got = strings.ReplaceAll(got, in.Text, "…")
				}
				golden(t, "events/"+strings.ReplaceAll(tt.name, " ", "_")+".txt", got)
			})
		})
	}
}
