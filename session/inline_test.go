package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// stage is a Runs that starts nothing, a Door that notes its questions, and a record.
type stage struct {
	mu      sync.Mutex
	ran     []string
	fail    map[string]int // exit codes
	before  func(context.Context, string)
	doors   []gate.ActiveSkill
	calls   [][]command.Call
	verdict command.Verdict
	events  []CommandEvent
	broken  error
}

func (s *stage) Able(context.Context, sandbox.Level) error { return nil }

func (s *stage) Run(ctx context.Context, q command.Request) (command.Result, error) {
	text := q.Script
	if len(q.Argv) > 0 {
		text = strings.Join(q.Argv, "|")
	}
	s.mu.Lock()
	s.ran = append(s.ran, text)
	s.mu.Unlock()
	if s.before != nil {
		s.before(ctx, text)
	}
	if ctx.Err() != nil {
		return command.Result{Exit: -1, Reason: sandbox.Cancelled}, nil
	}
	return command.Result{Stdout: []byte("<" + text + ">\n"), Exit: s.fail[text], Reason: sandbox.Exited, Level: sandbox.Files}, nil
}

func (s *stage) Decide(_ context.Context, loading gate.ActiveSkill, calls []command.Call) ([]command.Decision, error) {
	s.doors, s.calls = append(s.doors, loading), append(s.calls, calls)
	out := make([]command.Decision, len(calls))
	for i := range out {
		out[i] = command.Decision{Verdict: s.verdict, Rule: "rule", Reason: "reason"}
	}
	return out, nil
}

// staged is a fixture whose texts may run commands.
func staged(t testing.TB, change func(*Options), defs ...def) (*fixture, *stage) {
	t.Helper()
	s := &stage{fail: map[string]int{}, verdict: command.Permit}
	f := newFixture(t, func(o *Options) {
		o.Commands = Commands{Host: command.Policy{Mode: command.Allow}, Runs: s, Dir: "/src/project"}
		o.Commands.Audit = func(_ context.Context, e CommandEvent) error {
			s.events = append(s.events, e)
			return s.broken
		}
		if change != nil {
			change(o)
		}
	}, defs...)
	return f, s
}

func (f *fixture) open(s *stage) *Turn {
	f.t.Helper()
	turn, err := f.Begin(f.t.Context(), TurnInput{Door: s})
	if err != nil {
		f.t.Fatal(err)
	}
	return turn
}

func TestCommandsOfATextRunBeforeItIsGiven(t *testing.T) {
	t.Parallel()
	d := def{name: "x", text: "At ${PROJECT_DIR}: !`log $0` and $0.\n```\n!`no`\n```\n!`two`"}
	d.meta.Arguments = []skill.Argument{{Name: "who"}}
	f, s := staged(t, nil, d)
	res := load(t, f.open(s), "x", "it's $0")
	if got, want := body(res.Text), "At /src/project: <log 'it'\\''s'> and it's.\n```\n!`no`\n```\n<two>"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if len(s.ran) != 2 || s.ran[1] != "two" || !strings.HasPrefix(s.ran[0], "log ") {
		t.Errorf("ran %q", s.ran)
	}
	if len(s.calls) != 1 || len(s.calls[0]) != 2 || s.calls[0][1].Line != 9 || s.calls[0][0].Skill.Digest == "" {
		t.Errorf("questions %+v", s.calls)
	}
	if strings.Contains(res.Text, "ARGUMENTS:") {
		t.Error("arguments that a placeholder took follow the text")
	}
	if len(s.events) != 2 || s.events[0].Outcome.Written != "log $0" || s.events[0].Hash == s.events[1].Hash || s.events[0].Address != "x" || s.events[0].Turn != 1 {
		t.Errorf("record %+v", s.events)
	}
	if got := f.Active()[0].Commands; len(got) != 2 || got[0].Line != 5 || !got[0].Ran || got[0].Rule != "rule" {
		t.Errorf("activation %+v", got)
	}
}

