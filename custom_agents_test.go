package deft_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/toolset"
)

// someSkills are skills of a home.
func someSkills(names ...string) map[string]string {
	out := map[string]string{}
	for _, n := range names {
		out[".claude/skills/"+n+"/SKILL.md"] = "---\nname: " + n + "\ndescription: Does " + n + ".\n---\n\nThis is how to " + n + ".\n"
	}
	return out
}

// asAgent opens a session over skills a, b and a definition named "me".
func asAgent(t *testing.T, definition string, answer func(context.Context, model.Request) model.Step, change func(*deft.Options)) *nest {
	t.Helper()
	n := &nest{t: t, home: t.TempDir(), dir: t.TempDir(), model: &answering{answer: answer}}
	write(t, n.home, someSkills("alpha", "beta"))
	write(t, n.home, map[string]string{".deft/agents/me.md": "---\nname: me\n" + definition + "---\n\nYou are me.\n"})
	write(t, n.dir, map[string]string{"note.txt": "hello\n"})
	o := deft.Options{Workspace: n.dir, Home: n.home, NoBuiltin: true, Project: registry.ProjectAlways}
	if change != nil {
		change(&o)
	}
	n.engine = open(t, o)
	d, err := n.engine.Agent(t.Context(), "me")
	if err != nil {
		t.Fatal(err)
	}
	n.s = newSession(t, n.engine, deft.SessionOptions{Model: n.model, Agent: &d, Auto: gate.AlwaysConfirm})
	return n
}

// steps answers with one step after the other, then says it is done.
func steps(list ...model.Step) func(context.Context, model.Request) model.Step {
	i := 0
	return func(context.Context, model.Request) model.Step {
		if i++; i <= len(list) {
			return list[i-1]
		}
		return says("done")
	}
}

// outcomes lists what became of each call, in order.
func (n *nest) outcomes() string {
	var out []string
	for _, e := range n.events {
		if e.Type == agent.ToolFinished {
			out = append(out, e.Call.Tool+" "+e.Call.Code)
		}
	}
	return strings.Join(out, ", ")
}

func TestAnAgentKnowsNoSkillBesideItsOwn(t *testing.T) {
	t.Parallel()
	n := asAgent(t, "skills: [alpha]\n", steps(calls("skill", map[string]any{"name": "beta"}), calls("skill_read", map[string]any{"name": "beta", "path": "SKILL.md"}), calls("skill", map[string]any{"name": "gamma"})), nil)
	if end := n.run(t.Context(), deft.Input{Text: "go"}); end.Stop != agent.StopEnd {
		t.Fatalf("%+v", end)
	}
	want(t, "outcomes", n.outcomes(), "skill skill_unknown, skill_read skill_unknown, skill skill_unknown")
	first := n.model.requests[0]
	prompt := first.Messages[0].Text
	for _, b := range first.System {
		prompt += b.Text
	}
	if !strings.Contains(prompt, "You are me.") || !strings.Contains(prompt, "This is how to alpha.") || strings.Contains(prompt, "beta") || strings.Contains(prompt, "You are a sub-agent") {
		t.Error(prompt)
	}
	// A second turn starts it no second time.
	n.events = nil
	n.run(t.Context(), deft.Input{Text: "again"})
	for _, e := range n.events {
		if e.Type == agent.SkillActivated {
			t.Errorf("%+v", e.Skill)
		}
	}
}

func TestAToolOutsideAnAgentsListIsUnknown(t *testing.T) {
	t.Parallel()
	own := named{toolset.Spec{Name: "swap", Tier: gate.ConfirmOnce, Toolset: "market", Deferred: true, Input: json.RawMessage(`{"type":"object"}`)}}
	more := func(o *deft.Options) { o.Tools = []toolset.Tool{own} }
	try := []model.Step{
		calls("write", map[string]any{"path": "x", "content": "y"}), calls("tool_invoke", map[string]any{"tool": "write", "input": map[string]any{"path": "x", "content": "y"}}),
		calls("swap", map[string]any{}), calls("tool_invoke", map[string]any{"tool": "swap", "input": map[string]any{}}), calls("read", map[string]any{"path": "note.txt"}),
	}
	for definition, outcomes := range map[string]string{
		"tools: [read, tool_invoke]\n":               "write unknown_tool, tool_invoke unknown_tool, swap unknown_tool, tool_invoke unknown_tool, read ",
		"tools: [tool_invoke]\ntoolsets: [market]\n": "write unknown_tool, write unknown_tool, swap , swap , read unknown_tool",
		"tools: []\n":       "write unknown_tool, tool_invoke unknown_tool, swap unknown_tool, tool_invoke unknown_tool, read unknown_tool",
		"tier: READ_ONLY\n": "write ceiling, write ceiling, swap ceiling, swap ceiling, read ",
		"risk_tier_max: 1\ntool_names: read, write, bash\n": "write ceiling, tool_invoke unknown_tool, swap unknown_tool, tool_invoke unknown_tool, read ",
	} {
		n := asAgent(t, definition, steps(try...), more)
		n.run(t.Context(), deft.Input{Text: "go"})
		want(t, definition, n.outcomes(), outcomes)
	}
}

