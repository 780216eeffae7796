package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/anthropic"
	"github.com/deftskills/deft/agent/model/openai"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/modeltest"
	"github.com/deftskills/deft/toolset"
)

// wires are the formats that providers speak.
var wires = []struct {
	name string
	open func(s *modeltest.Server) model.Model
}{
	{"messages", func(s *modeltest.Server) model.Model {
		return anthropic.New(anthropic.Options{Name: "test-model", Key: modeltest.Key, BaseURL: s.Anthropic()})
	}},
	{"responses", func(s *modeltest.Server) model.Model {
		return openai.New(openai.Options{Provider: "openai", Name: "test-model", Key: modeltest.Key, BaseURL: s.OpenAI(), API: openai.Responses})
	}},
	{"completions", func(s *modeltest.Server) model.Model {
		return openai.New(openai.Options{Provider: "openai-compatible", Name: "test-model", Key: modeltest.Key, BaseURL: s.OpenAI(), API: openai.Chat})
	}},
}

// modelFault is what a server does instead of one step, and what becomes of the turn.
type modelFault struct {
	name  string
	steps []modeltest.Step
	stop  Stop
	asked int    // requests beyond those of a turn without a fault
	waits string // of the retries, "" = not looked at
	in    string // a result or the end has this
}

// modelFaults are the faults; after most of them the step comes as it should, whole.
func modelFaults(whole modeltest.Step, pause time.Duration) []modelFault {
	fault := func(s modeltest.Step) []modeltest.Step { return []modeltest.Step{s, whole} }
	rate := modeltest.Step{Status: 429, Message: "slow down"}
	later := rate
	later.RetryAfter = fmt.Sprint(pause.Seconds())
	never := rate
	never.RetryAfter = "61"
	many := []modeltest.Step{}
	for range 5 {
		many = append(many, modeltest.Step{Status: 500, Message: "it broke"})
	}
	cut := modeltest.Step{Text: "some wo", Cut: true, Calls: []modeltest.Call{{Name: "count", Raw: `{"text":"a"}`}}}
	with := func(c modeltest.Call) []modeltest.Step { return []modeltest.Step{{Calls: []modeltest.Call{c}}, whole} }
	huge := with(modeltest.Call{Name: "count", Raw: `{"text":"` + strings.Repeat("x", 2<<20) + `"}`})
	return []modelFault{
		{name: "429", steps: fault(rate), stop: StopEnd, asked: 1, waits: "0s"},
		{name: "429 with Retry-After", steps: fault(later), stop: StopEnd, asked: 1, waits: pause.String()},
		{name: "429 beyond the bound", steps: []modeltest.Step{never}, stop: StopModel},
		{name: "500", steps: fault(modeltest.Step{Status: 500, Message: "it broke"}), stop: StopEnd, asked: 1, waits: "0s"},
		{name: "500 for good", steps: many, stop: StopModel, asked: 4},
		{name: "401", steps: []modeltest.Step{{Status: 401, Message: "no"}}, stop: StopModel},
		{name: "cut inside a token", steps: fault(cut), stop: StopEnd, asked: 1},
		{name: "garbage", steps: fault(modeltest.Step{Text: "some wo", Garbage: true}), stop: StopEnd, asked: 1},
		{name: "invalid JSON", steps: with(modeltest.Call{Name: "count", Raw: `{"text": "of`}), stop: StopEnd, asked: 1, in: "bad_args"},
		{name: "unknown tool", steps: with(modeltest.Call{Name: "cuont"}), stop: StopEnd, asked: 1, in: "unknown_tool"},
		{name: "2 MiB of arguments", steps: huge, stop: StopEnd, asked: 1, in: "bad_args"},
	}
}

// Whatever a server does at the first, the third or the last step, the turn has one end
// with its reason, no tool runs twice, each call has one result, and what may succeed
// later is asked for at most four times more.
func TestR06ModelFaults(t *testing.T) {
	t.Parallel()
	const length = 5
	for _, wire := range wires {
		for _, at := range []int{1, 3, length} {
			whole := modeltest.Step{Text: "Counting.", Calls: []modeltest.Call{{Name: "count", Input: map[string]any{"text": "a"}}}}
			if at == length {
				whole = modeltest.Step{Text: "Done."}
			}
			for _, tt := range modelFaults(whole, 20*time.Millisecond) {
				t.Run(fmt.Sprintf("%s %s at step %d", wire.name, tt.name, at), func(t *testing.T) {
					t.Parallel()
					modelFaultAt(t, wire.open, at, length, tt)
				})
			}
		}
	}
}