func TestAnArgumentInACommandIsPlaced(t *testing.T) {
	t.Parallel()
	f, s := staged(t, nil, def{name: "x", text: "!`log $ARGUMENTS`"})
	res := load(t, f.open(s), "x", "a b")
	if strings.Contains(res.Text, "ARGUMENTS:") || len(s.ran) != 1 || !f.Active()[0].placeholders {
		t.Errorf("ran %q: %s", s.ran, res.Text)
	}
}

func TestCommandsThatMayNotRunStayAndTheLoadSaysWhyOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		trust   source.Trust
		granted bool
		change  func(*Options)
		why     string
	}{
		{source.Trusted, true, nil, ""},
		{source.Workspace, true, nil, ""},
		{source.Workspace, false, nil, "untrusted skill"},
		{source.Untrusted, false, nil, "untrusted skill"},
		{source.Trusted, true, func(o *Options) { o.Commands.Host = command.Policy{} }, "turned off"},
		{source.Trusted, true, func(o *Options) { o.Commands.Dir = "" }, "no working directory"},
		{source.Trusted, true, func(o *Options) { o.Commands = Commands{} }, "turned off"},
	} {
		f, s := staged(t, func(o *Options) {
			o.Granted = func(r *registry.Record) bool { return tt.granted }
			if tt.change != nil {
				tt.change(o)
			}
		}, def{name: "x", text: "!`echo a` !`echo b`", trust: tt.trust})
		res := load(t, f.open(s), "x")
		note := "\n2 inline commands were not run: " + tt.why + "\n"
		if tt.why == "" {
			if len(s.ran) != 2 || strings.Contains(res.Text, "not run") {
				t.Errorf("%s: ran %q: %s", tt.trust, s.ran, res.Text)
			}
			continue
		}
		if len(s.ran)+len(s.calls) > 0 || strings.Count(res.Text, "inline command") != 1 || !strings.Contains(res.Text, note) || body(res.Text) != "!`echo a` !`echo b`" {
			t.Errorf("%s, %s: ran %q, asked %d: %s", tt.trust, tt.why, s.ran, len(s.calls), res.Text)
		}
		told := slices.ContainsFunc(res.Loaded[0].Diagnostics, func(d skill.Diagnostic) bool {
			return d.Code == "untrusted_effect_dropped" && strings.HasPrefix(d.Message, "inline commands")
		})
		if told != (tt.why == command.OffUntrusted) {
			t.Errorf("%s: diagnostics %+v", tt.why, res.Loaded[0].Diagnostics)
		}
	}
}

func TestDialectsWithoutInlineCommandsLeaveThem(t *testing.T) {
	t.Parallel()
	for _, d := range []skill.Dialect{skill.MiniMax, skill.Minara, skill.Mastra, skill.AgentSkills, skill.Codex} {
		f, s := staged(t, func(o *Options) { o.Dialect = d }, def{name: "x", text: "!`echo a`"})
		if res := load(t, f.open(s), "x"); len(s.ran)+len(s.calls) > 0 || strings.Contains(res.Text, "inline command") {
			t.Errorf("%s: %s", d, res.Text)
		}
	}
}

func TestATextInTheContextRunsNothingAgain(t *testing.T) {
	t.Parallel()
	f, s := staged(t, nil, def{name: "x", text: "!`a`"}, def{name: "y", text: "!`b $ARGUMENTS`"}, def{name: "z", text: "z"})
	turn := f.open(s)
	first := set(t, turn, "x").Loaded[0].Text
	load(t, turn, "y")
	load(t, turn, "y")
	if load(t, turn, "y", "other"); !slices.Equal(s.ran, []string{"a", "b ''", "b 'other'"}) {
		t.Errorf("ran %q", s.ran)
	}
	if res := set(t, turn, "x", "z"); len(s.ran) != 3 || res.Loaded[0].Text != first || len(res.Loaded[0].Commands) != 1 {
		t.Errorf("a member that stays: ran %q, %q", s.ran, res.Loaded[0].Text)
	}
}

