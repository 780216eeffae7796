package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// archive keeps rows; err makes the Keep of that number and all after it fail.
type archive struct {
	mu     sync.Mutex
	kept   []Happened
	err    error
	failAt int
}

func (a *archive) Keep(ctx context.Context, h Happened) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil && len(a.kept) >= a.failAt {
		return a.err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	a.kept = append(a.kept, h)
	return nil
}

// told are the rows in a few words each, in the order in which they were written.
func (a *archive) told() (out []string) {
	for _, h := range a.kept {
		for _, r := range h.Skills {
			out = append(out, fmt.Sprint("skill ", r.Action, " ", r.Actor, " ", r.After))
		}
		for _, r := range h.Tools {
			out = append(out, strings.TrimSpace(fmt.Sprint("tool ", r.Tool, " ", r.Status, " ", r.Code)))
		}
		if h.Turn != nil {
			out = append(out, strings.TrimSpace(fmt.Sprint("turn ", h.Turn.Status, " ", h.Turn.Stop, " ", h.Turn.Error)))
		}
	}
	return out
}

func recordedFixture(t *testing.T, steps []scripted.Step, change func(*Deps, *gate.Options)) (*fixture, *archive) {
	t.Helper()
	a := &archive{}
	return newFixture(t, steps, func(d *Deps, o *gate.Options) {
		d.Record = a
		if change != nil {
			change(d, o)
		}
	}), a
}

func TestTurnLeavesARowForAllThatHappened(t *testing.T) {
	t.Parallel()
	step := func(name string, args any) scripted.Step { return called(name, args) }
	f, a := recordedFixture(t, []scripted.Step{
		step("skill", map[string]any{"name": "briefly"}), step("look", map[string]any{"text": "x"}), step("send", map[string]any{"text": "b"}),
		step("none", nil), step("fail", nil), step("boom", nil), {Text: "done"},
	}, func(d *Deps, _ *gate.Options) { d.Confirmer = always(gate.No) })
	events, err := f.run(t, t.Context(), Input{Text: "/pdf fill pdf", Origin: gate.Interactive, Principal: "user"})
	if err != nil || end(events).Stop != StopEnd {
		t.Fatalf("%+v, %v", end(events), err)
	}
	pdf, briefly := a.kept[0].Skills[0].After[0], ""
	for _, h := range a.kept {
		for _, r := range h.Skills {
			if len(r.After) == 2 {
				briefly = r.After[1]
			}
		}
	}
	want := []string{
		"skill preload user [" + pdf + "]", "skill route host [" + pdf + "]", "turn running",
		"skill activate model [" + pdf + " " + briefly + "]", "tool skill ok",
		"tool look ok", "tool send denied denied", "tool none denied unknown_tool", "tool fail error internal", "tool boom error panic",
		"skill clear host [" + pdf + "]", "turn done end",
	}
	if diff := cmp.Diff(want, a.told()); diff != "" {
		t.Error(diff)
	}
	for _, h := range a.kept {
		for _, r := range h.Skills {
			if r.Trace != events[0].Trace || r.Session != "s" || r.Turn != "1" || r.Origin != string(gate.Interactive) || r.Time.IsZero() {
				t.Errorf("%+v", r)
			}
			for _, id := range r.After {
				if r.Versions[id] == "" {
					t.Errorf("%s %s has no version: %v", r.Action, id, r.Versions)
				}
			}
			if r.Action == "route" && (r.CatalogHash == "" || r.Fit == "" || !strings.Contains(string(r.Top), `"score":`)) {
				t.Errorf("%+v", r)
			}
		}
		for _, r := range h.Tools {
			if r.Trace != events[0].Trace || r.Call == "" || r.Step == 0 || r.OutputDigest == "" || r.BytesOut == 0 || (r.Status == "denied") != r.Started.IsZero() {
				t.Errorf("%+v", r)
			}
			if r.Tool == "look" && (r.CallHash == "" || string(r.Args) != `{"text":"x"}`) {
				t.Errorf("%+v", r)
			}
		}
	}
}

func TestRowsOfATurnHoldNoSecret(t *testing.T) {
	t.Parallel()
	token := "ghp_" + strings.Repeat("Zz9", 12)
	f, a := recordedFixture(t, []scripted.Step{
		called("look", map[string]any{"text": token}), called("look", map[string]any{"text": "hunter22 plain"}), called("look", map[string]any{"text": "x"}), {Text: "ok"},
	}, func(d *Deps, _ *gate.Options) {
		d.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter22", "[secret:PASS]") }
	})
	if _, err := f.run(t, t.Context(), Input{Text: "look", Principal: "user"}); err != nil {
		t.Fatal(err)
	}
	var args []string
	var secret []bool
	for _, h := range a.kept {
		for _, r := range h.Tools {
			args, secret = append(args, string(r.Args)), append(secret, r.Secret)
		}
	}
	if want := []string{`{"text":"[redacted:github]"}`, `{"text":"[redacted:PASS] plain"}`, `{"text":"x"}`}; !slices.Equal(args, want) || !slices.Equal(secret, []bool{true, true, false}) {
		t.Errorf("%q %v", args, secret)
	}
}

func TestRowsThatCannotBeKeptAreToldAtTheEnd(t *testing.T) {
	t.Parallel()
	full := errors.New("disk is full")
	for failAt := range 3 {
		f, a := recordedFixture(t, []scripted.Step{called("look", nil), {Text: "the answer"}}, nil)
		a.err, a.failAt = full, failAt
		events, err := f.run(t, t.Context(), Input{Text: "look", Principal: "user"})
		if e := end(events); !errors.Is(err, full) || !errors.Is(err, ErrPersist) || e.Stop != StopEnd || e.Code != "persist_failed" || e.Answer != "the answer" {
			t.Errorf("write %d: %+v, %v", failAt, e, err)
		}
		if last := events[len(events)-1]; last.Type != TurnFinished {
			t.Errorf("write %d: the last event is %s", failAt, last.Type)
		}
	}
}

func TestTurnThatIsCutShortHasItsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []scripted.Step
		want  string
	}{
		"by the person": {[]scripted.Step{called("hang", nil)}, "turn cancelled cancelled"},
		"by a fault":    {[]scripted.Step{{Error: &scripted.Failure{Status: 400}}}, "turn failed model_error model_bad_request"},
	} {
		f, a := recordedFixture(t, c.steps, nil)
		ctx, cancel := context.WithCancel(t.Context())
		for e := range f.Run(ctx, f.s, Input{Text: "look", Principal: "user", Origin: gate.Interactive}) {
			if e.Type == ToolStarted {
				cancel()
			}
		}
		cancel()
		if told := a.told(); len(told) == 0 || !strings.HasPrefix(told[len(told)-1], c.want) {
			t.Errorf("%s: %q", name, told)
		}
	}
}

// A look at what a turn would be leaves nothing.
func TestPlanIsNotRecorded(t *testing.T) {
	t.Parallel()
	f, a := recordedFixture(t, nil, nil)
	if _, err := f.Prepare(t.Context(), f.s, Input{Text: "/pdf x", Origin: gate.Interactive}); err != nil {
		t.Fatal(err)
	}
	if len(a.kept) != 0 {
		t.Errorf("%q", a.told())
	}
}

func TestTurnOfAHostIsRecordedToo(t *testing.T) {
	t.Parallel()
	f, a := recordedFixture(t, nil, nil)
	own, err := f.Begin(t.Context(), f.s, Input{Text: "look", Origin: gate.Interactive, Principal: "user"})
	if err != nil {
		t.Fatal(err)
	}
	own.Call(model.Call{ID: "1", Name: "look", Input: []byte(`{}`)})
	own.End()
	own.End()
	if want := []string{"skill route host []", "turn running", "tool look ok", "turn done end"}; !slices.Equal(a.told(), want) || own.Kept() != nil {
		t.Errorf("%q, %v", a.told(), own.Kept())
	}
}

// startEach reports whether each row begins as wanted.
func startEach(rows, want []string) bool {
	return slices.EqualFunc(rows, want, strings.HasPrefix)
}

func TestSignalAndItsTraceStandInEveryRow(t *testing.T) {
	t.Parallel()
	f, a := recordedFixture(t, []scripted.Step{called("look", nil), {Text: "ok"}}, nil)
	in := Input{
		Text: "see", Principal: "job:btc", Signal: &route.Signal{Source: "cron", ID: "btc_drop", TraceID: "mine_1234"},
		Skills: []Preload{{Name: "pdf", By: "signal"}}, Stages: route.Stages(route.Decide),
	}
	if _, err := f.run(t, t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if want := []string{"skill preload signal", "skill route host", "turn running", "tool look ok", "turn done end"}; !startEach(a.told(), want) {
		t.Errorf("rows %q", a.told())
	}
	for _, h := range a.kept {
		if h.Turn != nil && (h.Turn.Trace != "mine_1234" || h.Turn.ID != "mine_1234" || h.Turn.Signal != "btc_drop" || h.Turn.Trigger != "cron" || h.Turn.Definition != "job:btc") {
			t.Errorf("%+v", h.Turn)
		}
		for _, r := range h.Skills {
			if r.Trace != "mine_1234" || r.Signal != "btc_drop" || r.Action == "preload" && r.Actor != string(session.ActorSignal) {
				t.Errorf("%+v", r)
			}
		}
		for _, r := range h.Tools {
			if r.Trace != "mine_1234" {
				t.Errorf("%+v", r)
			}
		}
	}
}

func TestRunThatTookTooLongAndReadsOfResourcesAreNoted(t *testing.T) {
	t.Parallel()
	late := tool{toolset.Spec{Name: "late", Tier: gate.ReadOnly, ReadOnly: true}, func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Result{Text: "cut", IsError: true, Code: "command_failed", Structured: toolset.RunResult{Exit: -1, Reason: "timeout", Level: "files"}}, nil
	}}
	page := tool{toolset.Spec{Name: "page", Tier: gate.ReadOnly, ReadOnly: true}, func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Result{Text: "a page", Meta: toolset.Meta{ReadOf: "pdf", Read: "a.md"}}, nil
	}}
	f, a := recordedFixture(t, []scripted.Step{called("late", nil), called("page", nil), {Text: "ok"}}, func(d *Deps, _ *gate.Options) { d.Tools = []toolset.Tool{late, page} })
	if _, err := f.run(t, t.Context(), Input{Text: "go", Principal: "user"}); err != nil {
		t.Fatal(err)
	}
	var read, timeout bool
	for _, h := range a.kept {
		for _, r := range h.Tools {
			timeout = timeout || r.Tool == "late" && r.Status == "timeout" && r.Sandbox == "files" && r.Exit != nil && *r.Exit == -1 && r.Duration >= time.Duration(0)
		}
		for _, r := range h.Skills {
			read = read || r.Action == "resource_read" && string(r.Detail) == `{"address":"pdf","path":"a.md"}`
		}
	}
	if !read || !timeout {
		t.Errorf("read %v, timeout %v: %q", read, timeout, a.told())
	}
}
