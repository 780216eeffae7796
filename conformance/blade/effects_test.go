package blade

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// talk is a turn of a session over skills given in code, in the project /P.
func talk(t *testing.T, defs ...source.Definition) (*session.Session, *session.Turn) {
	t.Helper()
	s, err := session.New(t.Context(), session.Options{Snapshots: of(t, data(defs...)), Dialect: dialect, ProjectDir: "/P"})
	if err != nil {
		t.Fatal(err)
	}
	return s, turnOf(t, s)
}

func turnOf(t *testing.T, s *session.Session) *session.Turn {
	t.Helper()
	turn, err := s.Begin(t.Context(), session.TurnInput{})
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func start(t *testing.T, turn *session.Turn, name string) session.Result {
	t.Helper()
	res, err := turn.Activate(t.Context(), session.Request{Names: []string{name}, Actor: session.ActorModel})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// with is a skill of that name with effects.
func with(name string, effects map[string]any) source.Definition {
	d := define(name)
	d.Effects = effects
	return d
}

// host applies a patch of the host.
func host(t *testing.T, turn *session.Turn, scope session.Scope, p session.Patch) {
	t.Helper()
	p.Scope, p.Owner = scope, session.Owner{Kind: session.OwnerHost, ID: "host"}
	if _, err := turn.Apply(p, session.Provenance{Actor: session.ActorHost}); err != nil {
		t.Fatal(err)
	}
}

func discover(reset bool, names ...string) session.Patch {
	return session.Patch{Discovery: &session.Discovery{Reset: reset, Discover: names}}
}

func overlay(reset bool, name string) session.Patch {
	p := session.Patch{Context: &session.ContextPatch{Reset: reset}}
	if name != "" {
		p.Context.Value.Environment = map[string]string{name: "1"}
	}
	return p
}

func deny(tools ...string) session.Patch {
	return session.Patch{Tools: &session.ToolPolicy{Deny: tools}}
}

func TestBlade_D03_effects_win(t *testing.T) {
	t.Parallel()
	d := with("x", map[string]any{"allowedTools": []string{"Grep"}})
	d.AllowedTools = []string{"Read"}
	s, turn := talk(t, d)
	start(t, turn, "x")
	want(t, "allow", s.Effective().Allow, [][]string{{"Grep"}})
}

func TestBlade_D04_effects_all(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("x", map[string]any{
		"modelId": "big", "effort": "high", "systemPromptAppend": "Mind.", "environment": map[string]any{"A": "1"}, "activeScope": "turn",
	}))
	start(t, turn, "x")
	p := s.Layers().Turn()
	if len(p) != 1 || len(s.Layers().Session()) != 0 {
		t.Fatalf("%+v", s.Layers())
	}
	want(t, "patch", []any{*p[0].Model, *p[0].Prompt, p[0].Env}, []any{session.ModelOverride{ID: "big", Effort: "high"}, "Mind.", map[string]string{"A": "1"}})
}

func TestBlade_D05_scope_default(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, define("x"))
	start(t, turn, "x")
	want(t, "scope", s.Active()[0].Scope, session.ScopeSession)
}

func TestBlade_E11_path_refused(t *testing.T) {
	t.Parallel()
	d, _ := own(t, "Body.", "paths: src/**")
	said := d.load("x", "")
	if !d.last.IsError || !strings.Contains(said, "not available in the current context") ||
		!strings.Contains(said, "conditions are not satisfied") || !strings.Contains(said, "src/**") {
		t.Errorf("%q", said)
	}
}

func TestBlade_E12_path_by_args(t *testing.T) {
	t.Parallel()
	d, _ := own(t, "Body.", "paths: src/**")
	if d.load("x", "src/index.ts"); d.last.IsError {
		t.Errorf("%q", d.last.Text)
	}
}

// reported is what the session tells of tools: lists and scope, "" = no policy.
func reported(s *session.Session) string {
	r := s.Effective().Reported
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%v %v %s", r.Allow, r.Deny, r.Scope)
}

// current is the name of the current skill, "" = none.
func current(s *session.Session) string {
	if now := s.Effective().Current; now != nil {
		return now.Name
	}
	return ""
}

