package session

import (
	"reflect"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// dataSession is a session over skills given in code.
func dataSession(t *testing.T, d skill.Dialect, trust source.Trust, defs ...source.Definition) (*Session, *Turn) {
	t.Helper()
	reg, err := registry.Open(t.Context(), registry.Config{Dialect: d, Sources: []source.Source{
		source.Data(defs, source.DataOptions{Info: source.Info{Trust: trust}, Format: source.Format{Dialect: d}}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), Options{Snapshots: reg, Dialect: d, Rand: &counter{}})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.Begin(t.Context(), TurnInput{})
	if err != nil {
		t.Fatal(err)
	}
	return s, turn
}

var effectful = source.Definition{
	Name: "x", Description: "Does x. Use when x.", Content: "Do x.", AllowedTools: []string{"Read"}, Model: "flat",
	Effects: map[string]any{
		"allowedTools": []string{"Grep"}, "deniedTools": []string{"Bash"}, "modelId": "big", "effort": "high", "promptAppend": " Mind x. ",
		"environment": map[string]any{"MODE": " x ", "PATH": "/evil", "http_proxy": "evil", "N": 1}, "activeScope": "turn",
	},
}

func TestEffectsOfASkillGivenInCode(t *testing.T) {
	t.Parallel()
	s, turn := dataSession(t, "", source.Trusted, effectful)
	res := load(t, turn, "x")
	e := s.Effective()
	got := []any{e.Allow, e.Deny, e.Model, e.Effort, e.Prompt, e.Env, s.Active()[0].Scope}
	want := []any{[][]string{{"Grep"}}, []string{"Bash"}, "big", "high", "Mind x.", map[string]string{"MODE": "x"}, ScopeTurn}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v\n%+v", got, want, res.Refused)
	}
	var codes []string
	for _, d := range res.Loaded[0].Diagnostics {
		codes = append(codes, d.Code)
	}
	if !reflect.DeepEqual(codes, []string{"env_forbidden", "env_forbidden"}) {
		t.Errorf("said %v", codes)
	}
	turn.End()
	if e := s.Effective(); len(e.Env) != 0 || e.Prompt != "" || e.Model != "" {
		t.Errorf("the turn leaves %+v", e)
	}
}

func TestEffectsOfAnUntrustedSkillAreDropped(t *testing.T) {
	t.Parallel()
	s, turn := dataSession(t, "", source.Untrusted, effectful)
	res := load(t, turn, "x")
	e := s.Effective()
	if e.Prompt != "" || len(e.Env) != 0 || e.Model != "" || len(e.Deny) != 1 || len(res.Loaded[0].Diagnostics) != 4 {
		t.Errorf("%+v\n%+v", e, res.Loaded[0].Diagnostics)
	}
}

func TestPromptsOfSkillsStandTogetherInDialectBlade(t *testing.T) {
	t.Parallel()
	def := func(name, prompt string) source.Definition {
		d := source.Definition{Name: name, Description: "d", Content: "c"}
		if prompt != "" {
			d.Effects = map[string]any{"systemPromptAppend": prompt}
		}
		return d
	}
	for d, want := range map[skill.Dialect]string{skill.Blade: "one\n\n---\n\ntwo", skill.Deft: "two"} {
		s, turn := dataSession(t, d, source.Trusted, def("a", "one"), def("b", "two"), def("c", ""))
		load(t, turn, "a")
		load(t, turn, "b")
		if got := s.Effective().Prompt; got != want {
			t.Errorf("%s: %q", d, got)
		}
		if load(t, turn, "c"); s.Effective().Prompt != "" {
			t.Errorf("%s: a skill without a prompt leaves %q", d, s.Effective().Prompt)
		}
	}
}