func TestTheCeilingIsTheLowerOfInputAndAgent(t *testing.T) {
	t.Parallel()
	write := calls("write", map[string]any{"path": "x", "content": "y"})
	n := asAgent(t, "tier: MANUAL_ONLY\n", steps(write), nil)
	n.run(t.Context(), deft.Input{Text: "go", Ceiling: gate.ReadOnly})
	want(t, "outcomes", n.outcomes(), "write ceiling")
}

// The ceiling of an agent lifts none: what a signal starts without one reads and no more. And
// the signal is what started it, whatever stands beside it.
func TestASignalStartsAnAgentWithinItsOwnBounds(t *testing.T) {
	t.Parallel()
	write := calls("write", map[string]any{"path": "x", "content": "y"})
	for _, c := range []struct {
		definition, source, want string
		ceiling                  gate.Tier
	}{
		{"tier: ALWAYS_CONFIRM\n", "cron", "write ceiling", 0},
		{"tier: READ_ONLY\n", "cron", "write ceiling", gate.AlwaysConfirm},
		{"tier: MANUAL_ONLY\ntriggers: [cron]\n", "cron", "write no_grant", gate.AlwaysConfirm},
		{"triggers: [cron, manual]\n", "webhook", "", gate.AlwaysConfirm},
	} {
		n := asAgent(t, c.definition, steps(write), nil)
		in := deft.Input{
			Text: "go", Origin: gate.Interactive, Ceiling: c.ceiling, Signal: &route.Signal{Source: c.source, Severity: "info"},
			Stages: route.Stages(route.Discover, route.Evaluate, route.Decide, route.Manage),
		}
		end := n.run(t.Context(), in)
		want(t, c.definition, n.outcomes(), c.want)
		want(t, c.definition, end.Code, map[bool]string{true: "agent_trigger"}[c.want == ""])
	}
}

func TestAnAgentIsStartedByItsTriggersAlone(t *testing.T) {
	t.Parallel()
	for definition, refused := range map[string]string{
		"":                     "",
		"triggers: [manual]\n": "cron webhook event",
		"triggers: cron\n":     "interactive webhook event",
		"triggers: [{cron: \"0 9 * * *\"}, event]\n": "interactive webhook",
	} {
		n := asAgent(t, definition, steps(), nil)
		var got []string
		for _, o := range []gate.Origin{gate.Interactive, gate.Cron, gate.Webhook, gate.Event} {
			end := n.run(t.Context(), deft.Input{Text: "go", Origin: o})
			if end.Stop == agent.StopRefused && end.Code == "agent_trigger" {
				got = append(got, string(o))
			}
		}
		want(t, definition, strings.Join(got, " "), refused)
	}
}

func TestKeptAgentsComeBeforeFiles(t *testing.T) {
	t.Parallel()
	kept := func(o *deft.Options) {
		o.AgentTexts = func(context.Context) ([]deft.AgentText, error) {
			return []deft.AgentText{{ID: "me", Text: "---\nname: Me\ntier: READ_ONLY\n---\n"}, {ID: "bad", Text: "---\ntier: [x]\n---\n"}}, nil
		}
	}
	n := asAgent(t, "", steps(), kept)
	d, err := n.engine.Agent(t.Context(), "me")
	if err != nil || d.Ceiling != gate.ReadOnly || d.Name != "Me" || d.Path != "kept:me" {
		t.Errorf("%+v %v", d, err)
	}
	_, diags := n.engine.Agents(t.Context())
	if len(diags) != 2 || diags[0].File != "kept:bad" || diags[0].Line != 2 || !strings.Contains(diags[1].Message, "taken by kept:me") {
		t.Errorf("%+v", diags)
	}
	var unknown *deft.UnknownAgentError
	if _, err := n.engine.Agent(t.Context(), "you"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "general") {
		t.Error(err)
	}
}

func TestAgentsOfAProjectWaitForTrust(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	write(t, dir, map[string]string{".deft/agents/mine.md": "---\nname: mine\n---\n", ".claude/agents/theirs.md": "---\nname: theirs\n---\n", ".github/agents/copilot.agent.md": "---\ndescription: D\n---\n"})
	write(t, home, map[string]string{".claude/agents/theirs.md": "---\nname: theirs\n---\n", ".config/opencode/agent/review.md": "---\ndescription: Reviews.\nmode: subagent\n---\n"})
	for _, c := range []struct {
		o    deft.Options
		want string
	}{
		{deft.Options{Project: registry.ProjectAsk}, "theirs review"},
		{deft.Options{Project: registry.ProjectAlways}, "mine theirs copilot review"},
		{deft.Options{Project: registry.ProjectAlways, NoExternal: true}, "mine"},
	} {
		c.o.Workspace, c.o.Home = dir, home
		kinds, diags := open(t, c.o).Agents(t.Context())
		want(t, "kinds", strings.Join(deft.AgentNames(kinds[len(agent.BuiltinDefinitions()):]), " "), c.want)
		if len(diags) != 0 {
			t.Errorf("%+v", diags)
		}
	}
}