func TestBlade_J01_policy_restored(t *testing.T) {
	t.Parallel()
	s, turn := talk(t)
	host(t, turn, session.ScopeSession, deny("Bash"))
	host(t, turn, session.ScopeTurn, session.Patch{Tools: &session.ToolPolicy{Allow: skill.ToolList{Declared: true, Entries: []string{"Read"}}}})
	want(t, "during", reported(s), "[Read] [] turn")
	turn.End()
	want(t, "after", reported(s), "[] [Bash] session")
}

func TestBlade_J02_policy_through_skill(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("x", map[string]any{"activeScope": "turn"}))
	host(t, turn, session.ScopeSession, deny("Bash"))
	start(t, turn, "x")
	want(t, "during", []string{reported(s), current(s)}, []string{"[] [Bash] session", "x"})
	turn.End()
	want(t, "after", []string{reported(s), current(s)}, []string{"[] [Bash] session", ""})
}

func TestBlade_J03_session_skill_keeps(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, define("x"))
	host(t, turn, session.ScopeSession, deny("Bash"))
	start(t, turn, "x")
	want(t, "policy", []string{reported(s), current(s)}, []string{"[] [Bash] session", "x"})
}

func TestBlade_J04_no_policy(t *testing.T) {
	t.Parallel()
	d := with("x", map[string]any{"activeScope": "turn"})
	s, turn := talk(t, d)
	start(t, turn, "x")
	want(t, "policy", []any{reported(s), s.Effective().Allow, s.Effective().Deny}, []any{"", [][]string{}, []string{}})
}

// history are the owners of the patches of a layer.
func history(layer []session.Applied) []string {
	var out []string
	for _, a := range layer {
		out = append(out, a.Owner.ID)
	}
	return out
}

func TestBlade_J05_prompt_env_kept(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("base", map[string]any{"systemPromptAppend": "Mind.", "environment": map[string]any{"A": "1"}}), with("temp", map[string]any{"activeScope": "turn"}))
	start(t, turn, "base")
	start(t, turn, "temp")
	inForce := []any{"Mind.", map[string]string{"A": "1"}}
	want(t, "during", []any{s.Effective().Prompt, s.Effective().Env}, inForce)
	turn.End()
	want(t, "after", []any{s.Effective().Prompt, s.Effective().Env}, inForce)
	want(t, "history", [][]string{history(s.Layers().Session()), history(s.Layers().Turn())}, [][]string{{"base"}, {}})
}

func TestBlade_J06_same_scope_reset(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("first", map[string]any{"systemPromptAppend": "one"}), define("second"))
	start(t, turn, "first")
	start(t, turn, "second")
	want(t, "append, history", []any{s.Effective().Prompt, history(s.Layers().Session())}, []any{"", []string{"second"}})
}

// The lists of a skill that another one took the place of hold on, also in a session
// that goes on elsewhere.
func TestAResetLeavesTheLists(t *testing.T) {
	t.Parallel()
	first := with("first", map[string]any{"systemPromptAppend": "one", "deniedTools": []string{"Bash"}})
	zero := with("zero", map[string]any{"systemPromptAppend": "zero"})
	last := with("last", map[string]any{"systemPromptAppend": "last", "environment": map[string]any{"A": "1"}})
	s, turn := talk(t, first, define("second"), zero, last)
	for _, name := range []string{"first", "second", "zero", "last"} {
		start(t, turn, name)
	}
	want(t, "policy", []any{reported(s), s.Effective().Deny}, []any{"[] [Bash] session", []string{"Bash"}})
	names := func(s *session.Session) (out []string) {
		for _, a := range s.Active() {
			out = append(out, a.Name)
		}
		return out
	}
	want(t, "active", names(s), []string{"second", "zero", "last"})
	turn.End()
	again, report, err := session.Resume(t.Context(), s.State(), session.Options{Snapshots: of(t, data(first, define("second"), zero, last)), Dialect: dialect})
	if err != nil || len(report.Problems) > 0 {
		t.Fatal(report, err)
	}
	want(t, "resumed", []any{names(again), again.Effective().Deny, again.Effective().Prompt, again.Effective().Env},
		[]any{names(s), s.Effective().Deny, s.Effective().Prompt, s.Effective().Env})
	if gone, err := turnOf(t, again).Deactivate("first"); !gone || err != nil {
		t.Error(gone, err)
	}
	want(t, "ended", again.Effective().Deny, []string{})
}

