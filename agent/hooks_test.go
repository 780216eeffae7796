package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/gate"
	"pgregory.net/rapid"
)

// hooksOf registers the hooks of one skill, as its header would have them.
func hooksOf(t testing.TB, owner string, list ...any) *command.HookSet {
	t.Helper()
	s := &command.HookSet{}
	addHooks(t, s, owner, list...)
	return s
}

func addHooks(t testing.TB, s *command.HookSet, owner string, list ...any) {
	t.Helper()
	hooks, diags := command.ParseHooks(list, "")
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	for i := range hooks {
		if owner != "host" {
			hooks[i].Skill = command.SkillRef{Name: owner, Address: owner}
		}
	}
	if _, err := s.Register(owner, "session", hooks); err != nil {
		t.Fatal(err)
	}
}

func hook(event, kind, value string, more ...any) map[string]any {
	m := map[string]any{"event": event, "type": kind, "value": value}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

// withHooks gives a Runner hooks, and commands that print what by says.
func withHooks(s *command.HookSet, by func(h command.Registered, stdin string) command.Result) func(*Deps, *gate.Options) {
	return func(d *Deps, _ *gate.Options) {
		d.Hooks = s
		d.Confirmer = always(gate.Once)
		if by != nil {
			d.HookCommand = func(_ context.Context, h command.Registered, stdin []byte) (command.Result, error) {
				return by(h, string(stdin)), nil
			}
		}
	}
}

// did is what the hooks of a turn came to.
func did(events []Event) string {
	var out []string
	for _, e := range events {
		if e.Type == HookRan {
			out = append(out, e.Hook.Event+" "+e.Hook.Did)
		}
	}
	return strings.Join(out, "; ")
}

func outputs(events []Event) (out []string) {
	for _, e := range events {
		if e.Type == ToolFinished {
			out = append(out, e.Call.Code+"|"+e.Call.Output)
		}
	}
	return out
}

func lastUser(r model.Request) string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == model.User {
			return m.Text
		}
	}
	return ""
}

func TestHooksAddToTheRequest(t *testing.T) {
	t.Parallel()
	s := hooksOf(t, "x", hook("SessionStart", "append_prompt", "Hello."), hook("UserPromptSubmit", "append_prompt", "Cite files."),
		hook("UserPromptSubmit", "append_prompt", "Once.", "once", true), hook("UserPromptSubmit", "notify", "for a person"))
	f := newFixture(t, []scripted.Step{{Text: "a"}, {Text: "b"}}, withHooks(s, nil))
	for i, want := range []string{"one\n\nHello.\n\nCite files.\n\nOnce.", "two\n\nCite files."} {
		events, err := f.run(t, t.Context(), Input{Text: []string{"one", "two"}[i]})
		if err != nil {
			t.Fatal(err)
		}
		got := lastUser(f.model.Requests()[i])
		if !strings.HasSuffix(got, "\n\n"+want) && got != want {
			t.Errorf("request %d ends %q", i+1, got)
		}
		if i == 0 && did(events) != "SessionStart append; UserPromptSubmit append; UserPromptSubmit append; UserPromptSubmit notify" {
			t.Error(did(events))
		}
	}
	if first := f.model.Requests()[1].Messages[0].Text; first != "one\n\nHello.\n\nCite files.\n\nOnce." {
		t.Errorf("the conversation has %q", first)
	}
}

func TestAHookRefusesTheRequestBeforeAnySkillStarts(t *testing.T) {
	t.Parallel()
	s := hooksOf(t, "x", hook("UserPromptSubmit", "deny", "not on Sundays"))
	f := newFixture(t, []scripted.Step{{Text: "a"}}, withHooks(s, nil))
	events, err := f.run(t, t.Context(), Input{Text: "/pdf go"})
	var h *HookError
	if !errors.As(err, &h) || h.Code != "hook_deny" || end(events).Stop != StopRefused || end(events).Code != "hook_deny" {
		t.Errorf("%v, %+v", err, end(events))
	}
	if len(f.s.Active()) != 0 || len(f.model.Requests()) != 0 {
		t.Error("a skill was started, or the model asked")
	}
	if _, err := f.Begin(t.Context(), f.s, Input{Text: "go", Origin: gate.Interactive}); !errors.As(err, &h) {
		t.Errorf("Begin: %v", err)
	}
	if _, err := f.Prepare(t.Context(), f.s, Input{Text: "go", Origin: gate.Interactive}); !errors.As(err, &h) {
		t.Errorf("Prepare: %v", err)
	}
	// The session is free again.
	s.Unregister(s.List()[0].ID)
	if _, err := f.run(t, t.Context(), Input{Text: "go"}); err != nil {
		t.Error(err)
	}
}

