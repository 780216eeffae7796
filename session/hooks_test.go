package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// force is a registrar that keeps a log of what it is asked.
type force struct {
	command.HookSet
	log    []string
	panics string // the value of a hook at whose end it panics
	broken error
}

func (f *force) Register(owner string, scope Scope, hooks []command.Hook) ([]string, error) {
	if f.broken != nil {
		return nil, f.broken
	}
	f.log = append(f.log, fmt.Sprintf("+%s %s %d", owner, scope, len(hooks)))
	return f.HookSet.Register(owner, string(scope), hooks)
}

func (f *force) Unregister(ids ...string) {
	for _, h := range f.List() {
		if slices.Contains(ids, h.ID) && h.Value == f.panics {
			panic("unregister")
		}
	}
	f.HookSet.Unregister(ids...)
}

// values are those of the hooks in force.
func (f *force) values() string {
	var out []string
	for _, h := range f.List() {
		out = append(out, h.Value+h.Command)
	}
	return strings.Join(out, " ")
}

const hookList = "[{event: PreToolUse, type: deny, value: D}, {event: PreToolUse, type: command, command: C}, {event: UserPromptSubmit, type: append_prompt, value: P, once: true}]"

// hooked is a fixture whose skills have these hooks in their headers.
func hooked(t *testing.T, change func(*Options), hooks map[string]string, defs ...def) (*fixture, *force) {
	t.Helper()
	in := &force{panics: "-"}
	for i := range defs {
		defs[i].meta.HasHooks = true
	}
	f := newFixture(t, func(o *Options) {
		o.Hooks, o.HookCommands = in, true
		if change != nil {
			change(o)
		}
	}, defs...)
	for _, d := range defs {
		text := fmt.Sprintf("---\nname: %s\ndescription: D.\nhooks: %s\n---\nText.\n", d.name, hooks[d.name])
		b := f.bodies[d.name]
		b.Skill = skill.Parse([]byte(text), skill.ParseOptions{Path: "SKILL.md"})
		f.bodies[d.name] = b
	}
	return f, in
}

func TestHooksAreInForceAsLongAsTheirSkill(t *testing.T) {
	t.Parallel()
	turnScope := skill.Meta{Scope: "turn"}
	f, in := hooked(t, nil, map[string]string{
		"stay":  "[{event: PreToolUse, type: deny, value: S}]",
		"brief": "[{event: PreToolUse, type: deny, value: B}, {event: PreToolUse, type: ask, value: A}]",
	}, def{name: "stay"}, def{name: "brief", meta: turnScope})
	turn := f.begin("go")
	load(t, turn, "stay")
	load(t, turn, "brief")
	load(t, turn, "brief")
	if got := in.values(); got != "S B A" {
		t.Errorf("after loading: %q", got)
	}
	before := f.Layers()
	turn.End()
	if got := in.values(); got != "S" || len(f.Layers().Session()) != len(before.Session()) {
		t.Errorf("after the turn: %q", got)
	}
	turn = f.begin("again")
	load(t, turn, "brief")
	for _, name := range []string{"brief", "stay"} {
		if done, err := turn.Deactivate(name); !done || err != nil {
			t.Error(done, err)
		}
	}
	if got := in.values(); got != "" {
		t.Errorf("after the end of both: %q", got)
	}
	load(t, turn, "stay")
	turn.End()
	_ = f.Close()
	if got := in.values(); got != "" {
		t.Errorf("after Close: %q", got)
	}
	if got := strings.Join(in.log, ";"); got != "+skill:stay session 1;+skill:brief turn 2;+skill:brief turn 2;+skill:brief turn 2;+skill:stay session 1" {
		t.Errorf("registered: %s", got)
	}
}

func TestOneSkillStartedTwiceHasItsHooksOnceAndOnceAgain(t *testing.T) {
	t.Parallel()
	f, in := hooked(t, nil, map[string]string{"x": hookList, "y": "[]"}, def{name: "x"}, def{name: "y"})
	turn := f.begin("go")
	load(t, turn, "x")
	in.Fire(t.Context(), command.HookInput{Event: "UserPromptSubmit"}, nil)
	load(t, turn, "y") // another change of the layers registers nothing anew
	if got := in.values(); got != "D C" {
		t.Errorf("after its run: %q", got)
	}
	load(t, turn, "x")
	if got := in.values(); got != "D C P" {
		t.Errorf("started again: %q", got)
	}
}

