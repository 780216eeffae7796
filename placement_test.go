package deft_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// farRead is the tool read of another machine.
type farRead struct{ runs *atomic.Int32 }

func (farRead) Spec() toolset.Spec {
	return toolset.Spec{
		Name: "read", Description: "Reads there.", Toolset: "files", Tier: gate.ReadOnly, ReadOnly: true, Mode: toolset.Parallel,
		Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
	}
}

func (f farRead) Call(context.Context, toolset.Call) (toolset.Result, error) {
	f.runs.Add(1)
	return toolset.Result{Text: "read over there"}, nil
}

// machine is a backend that can be switched off.
type machine struct {
	runs atomic.Int32
	off  atomic.Bool
}

func (m *machine) Tools() []toolset.Tool { return []toolset.Tool{farRead{&m.runs}} }

func (m *machine) Able(context.Context) error {
	if m.off.Load() {
		return errors.New("it is switched off")
	}
	return nil
}

// placed is a session whose placement a preference says, over one skill that would like
// another.
func placed(t *testing.T, o deft.Options, preference *string) (*deft.Engine, *deft.Session) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.txt": "here"})
	o.Workspace, o.Dialect, o.OnlySources = dir, skill.Minara, true
	o.Data = []source.Definition{{
		Name: "mover", Description: "Would run elsewhere.", Content: "Run locally. placement: local",
		Metadata: map[string]any{"minara": map[string]any{"placement": "local", "environment": "local"}},
	}}
	o.Preference = func(key string) string {
		if key != "computer.backend" {
			t.Errorf("asked for %q", key)
		}
		return *preference
	}
	e := open(t, o)
	return e, newSession(t, e, deft.SessionOptions{})
}

func readFile(t *testing.T, s *deft.Session, in deft.Input, args string) model.Result {
	t.Helper()
	if in.Text == "" {
		in.Text = "go"
	}
	if in.Origin == "" {
		in.Origin = gate.Interactive
	}
	turn, err := s.Begin(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	return turn.Call(model.Call{ID: "1", Name: "read", Input: json.RawMessage(args)})[0]
}

func TestThePlacementIsReadOnceAndFixed(t *testing.T) {
	t.Parallel()
	m, preference := &machine{}, "remote:box"
	e, s := placed(t, deft.Options{Backends: map[string]deft.Backend{"box": m}}, &preference)
	preference = "local"
	if got := readFile(t, s, deft.Input{}, `{"path":"a.txt"}`); got.Text != "read over there" || s.Placement() != "remote:box" {
		t.Errorf("%s: %q", s.Placement(), got.Text)
	}
	next := newSession(t, e, deft.SessionOptions{})
	if got := readFile(t, next, deft.Input{}, `{"path":"a.txt"}`); !strings.Contains(got.Text, "here") || next.Placement() != "local" {
		t.Errorf("%s: %q", next.Placement(), got.Text)
	}
	if m.runs.Load() != 1 {
		t.Errorf("the other machine read %d times", m.runs.Load())
	}
}

func TestAPlaceThatIsGoneFailsItsToolsAndNothingElse(t *testing.T) {
	t.Parallel()
	m := &machine{}
	m.off.Store(true)
	for _, preference := range []string{"remote:box", "remote:nowhere", "moon"} {
		_, s := placed(t, deft.Options{Backends: map[string]deft.Backend{"box": m}}, &preference)
		got := readFile(t, s, deft.Input{}, `{"path":"a.txt"}`)
		if !got.IsError || !strings.Contains(got.Text, "placement_unavailable") || strings.Contains(got.Text, "here\n") {
			t.Errorf("%s: %+v", preference, got)
		}
		turn, err := s.Begin(t.Context(), deft.Input{Text: "go", Origin: gate.Interactive})
		if err != nil {
			t.Fatal(err)
		}
		for tool, args := range map[string]string{"glob": `{"pattern":"*"}`, "write": `{"path":"x","content":"y"}`, "grep": `{"pattern":"here"}`} {
			if got := turn.Call(model.Call{ID: "1", Name: tool, Input: json.RawMessage(args)})[0]; !got.IsError || !strings.Contains(got.Text, "placement_unavailable") {
				t.Errorf("%s: %s: %+v", preference, tool, got)
			}
		}
		if got := turn.Call(model.Call{ID: "1", Name: "todo", Input: json.RawMessage(`{"items":[]}`)})[0]; got.IsError {
			t.Errorf("%s: todo: %+v", preference, got)
		}
		turn.End()
	}
}

func TestNobodyInATurnChangesThePlacement(t *testing.T) {
	t.Parallel()
	for by, in := range map[string]deft.Input{
		"skill": {Text: "/mover now"},
		"payload": {Signal: &route.Signal{
			Source: "cron", PreloadSkills: []string{"mover"}, Payload: json.RawMessage(`{"placement":"local","environment":"local","backend":"local"}`),
		}, AllowPreload: []string{"mover"}},
	} {
		m, preference := &machine{}, "remote:box"
		_, s := placed(t, deft.Options{Backends: map[string]deft.Backend{"box": m}}, &preference)
		if got := readFile(t, s, in, `{"path":"a.txt"}`); got.Text != "read over there" || s.Placement() != "remote:box" {
			t.Errorf("%s: %s, %q", by, s.Placement(), got.Text)
		}
	}
	for _, preference := range []string{"remote:box", "local"} {
		m := &machine{}
		_, s := placed(t, deft.Options{Backends: map[string]deft.Backend{"box": m}}, &preference)
		for _, key := range []string{"environment", "backend"} {
			got := readFile(t, s, deft.Input{}, `{"path":"a.txt","`+key+`":"local"}`)
			if !got.IsError || !strings.Contains(got.Text, "bad_args") || !strings.Contains(got.Text, "/"+key) || m.runs.Load() != 0 {
				t.Errorf("%s: %s: %+v", preference, key, got)
			}
		}
	}
}

func TestNoToolTakesAPlacement(t *testing.T) {
	t.Parallel()
	for _, spec := range open(t, deft.Options{Workspace: t.TempDir()}).Tools() {
		for _, word := range []string{`"environment"`, `"backend"`, `"placement"`} {
			if strings.Contains(string(spec.Input), word) {
				t.Errorf("%s has %s", spec.Name, word)
			}
		}
	}
}
