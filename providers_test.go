package deft_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// changing is a provider whose tools a test changes between turns.
type changing struct {
	mu    sync.Mutex
	names []string
	away  string
	tier  gate.Tier
	asked int
	state int
	calls []string
}

func (p *changing) Name() string { return "srv" }

func (p *changing) Provide(context.Context) toolset.Provided {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.away != "" {
		return toolset.Provided{Away: p.away}
	}
	var out toolset.Provided
	for _, name := range p.names {
		out.Tools = append(out.Tools, provided{p, name})
	}
	return out
}

func (p *changing) Knows(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	stem, any := strings.CutSuffix(name, "*")
	return p.away == "" && slices.ContainsFunc(p.names, func(n string) bool { return n == name || any && strings.HasPrefix(n, stem) })
}

func (p *changing) Lost() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.away != ""
}

func (p *changing) State() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprint(p.state)
}

func (p *changing) set(away string, names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away, p.names = away, names
	p.state++
}

// provided is one of its tools.
type provided struct {
	p    *changing
	name string
}

func (t provided) Spec() toolset.Spec {
	return toolset.Spec{Name: t.name, Description: "Does " + t.name + ".", Input: json.RawMessage(`{"type":"object"}`), Tier: t.p.tier, Toolset: "mcp__srv"}
}

func (t provided) Call(context.Context, toolset.Call) (toolset.Result, error) {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.p.calls = append(t.p.calls, t.name)
	return toolset.Result{Text: "did " + t.name}, nil
}