func TestBlade_J07_same_scope_stack(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("first", map[string]any{"systemPromptAppend": " one "}), with("second", map[string]any{"systemPromptAppend": "two"}))
	start(t, turn, "first")
	start(t, turn, "second")
	want(t, "prompt", s.Effective().Prompt, "one\n\n---\n\ntwo")
}

func TestBlade_J08_host_append_first(t *testing.T) {
	t.Parallel()
	s, err := session.New(t.Context(), session.Options{
		Snapshots: of(t, data(with("x", map[string]any{"systemPromptAppend": "the skill's"}))), Dialect: dialect,
		Base: session.Base{Prompt: "the host's"},
	})
	if err != nil {
		t.Fatal(err)
	}
	start(t, turnOf(t, s), "x")
	want(t, "prompt", s.Effective().Prompt, "the host's\n\n---\n\nthe skill's")
}

func TestBlade_J09_env_last_wins(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("first", map[string]any{"environment": map[string]any{"A": "1", "S": "a"}}),
		with("second", map[string]any{"environment": map[string]any{"B": " 2 ", "S": "b", "N": 7}}))
	start(t, turn, "first")
	start(t, turn, "second")
	want(t, "environment", s.Effective().Env, map[string]string{"A": "1", "B": "2", "S": "b"})
}

func TestBlade_J10_env_over_overlay(t *testing.T) {
	t.Parallel()
	s, turn := talk(t)
	host(t, turn, session.ScopeSession, session.Patch{Env: map[string]string{"K": "patch"}})
	host(t, turn, session.ScopeTurn, overlay(false, "K"))
	want(t, "environment", s.Effective().Env, map[string]string{"K": "patch"})
}

func TestBlade_J11_discovery_union(t *testing.T) {
	t.Parallel()
	s, turn := talk(t)
	host(t, turn, session.ScopeSession, discover(false, "Read"))
	host(t, turn, session.ScopeTurn, discover(false, "Write"))
	want(t, "during", s.Effective().Discovered, []string{"Read", "Write"})
	turn.End()
	want(t, "after", s.Effective().Discovered, []string{"Read"})
}

func TestBlade_J12_discovery_reset(t *testing.T) {
	t.Parallel()
	s, turn := talk(t)
	host(t, turn, session.ScopeSession, discover(false, "Read"))
	host(t, turn, session.ScopeTurn, discover(false, "Write"))
	host(t, turn, session.ScopeSession, discover(true))
	want(t, "discovered", s.Effective().Discovered, []string{"Write"})
}

func TestBlade_J13_discovery_clean(t *testing.T) {
	t.Parallel()
	s, turn := talk(t)
	host(t, turn, session.ScopeSession, discover(false, " Read ", "", "  "))
	want(t, "discovered", s.Effective().Discovered, []string{"Read"})
}

func TestBlade_J14_context_layers(t *testing.T) {
	t.Parallel()
	s, turn := talk(t)
	host(t, turn, session.ScopeSession, overlay(false, "BASE"))
	host(t, turn, session.ScopeTurn, overlay(false, "TEMP"))
	want(t, "during", s.Effective().Context.Environment, map[string]string{"BASE": "1", "TEMP": "1"})
	turn.End()
	want(t, "after", s.Effective().Context.Environment, map[string]string{"BASE": "1"})
}

func TestBlade_J15_context_reset(t *testing.T) {
	t.Parallel()
	s, turn := talk(t)
	host(t, turn, session.ScopeSession, overlay(false, "BASE"))
	host(t, turn, session.ScopeTurn, overlay(false, "TEMP"))
	host(t, turn, session.ScopeSession, overlay(true, ""))
	want(t, "context", s.Effective().Context.Environment, map[string]string{"TEMP": "1"})
}

// facets are capabilities of a patch of the context.
func facets(c map[string]any) session.Patch {
	return session.Patch{Context: &session.ContextPatch{Value: session.Context{Capabilities: c}}}
}