func TestATextWhoseCommandsWereHeldBackIsLoadedAnewForAPerson(t *testing.T) {
	t.Parallel()
	granted := false
	f, s := staged(t, func(o *Options) { o.Granted = func(*registry.Record) bool { return granted } }, def{name: "x", text: "!`a`", trust: source.Workspace})
	turn := f.open(s)
	load(t, turn, "x")
	if again := load(t, turn, "x").Text; len(s.ran) > 0 || !strings.Contains(again, "is already loaded") {
		t.Errorf("ran %q: %s", s.ran, again)
	}
	granted, s.verdict = true, command.Ask
	if text := load(t, turn, "x").Text; body(text) != "(unavailable: needs approval)" {
		t.Error(text)
	}
	s.verdict = command.Permit
	if text := load(t, turn, "x").Text; len(s.ran) > 0 || !strings.Contains(text, "is already loaded") {
		t.Errorf("the model is asked again: ran %q: %s", s.ran, text)
	}
	res := must(turn.Activate(t.Context(), Request{Names: []string{"x"}, Actor: ActorUser}))
	if !slices.Equal(s.ran, []string{"a"}) || body(res.Text) != "<a>" || len(f.Active()) != 1 {
		t.Errorf("ran %q: %s", s.ran, res.Text)
	}
	must(turn.Activate(t.Context(), Request{Names: []string{"x"}, Actor: ActorUser}))
	if len(s.ran) != 1 {
		t.Errorf("ran %q", s.ran)
	}
}

func TestAResumedSessionRunsNothing(t *testing.T) {
	t.Parallel()
	f, s := staged(t, nil, def{name: "x", text: "!`a`"})
	turn := f.open(s)
	load(t, turn, "x")
	turn.End()
	o := f.o
	again, report, err := Resume(t.Context(), f.State(), o)
	if err != nil || len(report.Restored) != 1 || len(s.ran) != 1 {
		t.Fatalf("%v, %+v, ran %q", err, report, s.ran)
	}
	if text := again.Active()[0].Text; !strings.Contains(text, "1 inline command was not run: resumed session") {
		t.Error(text)
	}
}

func TestACommandThatEndsTheLoadLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	d := def{name: "x", text: "!`good`\n!`bad`\n!`later`"}
	d.meta.OnError = "abort"
	f, s := staged(t, nil, d)
	s.fail["bad"] = 3
	before := f.state.Load()
	res := load(t, f.open(s), "x")
	if len(res.Loaded) > 0 || len(res.Refused) != 1 || res.Refused[0].Code != "inline_failed" || !strings.Contains(res.Text, "line 6: exit 3") {
		t.Fatalf("%+v", res)
	}
	if f.state.Load() != before || !slices.Equal(s.ran, []string{"good", "bad"}) || len(res.Refused[0].Commands) != 3 || len(s.events) != 3 {
		t.Errorf("ran %q, %+v, record %+v", s.ran, res.Refused[0].Commands, s.events)
	}
}

func TestALoadThatIsCancelledOrNotRecordedChangesNothing(t *testing.T) {
	t.Parallel()
	f, s := staged(t, nil, def{name: "x", text: "!`a` !`b`"})
	before := f.state.Load()
	turn := f.open(s)
	ctx, cancel := context.WithCancel(t.Context())
	s.before = func(context.Context, string) { cancel() }
	if _, err := turn.Activate(ctx, Request{Names: []string{"x"}, Actor: ActorUser}); !errors.Is(err, context.Canceled) || len(s.ran) != 1 || f.state.Load() != before {
		t.Errorf("cancelled: %v, ran %q", err, s.ran)
	}
	s.before, s.broken = nil, errors.New("disk full")
	var told *Error
	if _, err := turn.Activate(t.Context(), Request{Names: []string{"x"}, Actor: ActorUser}); !errors.As(err, &told) || told.Code != "audit_write" || f.state.Load() != before {
		t.Errorf("not recorded: %v", err)
	}
}