func TestWhoseHooksCount(t *testing.T) {
	t.Parallel()
	ws := func(o *Options) {
		o.Granted = func(r *registry.Record) bool { return r.Source.Trust == source.Trusted }
	}
	granted := func(o *Options) { o.Granted = func(*registry.Record) bool { return true } }
	deny := func(r *registry.Record) { r.Source.Hooks = source.PolicyDeny }
	kind := func(k source.Kind) func(*registry.Record) { return func(r *registry.Record) { r.Source.Kind = k } }
	for _, tt := range []struct {
		name   string
		trust  source.Trust
		change func(*Options)
		record func(*registry.Record)
		want   string
		codes  string
	}{
		{"trusted by kind", "", nil, nil, "D C P", ""},
		{"no commands", "", func(o *Options) { o.HookCommands = false }, nil, "D P", "hook_off"},
		{"its source has none", "", nil, deny, "", "hook_off"},
		{"over a network", "", nil, kind(source.MCP), "", "hook_off"},
		{"given in code", "", nil, kind(source.DataDef), "D C P", ""},
		{"given in code, and denied", "", nil, func(r *registry.Record) { kind(source.DataDef)(r); deny(r) }, "", "hook_off"},
		{"of a folder", source.Workspace, ws, nil, "", "untrusted_effect_dropped"},
		{"of a folder, granted", source.Workspace, granted, nil, "D C P", ""},
		{"of a stranger", source.Untrusted, ws, nil, "", "untrusted_effect_dropped"},
		{"of a stranger, granted", source.Untrusted, granted, nil, "", "untrusted_effect_dropped"},
		{"dialect blade", "", func(o *Options) { o.Dialect = skill.Blade }, nil, "D C P", ""},
		{"dialect claude-code", "", func(o *Options) { o.Dialect = skill.ClaudeCode }, nil, "", "hook_ignored"},
		{"dialect codex", "", func(o *Options) { o.Dialect = skill.Codex }, nil, "", "hook_ignored"},
	} {
		f, in := hooked(t, tt.change, map[string]string{"x": hookList}, def{name: "x", trust: tt.trust})
		rec, err := f.snap.Lookup("x")
		if err != nil {
			t.Fatal(err)
		}
		if tt.record != nil {
			tt.record(rec)
		}
		res := load(t, f.begin("go"), "x")
		var codes []string
		for _, d := range res.Loaded[0].Diagnostics {
			codes = append(codes, d.Code)
		}
		if got := in.values(); got != tt.want || strings.Join(codes, " ") != tt.codes {
			t.Errorf("%s: %q, %q; want %q, %q", tt.name, got, codes, tt.want, tt.codes)
		}
		for _, h := range in.List() {
			if h.Skill.Name != "x" || h.Skill.Dir != "/skills/x" || h.Inert != (tt.name == "dialect blade" && h.Value != "P") {
				t.Errorf("%s: %+v", tt.name, h)
			}
		}
	}
}

func TestInClaudeCodeHooksOutlastTheTurnOfTheirSkill(t *testing.T) {
	t.Parallel()
	f, in := hooked(t, func(o *Options) { o.Dialect = skill.ClaudeCode }, map[string]string{
		"x": "{PreToolUse: [{matcher: Bash, hooks: [{type: deny, value: D}]}]}",
	}, def{name: "x"})
	for range 2 {
		turn := f.begin("go")
		load(t, turn, "x")
		turn.End()
		if got := in.values(); got != "D" || f.Layers().Len() != 1 || len(f.Active()) != 0 || len(f.State().Patches) != 0 {
			t.Errorf("after the turn: %q, %d patches, active %v", got, f.Layers().Len(), f.Active())
		}
	}
	turn := f.begin("go")
	load(t, turn, "x")
	if _, err := turn.Deactivate("x"); err != nil {
		t.Fatal(err)
	}
	if got := in.values(); got != "" || f.Layers().Len() != 0 {
		t.Errorf("ended: %q, %d patches", got, f.Layers().Len())
	}
	load(t, turn, "x")
	turn.End()
	_ = f.Close()
	if got := in.values(); got != "" {
		t.Errorf("after Close: %q", got)
	}
}

func TestAPanicWhereHooksEndKeepsNothingElse(t *testing.T) {
	t.Parallel()
	f, in := hooked(t, nil, map[string]string{"x": hookList}, def{name: "x", meta: skill.Meta{Scope: "turn"}})
	turn := f.begin("go")
	load(t, turn, "x")
	in.panics = "D"
	turn.End()
	if got := in.values(); got != "D" || f.Layers().Len() != 0 {
		t.Errorf("%q in force, %d patches", got, f.Layers().Len())
	}
	last := f.events[len(f.events)-2]
	if last.Action != "unregister_hook" || last.Code != "panic" {
		t.Errorf("%+v", last)
	}
	f.begin("the next turn begins").End()
}

