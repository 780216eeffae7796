package blade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// hosted is a tool of the host.
type hosted struct {
	spec toolset.Spec
	run  func(ctx context.Context, c toolset.Call) (toolset.Result, error)
}

func (h hosted) Spec() toolset.Spec { return h.spec }

func (h hosted) Call(ctx context.Context, c toolset.Call) (toolset.Result, error) {
	if h.run == nil {
		return toolset.Result{Text: "done"}, nil
	}
	return h.run(ctx, c)
}

// reads is a tool that only reads; it takes any arguments.
func reads(name string, run func(ctx context.Context, c toolset.Call) (toolset.Result, error)) hosted {
	return hosted{toolset.Spec{
		Name: name, Description: name + " does it.", Input: json.RawMessage(`{"type":"object"}`), Tier: gate.ReadOnly, ReadOnly: true,
	}, run}
}

// answers is a tool with one result.
func answers(name string, r toolset.Result) hosted {
	return reads(name, func(context.Context, toolset.Call) (toolset.Result, error) { return r, nil })
}

// talkOf is a session over a project whose model plays steps. The tools are the only
// ones beside those for skills.
func talkOf(t *testing.T, p string, o deft.SessionOptions, steps []scripted.Step, tools ...toolset.Tool) (*deft.Session, *scripted.Model) {
	t.Helper()
	e := suitetest.Engine(t, deft.Options{
		Workspace: p, Dialect: dialect, NoBuiltin: true, Project: registry.ProjectAlways, NoFiles: true, Tools: tools, Sources: elsewhere(p),
	})
	m := scripted.New("first", scripted.Script{Steps: steps})
	o.Model = m
	s, err := e.NewSession(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, m
}

// runs carries out one turn and returns how it ended.
func runs(t *testing.T, ctx context.Context, s *deft.Session, text string) *agent.End {
	t.Helper()
	var end *agent.End
	for e := range s.Run(ctx, deft.Input{Text: text, Origin: gate.Interactive, Principal: "user"}) {
		if e.End != nil {
			end = e.End
		}
	}
	return end
}

// calls is a step that calls tools without arguments, loads one that loads a skill.
func calls(names ...string) scripted.Step {
	var s scripted.Step
	for _, name := range names {
		s.Calls = append(s.Calls, scripted.Call{Name: name})
	}
	return s
}

func loading(name string) scripted.Step {
	return scripted.Step{Calls: []scripted.Call{{Name: loader(), Input: map[string]string{"skill": name}}}}
}

// skilled is a project with one skill x of these header lines.
func skilled(t *testing.T, lines ...string) string {
	t.Helper()
	p := project(t)
	put(t, filepath.Join(p, "skills/x/SKILL.md"), "---\nname: x\ndescription: d\n"+strings.Join(append(lines, ""), "\n")+"---\nBody.\n")
	return p
}

func TestBlade_H12_system_excluded(t *testing.T) {
	t.Parallel()
	o := deft.SessionOptions{Identity: "Look at src/a.ts.", Project: "See src/b.ts.", Base: session.Base{Prompt: "Mind src/c.ts."}}
	s, m := talkOf(t, skilled(t, "paths: src/**"), o, []scripted.Step{loading("x"), {Text: "no"}})
	runs(t, t.Context(), s, "hello")
	want(t, "active", len(s.Active()), 0)
	said := m.Requests()[1].Messages
	want(t, "refused", said[len(said)-1].Results[0].IsError, true)
	want(t, "candidates", session.Referenced([]session.Said{{System: true, Text: "src/a.ts"}}, "/P"), []string{})
}

func TestBlade_H13_user_and_assistant(t *testing.T) {
	t.Parallel()
	for text, said := range map[string]string{"see src/a.ts": "yes", "hello": "I look at src/a.ts first."} {
		load := loading("x")
		load.Text = said
		s, _ := talkOf(t, skilled(t, "paths: src/**"), deft.SessionOptions{}, []scripted.Step{load, {Text: "done"}})
		runs(t, t.Context(), s, text)
		want(t, text, len(s.Active()), 1)
	}
}

func TestBlade_H14_empty_messages(t *testing.T) {
	t.Parallel()
	want(t, "candidates", session.Referenced(nil, "/P"), []string{})
	want(t, "working directory", session.Referenced([]session.Said{{Text: "/P/src/a.ts"}}, "/P"), []string{"src/a.ts"})
}

func TestBlade_H15_ranking(t *testing.T) {
	t.Parallel()
	got := session.Referenced([]session.Said{
		{Text: "a.go b.go c.go"}, {Text: "b.go d.go"}, {Wrote: []string{"/P/e.go"}}, {Text: "f.go"},
	}, "/P")
	want(t, "candidates", got, []string{"e.go", "b.go", "f.go", "d.go", "c.go"})
}

// turned is a change of the environment for the rest of the turn.
func turned(name string) *session.Patch {
	return &session.Patch{
		Scope: session.ScopeTurn, Env: map[string]string{name: "1"},
		Context: &session.ContextPatch{Value: session.Context{Metadata: map[string]any{name: true}}},
	}
}

func TestBlade_J21_failed_result(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	s, _ := talkOf(t, project(t), deft.SessionOptions{}, []scripted.Step{calls("fails", "works"), calls("see"), {Text: "done"}},
		answers("fails", toolset.Result{Text: "no", IsError: true, Patch: turned("FAILED")}),
		answers("works", toolset.Result{Text: "yes", Patch: turned("WORKED")}),
		reads("see", func(_ context.Context, c toolset.Call) (toolset.Result, error) {
			seen = c.Turn.Session().Effective().Env
			return toolset.Result{Text: "seen"}, nil
		}))
	runs(t, t.Context(), s, "go")
	want(t, "environment", seen, map[string]string{"WORKED": "1"})
}

func TestBlade_J22_legacy_metadata(t *testing.T) {
	t.Parallel()
	meta := map[string]any{"skillId": "x", "skillName": "x", "allowedTools": []string{"Read"}, "modelId": "big", "systemPromptAppend": "obey"}
	raw, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	changed := -1
	s, m := talkOf(t, project(t, "skills/x"), deft.SessionOptions{}, []scripted.Step{calls("tells"), calls("see"), {Text: "done"}},
		answers("tells", toolset.Result{Text: string(raw), Structured: meta, Meta: toolset.Meta{Activated: []string{"x"}}}),
		reads("see", func(_ context.Context, c toolset.Call) (toolset.Result, error) {
			changed = c.Turn.Session().Layers().Len()
			return toolset.Result{Text: "seen"}, nil
		}))
	runs(t, t.Context(), s, "go")
	want(t, "patches, tools", []any{changed, len(m.Requests()[0].Tools) == len(m.Requests()[2].Tools)}, []any{0, true})
}

func TestBlade_J23_end_always(t *testing.T) {
	t.Parallel()
	ends := map[agent.Stop]scripted.Step{
		agent.StopEnd:       {Text: "done"},
		agent.StopModel:     {Error: &scripted.Failure{Kind: model.KindRequest, Message: "no"}},
		agent.StopCancelled: calls("abort"),
	}
	for stop, last := range ends {
		ctx, cancel := context.WithCancel(t.Context())
		during := 0
		s, _ := talkOf(t, skilled(t, "scope: turn", "allowed-tools: [see, abort]"), deft.SessionOptions{}, []scripted.Step{loading("x"), calls("see"), last},
			reads("see", func(_ context.Context, c toolset.Call) (toolset.Result, error) {
				during = len(c.Turn.Session().Layers().Turn())
				return toolset.Result{Text: "seen"}, nil
			}),
			reads("abort", func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				cancel()
				return toolset.Result{}, ctx.Err()
			}))
		end := runs(t, ctx, s, "go")
		cancel()
		want(t, string(stop), []any{end.Stop, during, len(s.Active()), s.Effective().Allow}, []any{stop, 1, 0, [][]string{}})
	}
}