func TestWhatASkillApprovesInAdvanceCountsForItsTextOnlyWhereItIsGranted(t *testing.T) {
	t.Parallel()
	d := def{name: "x", text: "!`a`"}
	d.meta.AllowedTools = skill.ToolList{Declared: true, Entries: []string{"Bash(a:*)"}}
	d.meta.DisallowedTools = skill.ToolList{Declared: true, Entries: []string{"Write"}}
	for _, tt := range []struct {
		dialect skill.Dialect
		mode    gate.ListMode
		allow   int
	}{{skill.Deft, gate.Keep, 0}, {skill.ClaudeCode, gate.PreApprove, 1}, {skill.Blade, gate.Keep, 0}} {
		f, s := staged(t, func(o *Options) { o.Dialect = tt.dialect }, d)
		load(t, f.open(s), "x")
		if got := s.doors[0]; got.Name != "x" || got.Mode != tt.mode || len(got.Allow.Entries) != tt.allow || !slices.Equal(got.Deny, []string{"Write"}) || !got.Granted {
			t.Errorf("%s: %+v", tt.dialect, got)
		}
	}
}

func TestWithoutADoorEveryCommandWouldHaveToBeAskedAbout(t *testing.T) {
	t.Parallel()
	f, s := staged(t, nil, def{name: "x", text: "!`a`"})
	if text := load(t, f.begin(""), "x").Text; body(text) != "(unavailable: needs approval)" || len(s.ran) > 0 {
		t.Error(text)
	}
}

func TestTheShellFieldIsFoundWhereverItStands(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"shell: false": false, "shell: true": true, "shell: [git log]": true, "metadata:\n  deft:\n    shell: false": false,
		"metadata:\n  deft.shell: false": false, "shell: true\nmetadata:\n  deft:\n    shell: false": false,
		"shell: 42": false, "shell: {}": true,
	} {
		s := skill.Parse([]byte(fmt.Sprintf("---\nname: x\ndescription: y\n%s\n---\n", header)), skill.ParseOptions{})
		decl, _ := command.ParseShell(shellField(s), skill.Deft)
		if !s.Meta.HasShell || decl.Enabled != want {
			t.Errorf("%s: there %v, on %v", header, s.Meta.HasShell, decl.Enabled)
		}
	}
	side := skill.Parse([]byte("---\nname: x\ndescription: y\nshell: true\n---\n"), skill.ParseOptions{
		Sidecars: map[string][]byte{skill.SidecarConfig: []byte(`{"shell": false}`)},
	})
	if decl, diags := command.ParseShell(shellField(side), skill.Deft); decl.Enabled || len(diags) != 1 {
		t.Errorf("beside the header: %+v %+v", decl, diags)
	}
}

func TestCommandsOfASkillGivenInCodeNeedTheHostsSwitch(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		src := source.Data([]source.Definition{{Name: "x", Description: "y", Content: "!`echo a`", AllowInlineShell: allowed}}, source.DataOptions{})
		reg, err := registry.Open(t.Context(), registry.Config{Sources: []source.Source{src}})
		if err != nil {
			t.Fatal(err)
		}
		f, s := staged(t, func(o *Options) { o.Bodies = nil })
		f.snap = reg.Snapshot()
		text := load(t, f.open(s), "x").Text
		if got := len(s.ran) == 1 && strings.Contains(text, "<echo a>"); got != allowed || !allowed && !strings.Contains(text, "1 inline command was not run: data skill") {
			t.Errorf("allowed %v: ran %q: %s", allowed, s.ran, text)
		}
	}
}

func TestASourcesOwnPolicyCounts(t *testing.T) {
	t.Parallel()
	for policy, why := range map[source.Policy]string{source.PolicyOfKind: "", source.PolicyAllow: "", source.PolicyInherit: "", source.PolicyDeny: "source policy"} {
		f, s := staged(t, nil, def{name: "x", text: "!`echo a`"})
		rec, err := f.snap.Lookup("x")
		if err != nil {
			t.Fatal(err)
		}
		rec.Source.Shell = policy
		text := load(t, f.open(s), "x").Text
		if (len(s.ran) == 1) != (why == "") || why != "" && !strings.Contains(text, "1 inline command was not run: "+why) {
			t.Errorf("%s: ran %q: %s", policy, s.ran, text)
		}
	}
}