func TestBlade_J16_context_roots(t *testing.T) {
	t.Parallel()
	s, turn := talk(t)
	host(t, turn, session.ScopeSession, facets(map[string]any{"filesystem": map[string]any{"roots": []string{"a"}}}))
	host(t, turn, session.ScopeTurn, facets(map[string]any{"filesystem": map[string]any{"mode": "ro"}}))
	want(t, "absent", s.Effective().Context.Capabilities, map[string]any{"filesystem": map[string]any{"mode": "ro", "roots": []string{"a"}}})
	host(t, turn, session.ScopeTurn, facets(map[string]any{"filesystem": map[string]any{"roots": []string{"b"}}}))
	want(t, "given", s.Effective().Context.Capabilities, map[string]any{"filesystem": map[string]any{"mode": "ro", "roots": []string{"b"}}})
}

func TestBlade_J17_context_facets(t *testing.T) {
	t.Parallel()
	s, turn := talk(t)
	host(t, turn, session.ScopeSession, facets(map[string]any{"net": map[string]any{"a": 1, "b": 1}, "gpu": 1}))
	host(t, turn, session.ScopeTurn, facets(map[string]any{"net": map[string]any{"a": 2}}))
	want(t, "facets", s.Effective().Context.Capabilities, map[string]any{"net": map[string]any{"a": 2}, "gpu": 1})
}

func TestBlade_J18_identity_reappears(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("base", map[string]any{"systemPromptAppend": "of base"}), with("temp", map[string]any{"activeScope": "turn"}))
	start(t, turn, "base")
	start(t, turn, "temp")
	want(t, "during", s.Effective().Current.Name, "temp")
	turn.End()
	e := s.Effective()
	want(t, "after", []any{e.Current.Name, e.Current.Scope, e.Prompt}, []any{"base", "session", "of base"})
}

func TestBlade_J19_clear_skill(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("x", map[string]any{"allowedTools": []string{"Read"}, "activeScope": "turn"}))
	host(t, turn, session.ScopeSession, deny("Bash"))
	start(t, turn, "x")
	if _, err := turn.Deactivate("x"); err != nil {
		t.Fatal(err)
	}
	e := s.Effective()
	want(t, "after", []any{e.Current == nil, e.Allow, e.Deny}, []any{true, [][]string{}, []string{"Bash"}})
}

func TestBlade_J20_clear_session_skill(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("x", map[string]any{
		"allowedTools": []string{"Read"}, "deniedTools": []string{"Bash"}, "systemPromptAppend": "p", "environment": map[string]any{"A": "1"}, "modelId": "m",
	}))
	start(t, turn, "x")
	if _, err := turn.Deactivate("x"); err != nil {
		t.Fatal(err)
	}
	e := s.Effective()
	want(t, "left", []any{e.Allow, e.Deny, e.Prompt, e.Env, e.Model, s.Layers().Len()}, []any{[][]string{}, []string{}, "", map[string]string{}, "", 0})
}

func TestBlade_J25_model_needs_id(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("x", map[string]any{"effort": "high"}))
	start(t, turn, "x")
	want(t, "override", *s.Layers().Session()[0].Model, session.ModelOverride{Effort: "high"})
}

func TestBlade_J26_provenance(t *testing.T) {
	t.Parallel()
	s, turn := talk(t)
	for _, id := range []string{"1", "2"} {
		p := discover(false, "tool"+id)
		p.Owner = session.Owner{Kind: session.OwnerTool, ID: "finder"}
		if _, err := turn.Apply(p, session.Provenance{Tool: "finder", CallID: id}); err != nil {
			t.Fatal(err)
		}
	}
	for i, a := range s.Layers().Session() {
		want(t, "provenance", []any{a.Tool, a.CallID, a.At.IsZero()}, []any{"finder", []string{"1", "2"}[i], false})
	}
}

func TestBlade_J28_same_scope_env_reset(t *testing.T) {
	t.Parallel()
	for scope, after := range map[string]map[string]string{"session": {}, "turn": {"A": "1"}} {
		s, turn := talk(t, with("first", map[string]any{"environment": map[string]any{"A": "1"}}), with("second", map[string]any{"activeScope": scope}))
		start(t, turn, "first")
		start(t, turn, "second")
		want(t, scope, s.Effective().Env, after)
	}
}

func TestBlade_J29_session_lasts(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("x", map[string]any{"allowedTools": []string{"Read"}}))
	start(t, turn, "x")
	for range 3 {
		want(t, "allow", s.Effective().Allow, [][]string{{"Read"}})
		turn.End()
		turn = turnOf(t, s)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "after", s.Effective().Allow, [][]string{})
}