func TestHooksThatCannotBeRegisteredLeaveAllAsItWas(t *testing.T) {
	t.Parallel()
	f, in := hooked(t, nil, map[string]string{"x": hookList, "y": hookList}, def{name: "x"}, def{name: "y"})
	turn := f.begin("go")
	load(t, turn, "x")
	before := f.state.Load()
	in.broken = errors.New("full")
	_, err := turn.Activate(t.Context(), Request{Names: []string{"y"}, Actor: ActorModel})
	var e *Error
	if !errors.As(err, &e) || e.Code != "hooks" || f.state.Load() != before || in.values() != "D C P" {
		t.Errorf("%v, %q in force", err, in.values())
	}
	if _, err := turn.Apply(Patch{Owner: Owner{OwnerHost, "h"}, Hooks: []command.Hook{{Event: "PreToolUse", Type: "deny", Value: "H"}}}, Provenance{}); !errors.As(err, &e) {
		t.Error(err)
	}
	in.broken = nil

	// The record of the change cannot be written: what was registered for it goes again.
	f.broken = errors.New("disk full")
	if _, err := turn.Activate(t.Context(), Request{Names: []string{"y"}, Actor: ActorModel}); !errors.As(err, &e) || e.Code != "audit_write" {
		t.Error(err)
	}
	if f.state.Load() != before || in.values() != "D C P" {
		t.Errorf("%q in force", in.values())
	}
	f.broken = nil
	if _, err := turn.Apply(Patch{Owner: Owner{OwnerHost, "h"}, Hooks: []command.Hook{{Event: "PreToolUse", Type: "deny", Value: "H"}}}, Provenance{}); err != nil {
		t.Error(err)
	}
	if got := in.values(); got != "H D C P" {
		t.Errorf("%q in force", got)
	}
}

func TestASetBringsAndTakesHooksWithItsMembers(t *testing.T) {
	t.Parallel()
	one := func(v string) string { return "[{event: PreToolUse, type: deny, value: " + v + "}]" }
	f, in := hooked(t, nil, map[string]string{"a": one("A"), "b": one("B")}, def{name: "a"}, def{name: "b"})
	turn := f.begin("go")
	set(t, turn, "a", "b")
	if got := in.values(); got != "A B" {
		t.Errorf("%q", got)
	}
	set(t, turn, "b")
	if got := in.values(); got != "B" {
		t.Errorf("%q", got)
	}
	set(t, turn)
	if got := in.values(); got != "" {
		t.Errorf("%q", got)
	}
}

func TestAResumedSessionHasTheHooksOfWhatIsActive(t *testing.T) {
	t.Parallel()
	f, _ := hooked(t, nil, map[string]string{"x": hookList}, def{name: "x"})
	load(t, f.begin("go"), "x")
	state := f.State()
	state.Patches[0].Skill.Digest = f.bodies["x"].Skill.Digest
	next := &force{panics: "-"}
	o := f.o
	o.ID, o.Hooks = "s2", next
	s, report, err := Resume(context.Background(), state, o)
	if err != nil || len(report.Restored) != 1 {
		t.Fatal(err, report)
	}
	if got := next.values(); got != "D C P" {
		t.Errorf("%q in force", got)
	}
	_ = s.Close()
	if got := next.values(); got != "" {
		t.Errorf("after Close: %q", got)
	}
}

func TestTheSessionOfASubAgentHasTheHooksOfWhatItCarriesOut(t *testing.T) {
	t.Parallel()
	f, in := hooked(t, func(o *Options) { o.Agents = []string{"general"} }, map[string]string{"x": hookList}, def{name: "x", text: "Do it.", meta: skill.Meta{Context: "fork"}})
	res := load(t, f.begin("go"), "x")
	if res.Loaded[0].Fork == nil || in.values() != "" {
		t.Fatalf("%+v, %q in force above", res, in.values())
	}
	below := &force{panics: "-"}
	o := f.Child(*res.Loaded[0].Fork)
	o.Hooks = below
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.Begin(t.Context(), TurnInput{})
	if err != nil {
		t.Fatal(err)
	}
	turn.End()
	if got := below.values(); got != "D C P" {
		t.Errorf("%q in force below", got)
	}
	_ = s.Close()
	if got := below.values(); got != "" {
		t.Errorf("after Close: %q", got)
	}
}