func TestBlade_J24_model_switch(t *testing.T) {
	t.Parallel()
	big := scripted.New("big", scripted.Script{Steps: []scripted.Step{{Text: "done by big"}}})
	models := func(id string) (model.Model, bool) { return big, id == "big" }
	for id, answer := range map[string]string{"big": "done by big", "none": "done"} {
		s, m := talkOf(t, skilled(t, "model: "+id), deft.SessionOptions{Models: models}, []scripted.Step{loading("x"), {Text: "done"}})
		end := runs(t, t.Context(), s, "go")
		want(t, id, []any{end.Answer, len(m.Requests()) == 2}, []any{answer, id == "none"})
	}
	s, err := session.New(t.Context(), session.Options{
		Snapshots: local(t, skilled(t, "model: none")), Dialect: dialect, Models: func(string) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range start(t, turnOf(t, s), "x").Loaded {
		want(t, "warning", codes(l.Diagnostics), "model_unknown")
	}
}

func TestBlade_J27_same_loop(t *testing.T) {
	t.Parallel()
	var seen []any
	s, _ := talkOf(t, project(t), deft.SessionOptions{}, []scripted.Step{calls("set"), calls("see"), {Text: "done"}},
		answers("set", toolset.Result{Text: "set", Patch: turned("A")}),
		reads("see", func(_ context.Context, c toolset.Call) (toolset.Result, error) {
			e := c.Turn.Session().Effective()
			seen = []any{e.Env, e.Context.Metadata}
			return toolset.Result{Text: "seen"}, nil
		}))
	runs(t, t.Context(), s, "go")
	want(t, "during", seen, []any{map[string]string{"A": "1"}, map[string]any{"A": true}})
	want(t, "after", s.Effective().Env, map[string]string{})
}

// A change that the session cannot take makes a failure of the call.
func TestAPatchThatIsTooMuchFailsTheCall(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1<<20)
	s, m := talkOf(t, project(t), deft.SessionOptions{}, []scripted.Step{calls("set"), {Text: "done"}},
		answers("set", toolset.Result{Text: "set", Patch: &session.Patch{Prompt: &long}}))
	runs(t, t.Context(), s, "go")
	last := m.Requests()[1].Messages
	r := last[len(last)-1].Results[0]
	want(t, "result", []any{r.IsError, strings.Contains(r.Text, "limit_prompt_bytes"), s.Effective().Prompt}, []any{true, true, ""})
	if _, err := s.Begin(t.Context(), deft.Input{Text: "again"}); errors.Is(err, session.ErrBusy) {
		t.Error(fmt.Errorf("after the turn: %w", err))
	}
}