func TestHooksBeforeACall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		hook map[string]any
		tool string
		want string // code of the result, or its text
		row  string // last row: verdict and code
	}{
		{"deny", hook("PreToolUse", "deny", "no"), "look", "hook_deny", "deny hook_deny"},
		{"another tool", hook("PreToolUse", "deny", "no", "tools", []any{"send"}), "look", "|a view", "allow read_only"},
		{"this tool", hook("PreToolUse", "deny", "no", "tools", []any{"look"}), "look", "hook_deny", "deny hook_deny"},
		{"ask", hook("PreToolUse", "ask", "sure?"), "look", "|a view", "allow answered"},
		{"ask beside the gate", hook("PreToolUse", "ask", "sure?"), "send", "|sent", "allow answered"},
		{"notify", hook("PreToolUse", "notify", "look here"), "look", "|a view", "allow read_only"},
		{"no such tool", hook("PreToolUse", "ask", "sure?"), "nothing", "unknown_tool", "deny unknown_tool"},
		{"refuses to ask", hook("PermissionRequest", "deny", "do not ask"), "send", "hook_deny", "deny hook_deny"},
		{"not asked", hook("PermissionRequest", "deny", "do not ask"), "look", "|a view", "allow read_only"},
		{"after", hook("PostToolUse", "append_result", "seen"), "look", "|a view\n\nseen", "allow read_only"},
		{"after a failure", hook("PostToolUseFailure", "append_result", "pity"), "fail", "The tool failed: a wire is loose\"}}\n\npity", "allow read_only"},
		{"not after a failure", hook("PostToolUse", "append_result", "seen"), "fail", "internal|", "allow read_only"},
	} {
		f := newFixture(t, []scripted.Step{called(tt.tool, nil), {Text: "ok"}}, withHooks(hooksOf(t, "x", tt.hook), nil))
		events, err := f.run(t, t.Context(), Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		got := outputs(events)
		last := f.rows.list[len(f.rows.list)-1]
		if len(got) != 1 || !strings.Contains(got[0], tt.want) || string(last.Verdict)+" "+last.Code != tt.row {
			t.Errorf("%s: %q, row %s %s", tt.name, got, last.Verdict, last.Code)
		}
		if res := f.model.Requests()[1].Messages; !strings.HasSuffix(got[0], res[len(res)-1].Results[0].Text) {
			t.Errorf("%s: the model got %q", tt.name, res[len(res)-1].Results[0].Text)
		}
	}
}

func TestAQuestionOfAHookNeedsAPerson(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		origin gate.Origin
		change func(*Deps, *gate.Options)
		want   string
	}{
		{"nobody is there", gate.Interactive, func(d *Deps, o *gate.Options) { d.Confirmer, o.Answerable = nil, false }, "no_answerer"},
		{"autonomous", gate.Cron, nil, "no_grant"},
		{"the person says no", gate.Interactive, func(d *Deps, _ *gate.Options) { d.Confirmer = always(gate.No) }, "denied"},
		{"asked about nobody", gate.Interactive, func(_ *Deps, o *gate.Options) { o.Mode = gate.DontAsk }, "dont_ask"},
	} {
		f := newFixture(t, []scripted.Step{called("look", nil), {Text: "ok"}}, func(d *Deps, o *gate.Options) {
			withHooks(hooksOf(t, "x", hook("PreToolUse", "ask", "sure?")), nil)(d, o)
			if tt.change != nil {
				tt.change(d, o)
			}
		})
		events, err := f.run(t, t.Context(), Input{Text: "go", Origin: tt.origin})
		if got := outputs(events); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], tt.want+"|") {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}

func rewrites(to string) command.Result {
	return command.Result{Reason: sandbox.Exited, Stdout: []byte(`{"input":` + to + `}`)}
}