// turnOf runs one turn and returns what the model was sent first and last.
func turnOf(t *testing.T, s *deft.Session, m *answering) (first, end modelRequest) {
	t.Helper()
	m.mu.Lock()
	m.requests = nil
	m.mu.Unlock()
	for e, err := range s.Run(t.Context(), deft.Input{Text: "go on", Origin: gate.Interactive, Principal: "user"}) {
		if err != nil {
			t.Fatal(e, err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[0], m.requests[len(m.requests)-1]
}

func toolNames(r modelRequest) (names []string) {
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return names
}

func TestToolsThatComeAndGoAreThoseOfTheTurn(t *testing.T) {
	t.Parallel()
	p := &changing{names: []string{"mcp__srv__a"}, tier: gate.ReadOnly}
	e := open(t, deft.Options{Workspace: t.TempDir(), OnlySources: true, Providers: []toolset.Provider{p}, Data: []source.Definition{
		{Name: "plain", Description: "Plain.", Content: "x"},
	}})
	step := calls("mcp__srv__a", map[string]any{})
	m := &answering{answer: func(_ context.Context, r modelRequest) modelStep {
		if len(r.Messages[len(r.Messages)-1].Results) > 0 {
			return says("done")
		}
		return step
	}}
	s := newSession(t, e, deft.SessionOptions{Model: m})
	if p.asked != 0 {
		t.Error("a session asks the provider before a turn does")
	}
	if _, err := s.Plan(t.Context(), deft.Input{Text: "x", Origin: gate.Interactive}); err != nil || p.asked != 0 {
		t.Errorf("a plan asks the provider: %d, %v", p.asked, err)
	}
	first, end := turnOf(t, s, m)
	if !slices.Contains(toolNames(first), "mcp__srv__a") || last(end) != "did mcp__srv__a" {
		t.Errorf("tools %v, result %q", toolNames(first), last(end))
	}
	p.set("", "mcp__srv__b")
	first, end = turnOf(t, s, m)
	if got := toolNames(first); slices.Contains(got, "mcp__srv__a") || !slices.Contains(got, "mcp__srv__b") || !strings.Contains(last(end), "unknown_tool") {
		t.Errorf("tools %v, result %q", got, last(end))
	}
	p.set("The tools of srv are away: it sleeps.")
	if first, _ = turnOf(t, s, m); slices.Contains(toolNames(first), "mcp__srv__b") || !strings.Contains(last(first), "it sleeps") {
		t.Errorf("tools %v, request %q", toolNames(first), last(first))
	}
}

func TestManyToolsOfAProviderAreFound(t *testing.T) {
	t.Parallel()
	p := &changing{tier: gate.AlwaysConfirm}
	for i := range 100 {
		p.names = append(p.names, fmt.Sprintf("mcp__srv__t%02d", i))
	}
	e := open(t, deft.Options{Workspace: t.TempDir(), OnlySources: true, Providers: []toolset.Provider{p}})
	m := &answering{answer: func(_ context.Context, r modelRequest) modelStep {
		if len(r.Messages[len(r.Messages)-1].Results) > 0 {
			return says("done")
		}
		return calls("tool_invoke", map[string]any{"tool": "mcp__srv__t99", "input": map[string]any{}})
	}}
	first, end := turnOf(t, newSession(t, e, deft.SessionOptions{Model: m}), m)
	if got := toolNames(first); len(got) > 60 || slices.Contains(got, "mcp__srv__t99") || !slices.Contains(got, "tool_search") {
		t.Errorf("%d tools: %v", len(got), got)
	}
	if !strings.Contains(last(end), "no_answerer") || len(p.calls) > 0 {
		t.Errorf("it is called through tool_invoke without consent: %q %v", last(end), p.calls)
	}
	_, end = turnOf(t, newSession(t, e, deft.SessionOptions{Model: m, Auto: gate.AlwaysConfirm}), m)
	if last(end) != "did mcp__srv__t99" {
		t.Errorf("got %q", last(end))
	}
}

func TestAToolOfTheHostKeepsItsName(t *testing.T) {
	t.Parallel()
	p := &changing{names: []string{"read", "mcp__srv__a"}, tier: gate.ReadOnly}
	e := open(t, deft.Options{Workspace: t.TempDir(), OnlySources: true, Providers: []toolset.Provider{p, p}})
	m := &answering{answer: func(context.Context, model.Request) model.Step { return says("done") }}
	first, _ := turnOf(t, newSession(t, e, deft.SessionOptions{Model: m}), m)
	n := 0
	for _, name := range toolNames(first) {
		if name == "read" || name == "mcp__srv__a" {
			n++
		}
	}
	if n != 2 || !strings.Contains(last(first), `"read" of srv is left out`) || !strings.Contains(last(first), `"mcp__srv__a" of srv is left out`) {
		t.Errorf("%d tools, request %q", n, last(first))
	}
}

func TestASkillWaitsForTheToolsThatItNeeds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		".agents/skills/byserver/SKILL.md": "---\nname: byserver\ndescription: By server.\nconditions: {requires_mcp: [srv]}\n---\nx\n",
		".agents/skills/bytool/SKILL.md":   "---\nname: bytool\ndescription: By tool.\nconditions: {requires_tools: [mcp__srv__a]}\n---\nx\n",
		".agents/skills/anytool/SKILL.md":  "---\nname: anytool\ndescription: Any tool.\nconditions: {requires_tools: [\"mcp__srv__*\"]}\n---\nx\n",
		".agents/skills/byset/SKILL.md":    "---\nname: byset\ndescription: By set.\nconditions: {requires_toolsets: [mcp__srv]}\n---\nx\n",
		".agents/skills/without/SKILL.md":  "---\nname: without\ndescription: Without.\nconditions: {fallback_for_toolsets: [mcp__srv]}\n---\nx\n",
		".agents/skills/mcp-srv/SKILL.md":  "---\nname: mcp-srv\ndescription: Stale.\n---\nx\n",
	})
	p := &changing{names: []string{"mcp__srv__a"}, tier: gate.ReadOnly}
	e := open(t, deft.Options{Workspace: dir, NoBuiltin: true, Providers: []toolset.Provider{p}, Project: registry.ProjectAlways})
	m := &answering{answer: func(context.Context, model.Request) model.Step { return says("done") }}
	s := newSession(t, e, deft.SessionOptions{Model: m})
	for i, step := range []struct {
		away  string
		names []string
		want  string
	}{
		{"", []string{"mcp__srv__a"}, "anytool byserver byset bytool"},
		{"", []string{"mcp__srv__b"}, "anytool byserver byset"},
		{"gone", nil, "without"},
		{"gone", nil, "without"},
		{"", []string{"mcp__srv__a"}, "anytool byserver byset bytool"},
	} {
		p.set(step.away, step.names...)
		turnOf(t, s, m)
		var got []string
		for _, r := range s.Snapshot().Winners {
			if r.State == registry.Available {
				got = append(got, r.Skill.Name)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != step.want {
			t.Errorf("turn %d: %v, want %s", i+1, got, step.want)
		}
	}
}
