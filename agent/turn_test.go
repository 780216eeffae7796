package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/race"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
	"github.com/google/go-cmp/cmp"
)

func TestStableBlocksAreTheSameBytesInEveryTurn(t *testing.T) {
	t.Parallel()
	var steps []scripted.Step
	for i := range 50 {
		if i%3 == 0 {
			steps = append(steps, called("skill", map[string]any{"name": "pdf"}))
		}
		if i%5 == 0 {
			steps = append(steps, called("note", map[string]any{"text": fmt.Sprint(i)}))
		}
		steps = append(steps, scripted.Step{Text: "ok"})
	}
	f := newFixture(t, steps, func(d *Deps, _ *gate.Options) {
		d.Confirmer, d.Project = always(gate.ForSession), "Run make test.\n"
	})
	for i := range 50 {
		text := fmt.Sprintf("request %d", i)
		if i%7 == 0 {
			text = "/briefly " + text
		}
		if _, err := f.run(t, t.Context(), Input{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	requests := f.model.Requests()
	first := requests[0].System
	if len(first) != 3 || !first[2].Cache || first[0].Cache || first[1].Cache {
		t.Fatalf("system blocks %+v", first)
	}
	if !strings.Contains(first[1].Text, "Run make test.") || !strings.Contains(first[2].Text, "pdf") {
		t.Error("a block is missing")
	}
	for i, r := range requests {
		if diff := cmp.Diff(first, r.System); diff != "" {
			t.Fatalf("request %d differs:\n%s", i, diff)
		}
	}
}

func TestTheTailStandsBeforeTheRequestAndNotInTheHistory(t *testing.T) {
	t.Parallel()
	f := newFixture(t, []scripted.Step{called("look", nil), {Text: "one"}, {Text: "two"}}, nil)
	for _, text := range []string{"/briefly first", "second"} {
		if _, err := f.run(t, t.Context(), Input{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	requests := f.model.Requests()
	head := requests[0].Messages[0].Text
	if !strings.Contains(head, `The user started the skill "briefly"`) || !strings.Contains(head, "Be brief.") || !strings.HasSuffix(head, "/briefly first") {
		t.Errorf("first request:\n%s", head)
	}
	var roles []string
	for _, m := range requests[2].Messages {
		roles = append(roles, string(m.Role))
	}
	if got := strings.Join(roles, " "); got != "user assistant tool assistant user" {
		t.Errorf("messages of the second turn: %s", got)
	}
	if got := requests[2].Messages[0].Text; got != "/briefly first" {
		t.Errorf("history holds %q", got)
	}
	if strings.Contains(requests[2].Messages[4].Text, "Be brief.") {
		t.Error("the turn's skill outlived its turn")
	}
	f.Forget("s")
	if f.history("s") != nil {
		t.Error("forget forgot nothing")
	}
}

func TestToolsShownFollowActiveSkills(t *testing.T) {
	t.Parallel()
	f := newFixture(t, []scripted.Step{{Text: "a"}, {Text: "b"}}, nil)
	for _, text := range []string{"first", "/narrow second"} {
		if _, err := f.run(t, t.Context(), Input{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	names := func(r model.Request) (out []string) {
		for _, tool := range r.Tools {
			out = append(out, tool.Name)
		}
		return out
	}
	requests := f.model.Requests()
	if got := names(requests[0]); slices.Contains(got, "deactivate_skill") || !slices.Contains(got, "note") {
		t.Errorf("without a skill: %v", got)
	}
	if got := names(requests[1]); !slices.Equal(got, []string{"skill", "look", "deactivate_skill"}) {
		t.Errorf("under a restricting skill: %v", got)
	}
}

func TestAQuestionShowsWhatWillRun(t *testing.T) {
	t.Parallel()
	var asked []Question
	f := newFixture(t, []scripted.Step{called("send", map[string]any{"text": "b"}), {Text: "ok"}}, func(d *Deps, _ *gate.Options) {
		d.Confirmer = person(func(_ context.Context, q Question) (gate.Answer, error) {
			asked = append(asked, q)
			return gate.Answer{Reply: gate.Once, ConfirmID: "c_forged", Session: "other"}, nil
		})
	})
	if _, err := f.run(t, t.Context(), Input{Text: "/pdf go", Principal: "user"}); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || string(asked[0].Call.Args) != `{"text":"b"}` || asked[0].Tool.Name != "send" || len(asked[0].Active) != 1 {
		t.Errorf("%+v", asked)
	}
	var verdicts []gate.Verdict
	for _, r := range f.rows.list {
		verdicts = append(verdicts, r.Verdict)
	}
	if !slices.Equal(verdicts, []gate.Verdict{gate.Ask, gate.Allow}) || len(f.rows.list[1].Skills) != 1 || f.rows.list[1].Principal != "user" {
		t.Errorf("rows %+v", f.rows.list)
	}
}

func TestAPersonWhoCannotAnswerIsARefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, []scripted.Step{called("send", nil), {Text: "ok"}}, func(d *Deps, _ *gate.Options) {
		d.Confirmer = person(func(context.Context, Question) (gate.Answer, error) {
			return gate.Answer{Reply: gate.Once}, errors.New("the terminal is gone")
		})
	})
	events, err := f.run(t, t.Context(), Input{Text: "go"})
	if err != nil || slices.ContainsFunc(events, func(e Event) bool { return e.Type == ToolStarted }) {
		t.Errorf("%v\n%s", err, show(events))
	}
}

func TestReadOnlyCallsRunSideBySideUpToEight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		slow := tool{toolset.Spec{Name: "slow", Tier: gate.ReadOnly, ReadOnly: true}, func(_ context.Context, c toolset.Call) (toolset.Result, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for {
				if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			time.Sleep(time.Duration(20-c.Step.Index) * time.Second) // the bubble's clock; later ones end first
			return toolset.Result{Text: fmt.Sprint(c.Step.Index)}, nil
		}}
		var step scripted.Step
		for range 11 {
			step.Calls = append(step.Calls, scripted.Call{Name: "slow"})
		}
		f := newFixture(t, []scripted.Step{step, {Text: "ok"}}, func(d *Deps, _ *gate.Options) { d.Tools = []toolset.Tool{slow} })
		if _, err := f.run(t, t.Context(), Input{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		if most.Load() != maxParallel {
			t.Errorf("%d at once", most.Load())
		}
		for i, r := range f.model.Requests()[1].Messages[2].Results {
			if r.Text != fmt.Sprint(i) {
				t.Errorf("result %d is %q", i, r.Text)
			}
		}
	})
}

func TestAToolThatIgnoresCancellationIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		rude := tool{toolset.Spec{Name: "rude", Tier: gate.ReadOnly}, func(context.Context, toolset.Call) (toolset.Result, error) {
			<-release
			return toolset.Result{Text: "too late"}, nil
		}}
		f := newFixture(t, []scripted.Step{called("rude", nil)}, func(d *Deps, _ *gate.Options) { d.Tools = []toolset.Tool{rude} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		from := time.Now()
		events, _ := f.run(t, ctx, Input{Text: "go"})
		if took := time.Since(from); took != time.Second+grace {
			t.Errorf("took %s", took)
		}
		if end(events).Stop != StopCancelled {
			t.Error(show(events))
		}
		close(release)
	})
}

func TestAConsumerThatStopsReadingEndsTheTurn(t *testing.T) {
	t.Parallel()
	for _, at := range []EventType{TurnStarted, Routed, ModelStarted, TextDelta, ToolRequested, GateDecided, ConfirmNeeded, ConfirmAnswered, ToolStarted, ToolFinished} {
		f := newFixture(t, []scripted.Step{{Text: "well", Calls: []scripted.Call{{Name: "send"}}}, {Text: "ok"}}, func(d *Deps, _ *gate.Options) {
			d.Confirmer = always(gate.Once)
		})
		for e := range f.Run(t.Context(), f.s, Input{Text: "/briefly go", Origin: gate.Interactive}) {
			if e.Type == at {
				break
			}
		}
		if len(f.s.Layers().Turn()) != 0 {
			t.Errorf("%s: the turn layer is still there", at)
		}
		turn, err := f.s.Begin(t.Context(), session.TurnInput{})
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		turn.End()
	}
}

func TestAPanicOfTheConsumerPassesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, []scripted.Step{{Text: "ok"}}, nil)
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("recovered %v", p)
			}
		}()
		for e := range f.Run(t.Context(), f.s, Input{Text: "/briefly go"}) {
			if e.Type == ModelStarted {
				panic("mine")
			}
		}
	}()
	if len(f.s.Layers().Turn()) != 0 {
		t.Error("the turn layer is still there")
	}
}

type brokenPlanner struct{}

func (brokenPlanner) Plan(context.Context, PlanInput) (Plan, error) { panic("no plan") }

func TestAPanicOfOursEndsTheTurnWithAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, func(d *Deps, _ *gate.Options) { d.Planner = brokenPlanner{} })
	events, err := f.run(t, t.Context(), Input{Text: "go"})
	if err == nil || end(events).Stop != StopError || end(events).Code != "panic" {
		t.Errorf("%v %+v", err, end(events))
	}
}