func TestArgumentsThatHooksChangeAreCheckedFromTheStart(t *testing.T) {
	t.Parallel()
	var asked []Question
	run := func(tool, args string, by func(n int, stdin string) command.Result) ([]string, *fixture) {
		n := 0
		asked = nil
		set := hooksOf(t, "x", map[string]any{"event": "PreToolUse", "type": "command", "command": "true"})
		f := newFixture(t, []scripted.Step{{Calls: []scripted.Call{{Name: tool, Raw: json.RawMessage(args)}}}, {Text: "ok"}}, func(d *Deps, o *gate.Options) {
			withHooks(set, func(_ command.Registered, stdin string) command.Result { n++; return by(n, stdin) })(d, o)
			d.Confirmer = person(func(_ context.Context, q Question) (gate.Answer, error) {
				asked = append(asked, q)
				return gate.Answer{Reply: gate.Once}, nil
			})
		})
		events, err := f.run(t, t.Context(), Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		return outputs(events), f
	}
	// What the hook makes of it is what a person sees and what runs.
	out, f := run("send", `{"text":"a"}`, func(int, string) command.Result { return rewrites(`{"text":"b"}`) })
	if len(asked) != 1 || string(asked[0].Call.Args) != `{"text":"b"}` || !strings.HasSuffix(out[0], "|sent") {
		t.Errorf("%q, asked %+v", out, asked)
	}
	if row := f.rows.list[len(f.rows.list)-2]; row.Tool != "send" || row.Code != gate.CodeHookAsk {
		t.Errorf("%+v", row)
	}
	// Arguments that break the schema are the gate's to refuse.
	if out, _ := run("look", `{}`, func(int, string) command.Result { return rewrites(`{"nothing":1}`) }); !strings.HasPrefix(out[0], "bad_args|") {
		t.Errorf("%q", out)
	}
	// A hook does not mend a call that the gate refuses: it does not even run.
	ran := 0
	// Where a tool runs is no argument, whoever writes it.
	for _, key := range []string{"environment", "backend"} {
		out, _ := run("look", `{}`, func(int, string) command.Result { return rewrites(`{"` + key + `":"local"}`) })
		if !strings.HasPrefix(out[0], "bad_args|") {
			t.Errorf("a hook sets %s: %q", key, out[0])
		}
	}
	if out, _ := run("look", `{"nothing":1}`, func(int, string) command.Result { ran++; return rewrites(`{}`) }); !strings.HasPrefix(out[0], "bad_args|") || ran != 0 {
		t.Errorf("%q after %d runs", out, ran)
	}
	// The same again is no change; another each time is a loop.
	for rounds, want := range map[int]string{1: "|a view", 3: "|a view", 4: "hook_loop|", 100: "hook_loop|"} {
		ran = 0
		out, _ := run("look", `{}`, func(n int, _ string) command.Result {
			ran++
			return rewrites(fmt.Sprintf(`{"text":"%d"}`, min(n, rounds)))
		})
		if !strings.HasPrefix(out[0], want) || ran > 4 {
			t.Errorf("%d changes: %q after %d runs", rounds, out, ran)
		}
	}
}

func TestACommandOfAHookPassesTheGate(t *testing.T) {
	t.Parallel()
	before := func(text string) map[string]any {
		return map[string]any{"event": "PreToolUse", "type": "command", "command": text}
	}
	said := func(command.Registered, string) command.Result { return command.Result{Stdout: []byte("fine")} }
	run := func(text string, reply person, by func(command.Registered, string) command.Result) (string, *fixture) {
		f := newFixture(t, []scripted.Step{called("look", nil), {Text: "ok"}}, func(d *Deps, o *gate.Options) {
			withHooks(hooksOf(t, "x", before(text)), by)(d, o)
			d.Confirmer = reply
		})
		events, err := f.run(t, t.Context(), Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		return outputs(events)[0], f
	}
	// What is proved to read alone is not asked about.
	out, f := run("echo hi", nil, said)
	if row := f.rows.list[0]; out != "|a view" || row.Via != "hook" || row.Tool != "bash" || row.Verdict != gate.Allow || row.Code != gate.CodeReadOnly {
		t.Errorf("%q, %+v", out, row)
	}
	// Anything else is, on behalf of the skill, and a refusal refuses the call.
	var q Question
	ask := func(r gate.Reply) person {
		return func(_ context.Context, got Question) (gate.Answer, error) { q = got; return gate.Answer{Reply: r}, nil }
	}
	if out, _ := run("make check", ask(gate.Once), said); out != "|a view" || q.For.Name != "x" || string(q.Call.Args) != `{"command":"make check"}` {
		t.Errorf("%q, %+v", out, q)
	}
	if out, _ := run("make check", ask(gate.No), func(command.Registered, string) command.Result {
		t.Error("it ran")
		return command.Result{}
	}); !strings.HasPrefix(out, "hook_failed|") {
		t.Errorf("%q", out)
	}
	if out, _ := run("echo hi", nil, nil); !strings.HasPrefix(out, "hook_failed|") {
		t.Errorf("nobody runs commands: %q", out)
	}
}

func TestAHookMayWantTwoMoreSteps(t *testing.T) {
	t.Parallel()
	s := hooksOf(t, "x", hook("TaskCompleted", "append_prompt", "Run the tests."))
	f := newFixture(t, repeat(5, scripted.Step{Text: "done"}), withHooks(s, nil))
	events, err := f.run(t, t.Context(), Input{Text: "go"})
	if err != nil || end(events).Steps != 3 || end(events).Stop != StopEnd || did(events) != "TaskCompleted append; TaskCompleted append; TaskCompleted append" {
		t.Errorf("%+v, %s, %v", end(events), did(events), err)
	}
	if got := lastUser(f.model.Requests()[2]); got != "Run the tests." {
		t.Errorf("the last request ends %q", got)
	}
}

func TestHooksOfTheEndRunOnceWhereATurnHasBegun(t *testing.T) {
	t.Parallel()
	s := hooksOf(t, "x", hook("SessionEnd", "notify", "bye"), map[string]any{"event": "SessionEnd", "type": "command", "command": "echo bye"})
	var lines []string
	f := newFixture(t, []scripted.Step{{Text: "a"}}, withHooks(s, func(_ command.Registered, stdin string) command.Result {
		lines = append(lines, stdin)
		return command.Result{Stdout: []byte("x")}
	}))
	var told []Event
	leave := func() { f.Leave(t.Context(), f.s, func(e Event) { told = append(told, e) }) }
	leave()
	if len(told) != 0 {
		t.Errorf("before any turn: %+v", told)
	}
	if _, err := f.run(t, t.Context(), Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	leave()
	leave()
	if did(told) != "SessionEnd notify; SessionEnd nothing" || len(lines) != 1 || !strings.Contains(lines[0], `"event":"SessionEnd","session_id":"s"`) {
		t.Errorf("%s, %q", did(told), lines)
	}
}

func TestNobodyIsAskedAfterTheLastTurn(t *testing.T) {
	t.Parallel()
	s := hooksOf(t, "x", map[string]any{"event": "SessionEnd", "type": "command", "command": "make clean"})
	f := newFixture(t, []scripted.Step{{Text: "a"}}, func(d *Deps, o *gate.Options) {
		withHooks(s, func(command.Registered, string) command.Result { t.Error("it ran"); return command.Result{} })(d, o)
		d.Confirmer = person(func(context.Context, Question) (gate.Answer, error) {
			t.Error("somebody was asked")
			return gate.Answer{Reply: gate.Once}, nil
		})
	})
	if _, err := f.run(t, t.Context(), Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	var told []Event
	f.Leave(t.Context(), f.s, func(e Event) { told = append(told, e) })
	if did(told) != "SessionEnd failed" {
		t.Errorf("%+v", told)
	}
}

func TestNoHookRunsForALookAtATurn(t *testing.T) {
	t.Parallel()
	s := hooksOf(t, "x", hook("SessionStart", "append_prompt", "A"), hook("UserPromptSubmit", "deny", "no", "once", true))
	f := newFixture(t, nil, withHooks(s, nil))
	p, err := f.Prepare(t.Context(), f.s, Input{Text: "go", Origin: gate.Interactive, NoHooks: true})
	if err != nil || len(p.Hooks) != 0 || p.Request != "go" || len(s.List()) != 2 {
		t.Errorf("%+v, %q, %v", p.Hooks, p.Request, err)
	}
	if _, err := f.Prepare(t.Context(), f.s, Input{Text: "go", Origin: gate.Interactive}); err == nil || s.Has("UserPromptSubmit") {
		t.Error("the next turn has no hooks")
	}
}

func TestHostsWithALoopOfTheirOwnHaveHooksToo(t *testing.T) {
	t.Parallel()
	s := hooksOf(t, "x", hook("UserPromptSubmit", "append_prompt", "Cite."), hook("PreToolUse", "deny", "no", "tools", []any{"note"}),
		hook("PostToolUse", "append_result", "seen"))
	f := newFixture(t, nil, withHooks(s, nil))
	own, err := f.Begin(t.Context(), f.s, Input{Text: "go", Origin: gate.Interactive})
	if err != nil {
		t.Fatal(err)
	}
	defer own.End()
	if _, user := own.Prompt(); !strings.HasSuffix(user, "go\n\nCite.") {
		t.Errorf("%q", user)
	}
	res := own.Call(model.Call{ID: "1", Name: "note", Input: json.RawMessage("{}")}, model.Call{ID: "2", Name: "look", Input: json.RawMessage("{}")})
	if !res[0].IsError || !strings.Contains(res[0].Text, "hook_deny") || res[1].Text != "a view\n\nseen" {
		t.Errorf("%+v", res)
	}
	if did(own.Events) != "UserPromptSubmit append; PreToolUse deny; PostToolUse append" {
		t.Error(did(own.Events))
	}
}

func TestAHookThatHangsEndsWithItsTimeOrTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := hooksOf(t, "x", map[string]any{"event": "PreToolUse", "type": "command", "command": "echo hi"})
		f := newFixture(t, []scripted.Step{called("look", nil), {Text: "ok"}, called("look", nil), {Text: "ended"}}, func(d *Deps, o *gate.Options) {
			d.Hooks = set
			d.HookCommand = func(ctx context.Context, _ command.Registered, _ []byte) (command.Result, error) {
				<-ctx.Done()
				return command.Result{}, ctx.Err()
			}
		})
		from := time.Now()
		events, err := f.run(t, t.Context(), Input{Text: "go"})
		if took := time.Since(from); err != nil || took > 10*time.Second || !strings.HasPrefix(outputs(events)[0], "hook_failed|") {
			t.Errorf("%q after %s: %v", outputs(events), took, err)
		}
		from = time.Now()
		events, _ = f.run(t, t.Context(), Input{Text: "go", Budget: Budget{Time: time.Second}})
		if took := time.Since(from); took > 2*time.Second || end(events).Stop != StopTime {
			t.Errorf("%+v after %s", end(events), took)
		}
	})
}

// strictness orders the verdicts.
var strictness = map[gate.Verdict]int{gate.Allow: 0, gate.Ask: 1, gate.Deny: 2}

// Whatever hooks are and whatever they print, a call is never judged milder than the gate
// judges it without them.
func TestNoHookTurnsARefusalOrAQuestionIntoAnAllow(t *testing.T) {
	t.Parallel()
	outputs := []string{
		"", "text", `{"decision":"allow"}`, `{"decision":"deny","reason":"r"}`, `{"decision":"ask"}`, `{"input":{}}`, `{"input":{"text":"x"}}`,
		`{"input":{"nothing":1}}`, `{"append":"a","input":{"text":"y"}}`, `{"input":{"command":"echo hi"}}`, `{"decision":"ask","input":{"text":"z"}}`, `{`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		tool := rapid.SampledFrom([]string{"look", "note", "send", "swap", "nothing", "boom"}).Draw(rt, "tool")
		args := rapid.SampledFrom([]string{`{}`, `{"text":"x"}`, `{"nothing":1}`, `[]`}).Draw(rt, "args")
		origin := rapid.SampledFrom([]gate.Origin{gate.Interactive, gate.Cron}).Draw(rt, "origin")
		mode := rapid.SampledFrom([]gate.Mode{gate.Default, gate.Plan, gate.DontAsk}).Draw(rt, "mode")
		auto := rapid.SampledFrom([]gate.Tier{0, gate.ConfirmOnce, gate.AlwaysConfirm}).Draw(rt, "auto")
		answerable := rapid.Bool().Draw(rt, "answerable")
		var list []any
		for range rapid.IntRange(1, 3).Draw(rt, "hooks") {
			event := rapid.SampledFrom([]string{"PreToolUse", "PermissionRequest", "PostToolUse"}).Draw(rt, "event")
			kind := rapid.SampledFrom([]string{"command", "notify"}).Draw(rt, "type")
			list = append(list, map[string]any{"event": event, "type": kind, "value": "echo hi"})
		}
		printed := rapid.SliceOfN(rapid.SampledFrom(outputs), 1, 6).Draw(rt, "printed")
		codes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 1, 2}), 1, 6).Draw(rt, "codes")
		n := 0
		setup := func(set *command.HookSet) *fixture {
			return newFixture(t, []scripted.Step{{Calls: []scripted.Call{{Name: tool, Raw: json.RawMessage(args)}}}, {Text: "ok"}}, func(d *Deps, o *gate.Options) {
				withHooks(set, func(command.Registered, string) command.Result {
					n++
					return command.Result{Exit: codes[n%len(codes)], Stdout: []byte(printed[n%len(printed)])}
				})(d, o)
				d.Confirmer = always(gate.No)
				o.Mode, o.Auto, o.Answerable = mode, auto, answerable
			})
		}
		verdict := func(f *fixture) (v gate.Verdict) {
			for e := range f.Run(t.Context(), f.s, Input{Text: "go", Origin: origin}) {
				if e.Type == GateDecided && e.Call.Tool == tool {
					v = e.Call.Verdict
				}
			}
			return v
		}
		without := verdict(setup(nil))
		with := verdict(setup(hooksOf(t, "x", list...)))
		if strictness[with] < strictness[without] {
			rt.Fatalf("%s without hooks, %s with them", without, with)
		}
	})
}