func TestATaskIsCarriedOutByASubAgent(t *testing.T) {
	t.Parallel()
	answer := func(_ context.Context, r model.Request) model.Step {
		switch {
		case asks(r, "find the tea"):
			if strings.Contains(last(r), "hello") {
				return says("The tea is in note.txt.")
			}
			if len(r.Messages) > 1 {
				return says("refused: " + last(r))
			}
			return calls("read", map[string]any{"path": "note.txt"})
		case asks(r, "write it"):
			if len(r.Messages) > 1 {
				return says("it said: " + last(r))
			}
			return calls("write", map[string]any{"path": "tea", "content": "x"})
		case strings.Contains(last(r), "note.txt"):
			return says("Found.")
		}
		return model.Step{Calls: []model.Call{
			{ID: "1", Name: "task", Input: json.RawMessage(`{"agent":"explorer","prompt":"find the tea"}`)},
			{ID: "2", Name: "task", Input: json.RawMessage(`{"agent":"explorer","prompt":"write it"}`)},
			{ID: "3", Name: "task", Input: json.RawMessage(`{"agent":"nobody","prompt":"x"}`)},
			{ID: "4", Name: "task", Input: json.RawMessage(`{"prompt":" "}`)},
		}}
	}
	n := newNest(t, func(o *deft.SessionOptions) { o.Auto = gate.AlwaysConfirm }, answer)
	write(t, n.dir, map[string]string{"note.txt": "hello\n"})
	end := n.run(t.Context(), deft.Input{Text: "where is the tea"})
	want(t, "answer", end.Answer, "Found.")
	results := n.model.requests[len(n.model.requests)-1].Messages
	var texts []string
	for _, r := range results[len(results)-1].Results {
		texts = append(texts, r.Text)
	}
	got := strings.Join(texts, "\n--\n")
	for _, part := range []string{"The tea is in note.txt.\n[sub_", "2 steps, 1 tool calls, 20 input and 2 output tokens]", "CONFIRM_ONCE is above this turn's ceiling READ_ONLY", "No agent is named \"nobody\"", "prompt is empty"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
	started := 0
	for _, e := range n.events {
		if e.Type == agent.SubagentStarted {
			started++
			if e.Skill != nil || e.Sub.Skill != "" || e.Sub.Agent != "explorer" {
				t.Errorf("%+v", e.Sub)
			}
		}
	}
	if started != 2 || end.Usage.Input < 60 {
		t.Errorf("%d started, %+v", started, end.Usage)
	}
}

func TestTasksGoThreeDeep(t *testing.T) {
	t.Parallel()
	deepest := 0
	answer := func(_ context.Context, r model.Request) model.Step {
		has := false
		for _, tool := range r.Tools {
			has = has || tool.Name == "task"
		}
		depth := strings.Count(r.Messages[0].Text, "deeper")
		if has && len(r.Messages) == 1 {
			return calls("task", map[string]any{"agent": "general", "prompt": strings.Repeat("deeper ", depth+1)})
		}
		deepest = max(deepest, depth)
		return says("end")
	}
	n := newNest(t, func(o *deft.SessionOptions) { o.Auto = gate.AlwaysConfirm }, answer)
	n.run(t.Context(), deft.Input{Text: "go"})
	if deepest != 3 {
		t.Errorf("%d deep", deepest)
	}
}

func TestASubAgentIsBoundByTheAgentAboveIt(t *testing.T) {
	t.Parallel()
	answer := func(_ context.Context, r model.Request) model.Step {
		if asks(r, "overstep") {
			switch len(r.Messages) {
			case 1:
				return calls("write", map[string]any{"path": "x", "content": "y"})
			case 3:
				return calls("skill", map[string]any{"name": "beta"})
			}
			return says("done")
		}
		if len(r.Messages) == 1 {
			return calls("task", map[string]any{"agent": "general", "prompt": "overstep"})
		}
		return says("done")
	}
	n := asAgent(t, "skills: [alpha]\ntools: [task, read]\n", answer, nil)
	n.run(t.Context(), deft.Input{Text: "go"})
	var codes []string
	for _, e := range n.events {
		if e.Type == agent.SubagentEvent && e.Sub.Event.Type == agent.ToolFinished {
			codes = append(codes, e.Sub.Event.Call.Tool+" "+e.Sub.Event.Call.Code)
		}
	}
	want(t, "codes", strings.Join(codes, ", "), "write unknown_tool, skill skill_unknown")
}

// named is a tool of the host that does nothing.
type named struct{ spec toolset.Spec }

func (n named) Spec() toolset.Spec { return n.spec }

func (n named) Call(context.Context, toolset.Call) (toolset.Result, error) {
	return toolset.Result{Text: "did"}, nil
}