func TestASecondTurnOfASessionIsBusy(t *testing.T) {
	t.Parallel()
	f := newFixture(t, []scripted.Step{{Text: "ok"}}, nil)
	for e := range f.Run(t.Context(), f.s, Input{Text: "go"}) {
		if e.Type != ModelStarted {
			continue
		}
		second, err := f.run2(t, Input{Text: "too"})
		if !errors.Is(err, session.ErrBusy) || len(second) != 1 || second[0].End.Code != "session_busy" {
			t.Errorf("%v %s", err, show(second))
		}
	}
}

// run2 runs without looking at the layers, which are another turn's.
func (f *fixture) run2(t testing.TB, in Input) (events []Event, last error) {
	t.Helper()
	for e, err := range f.Run(t.Context(), f.s, in) {
		events, last = append(events, e), err
	}
	checkStream(t, events)
	return events, last
}

func TestPrepareShowsThePlanWithoutAModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, func(d *Deps, _ *gate.Options) { d.Model, d.Project = nil, "notes" })
	p, err := f.Prepare(t.Context(), f.s, Input{Text: "/narrow look around", Origin: gate.Interactive})
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, b := range p.Blocks {
		blocks = append(blocks, b.Name)
		if b.Tokens == 0 {
			t.Errorf("block %s has no count", b.Name)
		}
	}
	if got := strings.Join(blocks, " "); got != "identity agents_md catalog active_session" {
		t.Errorf("blocks %s", got)
	}
	if len(p.Skills) != 1 || p.Skills[0].By != "user" || len(p.Active) != 1 || p.Snapshot == nil || p.Trace == "" {
		t.Errorf("%+v", p.Skills)
	}
	if len(p.Tools) != 1 || p.Tools[0].Name != "look" || p.Tools[0].Decision.Code != gate.CodeReadOnly {
		t.Errorf("tools %+v", p.Tools)
	}
	if len(f.rows.list) != 0 {
		t.Error("asking left a row")
	}
	events, err := f.run(t, t.Context(), Input{Text: "go"})
	if !errors.Is(err, ErrNoModel) || end(events).Stop != StopOffline {
		t.Errorf("run without a model: %v", err)
	}
}

func TestPrepareStartsTheClearWinnerAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"please fill pdf forms":    {"pdf router"},
		"/pfd please fill pdf":     {"pfd user command_unknown", "pdf router"},
		"/briefly please fill pdf": {"briefly user"},
		"how is the weather":       nil,
	} {
		f := newFixture(t, nil, nil)
		p, err := f.Prepare(t.Context(), f.s, Input{Text: text, Origin: gate.Interactive})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range p.Skills {
			got = append(got, strings.TrimSpace(e.Name+" "+e.By+" "+e.Code))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestCallsGetIDsAndNamesThatAProviderTakesBack(t *testing.T) {
	t.Parallel()
	same := scripted.Step{Calls: []scripted.Call{{ID: "x", Name: "look"}, {ID: "x", Name: "no such:tool " + strings.Repeat("é", 99)}}}
	f := newFixture(t, []scripted.Step{same, same, {Text: "ok"}}, nil)
	events, err := f.run(t, t.Context(), Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range f.model.Requests()[2].Messages {
		for i, c := range m.Calls {
			if seen[c.ID] || c.ID == "" {
				t.Errorf("id %q stands twice", c.ID)
			}
			seen[c.ID] = true
			if i == 1 && (len(c.Name) != longestName || strings.ContainsAny(c.Name, " :é")) {
				t.Errorf("name %q", c.Name)
			}
		}
	}
	for _, e := range events {
		if e.Type == ToolFinished && e.Call.IsError && len(e.Call.Output) > 400 {
			t.Errorf("%d bytes about a name", len(e.Call.Output))
		}
	}
}

func TestLongAndBinaryOutputIsCutAndTold(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 40<<10)
	var kept string
	f := newFixture(t, []scripted.Step{called("long", nil), called("raw", nil), {Text: "ok"}}, func(d *Deps, _ *gate.Options) {
		d.Tools = []toolset.Tool{
			tool{toolset.Spec{Name: "long", Tier: gate.ReadOnly}, say(long)},
			tool{toolset.Spec{Name: "raw", Tier: gate.ReadOnly}, say("a\x00b")},
		}
		d.Spill = func(_ context.Context, _, text string) (string, error) { kept = text; return "/tmp/out.txt", nil }
	})
	if _, err := f.run(t, t.Context(), Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	messages := f.model.Requests()[2].Messages
	first, second := messages[2].Results[0].Text, messages[4].Results[0].Text
	if len(first) > maxOutput+200 || !strings.Contains(first, "all of it is in /tmp/out.txt") || kept != long {
		t.Errorf("%d bytes: %q", len(first), first[len(first)*3/4-100:len(first)*3/4+100])
	}
	if !strings.HasPrefix(second, "[binary output: 3 bytes, sha256 ") {
		t.Errorf("got %q", second)
	}
}

// TestAnySchedule runs turns of random steps, faults, answers and cancellations: each
// has one turn_finished, at its end, and leaves nothing behind.
func TestAnySchedule(t *testing.T) {
	t.Parallel()
	names := []string{"look", "note", "send", "swap", "boom", "fail", "bytes", "skill", "nothing", "hang"}
	seeds := uint64(10_000)
	if race.Enabled {
		seeds = 500
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		var steps []scripted.Step
		for range 1 + r.IntN(6) {
			s := scripted.Step{Text: "some words", Cut: r.IntN(8) == 0, Hang: r.IntN(20) == 0}
			if r.IntN(10) == 0 {
				s.Error = &scripted.Failure{Status: 500, Kind: []model.Kind{model.KindServer, model.KindAuth, model.KindGarbage}[r.IntN(3)]}
			}
			for range r.IntN(5) {
				s.Calls = append(s.Calls, scripted.Call{Name: names[r.IntN(len(names))], Input: map[string]any{"name": "pdf"}})
			}
			steps = append(steps, s)
		}
		cancelAt, leaveAt := r.IntN(60), r.IntN(120)
		reply := []gate.Reply{gate.Once, gate.ForSession, gate.No, "nonsense"}[r.IntN(4)]
		synctest.Test(t, func(t *testing.T) {
			k := &kept{}
			f := newFixture(t, steps, func(d *Deps, _ *gate.Options) { d.Confirmer, d.Jitter, d.Keeper = always(reply), r.Float64, k })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n, finished, last := 0, 0, EventType("")
			in := Input{Text: "/briefly go", Origin: []gate.Origin{gate.Interactive, gate.Cron}[r.IntN(2)], Budget: Budget{Calls: 1 + r.IntN(9), Time: time.Duration(1+r.IntN(300)) * time.Second}}
			for e := range f.Run(ctx, f.s, in) {
				n++
				if last = e.Type; last == TurnFinished {
					finished++
				}
				if n == cancelAt {
					cancel()
				}
				if n == leaveAt && last != TurnFinished {
					finished, last = 1, TurnFinished
					break
				}
			}
			if finished != 1 || last != TurnFinished {
				t.Errorf("seed %d: %d ends, the last event is %s", seed, finished, last)
			}
			if len(f.s.Layers().Turn()) != 0 {
				t.Errorf("seed %d: the turn layer is still there", seed)
			}
			if former := k.read(t); former.Cut || former.Turns != 1 {
				t.Errorf("seed %d: the transcript has %d turns, cut %v", seed, former.Turns, former.Cut)
			}
			for _, row := range f.rows.list {
				if row.Origin != gate.Interactive && row.Verdict != gate.Deny && row.Tier > gate.ReadOnly {
					t.Errorf("seed %d: %+v", seed, row)
				}
			}
		})
	}
}

func TestSessionsRunSideBySide(t *testing.T) {
	t.Parallel()
	f := newFixture(t, repeat(64, scripted.Step{Text: "ok"}), nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			g := newFixture(t, nil, nil)
			for range 8 {
				for _, err := range f.Run(t.Context(), g.s, Input{Text: fmt.Sprint("go ", i)}) {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestReadAgentsMD(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if text, err := ReadAgentsMD(dir); text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	path := filepath.Join(dir, "AGENTS.md")
	if err := os.WriteFile(path, []byte(strings.Repeat("long ", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := ReadAgentsMD(dir)
	if err != nil || len(text) != maxProject+1 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	block := projectText(text)
	if !strings.Contains(block, "cut: only the first 32768 bytes") || block != projectText(text) {
		t.Error("the block does not tell that it was cut, or is not the same twice")
	}
	_ = os.Remove(path)
	_ = os.Symlink("/etc/passwd", path)
	if text, err := ReadAgentsMD(dir); err == nil || text != "" {
		t.Error("a link led out of the project")
	}
}

func TestSkeletonIsShort(t *testing.T) {
	t.Parallel()
	if n := len(skeleton); n > 3000 {
		t.Errorf("%d bytes: it stands in every request", n)
	}
	if !json.Valid([]byte(errorText("a", "b <c>", ""))) || !strings.Contains(errorText("a", "b <c>", ""), "<c>") {
		t.Error("an error text is no plain JSON")
	}
}