func modelFaultAt(t *testing.T, open func(s *modeltest.Server) model.Model, at, length int, tt modelFault) {
	var steps []modeltest.Step
	for i := 1; i <= length; i++ {
		switch {
		case i == at:
			steps = append(steps, tt.steps...)
		case i == length:
			steps = append(steps, modeltest.Step{Text: "Done."})
		default:
			// Texts differ, so that no loop is seen.
			steps = append(steps, modeltest.Step{Calls: []modeltest.Call{{Name: "count", Input: map[string]any{"text": fmt.Sprint(i)}}}})
		}
	}
	for i := range steps {
		steps[i].Usage = modeltest.Usage{Input: 10, Output: 10} // else what is long is counted
	}
	s := modeltest.NewServer(steps...)
	defer s.Close()
	var runs atomic.Int32
	k := &kept{}
	f := newFixture(t, nil, func(d *Deps, _ *gate.Options) {
		d.Model, d.Keeper = open(s), k
		counting := testTools()[1].(tool)
		counting.spec.Name = "count"
		counting.run = func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Result{Text: fmt.Sprint(runs.Add(1))}, nil
		}
		d.Tools = append(d.Tools, counting)
	})
	events, err := f.run(t, t.Context(), Input{Text: "count"})
	stopped := end(events)
	if stopped.Stop != tt.stop || (err != nil) != (tt.stop == StopModel) {
		t.Errorf("stop %s, want %s: %v", stopped.Stop, tt.stop, err)
	}
	want := length + tt.asked
	if tt.stop != StopEnd {
		want = at + tt.asked
	}
	if got := len(s.Requests()); got != want {
		t.Errorf("%d requests, want %d", got, want)
	}
	tools := length - 1
	if tt.stop != StopEnd {
		tools = at - 1
	}
	if got := int(runs.Load()); got != tools {
		t.Errorf("%d tools ran, want %d", got, tools)
	}
	told := ""
	for _, e := range events {
		if e.Type == ToolFinished {
			told += e.Call.Output
		}
		if e.Type == Retried && tt.waits != "" && e.Retry.Wait.String() != tt.waits {
			t.Errorf("waits %s, want %s", e.Retry.Wait, tt.waits)
		}
	}
	if !strings.Contains(told, tt.in) {
		t.Errorf("results have no %s: %.300s", tt.in, told)
	}
	k.read(t)
}

// A server that hangs at any step ends the turn with its time; the last words have time of
// their own.
func TestR06HangingModel(t *testing.T) {
	t.Parallel()
	for _, wire := range wires {
		for _, at := range []int{1, 3} {
			for _, step := range []modeltest.Step{{Hang: true}, {Text: "Well", Stall: true}} {
				t.Run(fmt.Sprintf("%s at step %d %t", wire.name, at, step.Hang), func(t *testing.T) {
					t.Parallel()
					var steps []modeltest.Step
					for range at - 1 {
						steps = append(steps, modeltest.Step{Calls: []modeltest.Call{{Name: "look"}}})
					}
					s := modeltest.NewServer(append(steps, step, modeltest.Step{Text: "So far."})...)
					defer s.Close()
					k := &kept{}
					f := newFixture(t, nil, func(d *Deps, _ *gate.Options) { d.Model, d.Keeper = wire.open(s), k })
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					go func() { // the time is over once the server hangs
						for len(s.Requests()) < at {
							<-s.Asked()
						}
						cancel()
					}()
					events, err := f.run(t, ctx, Input{Text: "look"})
					if stop := end(events).Stop; stop != StopCancelled || err != nil {
						t.Errorf("stop %s, %v", stop, err)
					}
					if former := k.read(t); former.Cut {
						t.Error("the turn has no end")
					}
				})
			}
		}
	}
}

// The wait before a retry doubles, has full jitter and is bounded.
func TestR06Backoff(t *testing.T) {
	t.Parallel()
	for _, jitter := range []float64{0, 0.5, 0.999} {
		f := newFixture(t, nil, func(d *Deps, _ *gate.Options) { d.Jitter = func() float64 { return jitter } })
		u := &turn{r: f.Runner}
		for attempt := 1; attempt <= 6; attempt++ {
			wait, again := u.backoff(attempt, &model.Error{Kind: model.KindServer})
			if again != (attempt <= 4) {
				t.Errorf("attempt %d: again %v", attempt, again)
			}
			if most := time.Duration(jitter * float64(500*time.Millisecond<<(attempt-1))); again && wait != most {
				t.Errorf("attempt %d: %s, want %s", attempt, wait, most)
			}
		}
		for after, want := range map[time.Duration]bool{time.Second: true, time.Minute: true, time.Minute + 1: false} {
			if wait, again := u.backoff(1, &model.Error{Kind: model.KindRate, RetryAfter: after}); again != want || again && wait != after {
				t.Errorf("Retry-After %s: %s, %v", after, wait, again)
			}
		}
		for _, err := range []error{errors.New("x"), &model.Error{Kind: model.KindAuth}, &model.Error{Kind: model.KindRequest}} {
			if _, again := u.backoff(1, err); again {
				t.Errorf("%v is tried again", err)
			}
		}
	}
}

// A turn that has used four fifths of its time is told once, as of any other budget.
func TestTheTimeOfATurnIsWarnedOf(t *testing.T) {
	t.Parallel()
	a := account{limit: Budget{Time: 100 * time.Second}, pool: &pool{limit: DefaultBudget(gate.Interactive)}}
	if _, yes := a.warning(79 * time.Second); yes {
		t.Error("too early")
	}
	if s, yes := a.warning(80 * time.Second); !yes || s != (Spent{"seconds", 80, 100}) {
		t.Errorf("%v, %v", s, yes)
	}
	if _, yes := a.warning(90 * time.Second); yes {
		t.Error("told twice")
	}
}
