package deft_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/casetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

// answering is a model that answers by what it is asked, so that it does not matter which
// of several sub-agents asks first.
type answering struct {
	answer func(ctx context.Context, r model.Request) model.Step
	window int // tokens; 0 = unknown

	mu       sync.Mutex
	requests []model.Request
}

func (m *answering) Info() model.Info {
	return model.Info{Provider: "test", Name: "answering", Window: m.window}
}

func (m *answering) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		m.mu.Lock()
		m.requests = append(m.requests, r)
		m.mu.Unlock()
		step := m.answer(ctx, r)
		if ctx.Err() != nil {
			yield(model.Delta{}, model.FromTransport(ctx, ctx.Err(), false))
			return
		}
		if step.Text != "" && !yield(model.Delta{Text: step.Text}, nil) {
			return
		}
		stop := model.StopEnd
		for i := range step.Calls {
			stop = model.StopTools
			if !yield(model.Delta{Call: &step.Calls[i]}, nil) {
				return
			}
		}
		yield(model.Delta{Stop: stop, Usage: &model.Usage{Input: 10, Output: 1}}, nil)
	}
}

func calls(tool string, input any) model.Step {
	src, _ := json.Marshal(input)
	return model.Step{Calls: []model.Call{{Name: tool, Input: src}}}
}

func says(text string) model.Step { return model.Step{Text: text} }

// last is the newest text that the model was given.
func last(r model.Request) string {
	m := r.Messages[len(r.Messages)-1]
	text := m.Text
	for _, res := range m.Results {
		text += res.Text
	}
	return text
}

// asks reports whether the request is of the sub-agent that has this task.
func asks(r model.Request, task string) bool {
	return strings.Contains(r.Messages[0].Text, "You are a sub-agent") && strings.Contains(r.Messages[0].Text, task)
}

func forkedSkill(name, more, body string) map[string]string {
	return map[string]string{".claude/skills/" + name + "/SKILL.md": "---\nname: " + name + "\ndescription: Does " + name + ".\ncontext: fork\n" + more + "---\n\n" + body + "\n"}
}

type nest struct {
	t      *testing.T
	home   string
	dir    string
	engine *deft.Engine
	model  *answering
	s      *deft.Session
	events []deft.Event
}

// newNest opens a session over skills of a home.
func newNest(t *testing.T, change func(*deft.SessionOptions), answer func(context.Context, model.Request) model.Step, files ...map[string]string) *nest {
	t.Helper()
	n := &nest{t: t, home: t.TempDir(), dir: t.TempDir(), model: &answering{answer: answer}}
	for _, f := range files {
		write(t, n.home, f)
	}
	n.engine = open(t, deft.Options{Workspace: n.dir, Home: n.home, NoBuiltin: true, Project: registry.ProjectAlways})
	o := deft.SessionOptions{Model: n.model}
	if change != nil {
		change(&o)
	}
	n.s = newSession(t, n.engine, o)
	return n
}

func (n *nest) run(ctx context.Context, in deft.Input) *agent.End {
	n.t.Helper()
	if in.Origin == "" {
		in.Origin, in.Principal = gate.Interactive, "user"
	}
	var end *agent.End
	for e, err := range n.s.Run(ctx, in) {
		n.events = append(n.events, e)
		if e.Type == agent.TurnFinished {
			end = e.End
			if err != nil {
				n.t.Logf("the turn ends with %v", err)
			}
		}
	}
	return end
}

// told lists what became of sub-agents, those of sub-agents indented.
func (n *nest) told() string {
	var b strings.Builder
	var tell func(depth string, e deft.Event)
	tell = func(depth string, e deft.Event) {
		switch e.Type {
		case agent.SubagentStarted:
			fmt.Fprintf(&b, "%s+%s %s %s by %s\n", depth, e.Sub.ID, e.Sub.Skill, e.Sub.Agent, e.Skill.By)
		case agent.SubagentEvent:
			tell(depth+" ", *e.Sub.Event)
		case agent.SubagentFinished:
			fmt.Fprintf(&b, "%s-%s %s %q\n", depth, e.Sub.ID, e.Sub.Stop, e.Sub.Answer)
		case agent.ToolFinished:
			fmt.Fprintf(&b, "%s%s %s\n", depth, e.Call.Tool, e.Call.Code)
		}
	}
	for _, e := range n.events {
		tell("", e)
	}
	return b.String()
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

func TestAForkedSkillIsCarriedOutByASubAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, background, text, told string }{
		{"waited for", "background: false\n", "go", "+sub_1 scan general by model\n look_around \n-sub_1 end \"two entry points\"\nskill \n"},
		{"beside the turn", "", "go", "+sub_1 scan general by model\n"},
		{"named by the person", "", "/scan src", "+sub_1 scan general by user\n-sub_1 end \"two entry points\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := newNest(t, nil, func(_ context.Context, r model.Request) model.Step {
				switch {
				case asks(r, "Count the entry points."):
					return says("two entry points")
				case strings.Contains(last(r), "two entry points"):
					return says("there are two")
				case c.text == "go" && len(r.Messages) == 1:
					return calls("skill", map[string]string{"name": "scan", "arguments": "src"})
				}
				return says("waiting")
			}, forkedSkill("scan", c.background, "Count the entry points."))
			end := n.run(t.Context(), deft.Input{Text: c.text})
			if end.Stop != agent.StopEnd || end.Answer != "there are two" {
				t.Errorf("%+v", end)
			}
			if got := n.told(); !strings.Contains(got, "by "+map[bool]string{true: "user", false: "model"}[c.text != "go"]) || strings.Count(got, "two entry points") != 1 {
				t.Errorf("told:\n%s", got)
			}
			if len(n.s.Active()) != 0 {
				t.Errorf("active: %+v", n.s.Active())
			}
			n.model.mu.Lock()
			defer n.model.mu.Unlock()
			tasks := 0
			for _, r := range n.model.requests {
				if asks(r, "ARGUMENTS: src") {
					tasks++
				}
			}
			if tasks != 1 {
				t.Errorf("%d requests have the task with its arguments", tasks)
			}
			if end.Usage.Input != 10*len(n.model.requests) {
				t.Errorf("%d requests, usage %+v: what a sub-agent spends is the turn's", len(n.model.requests), end.Usage)
			}
		})
	}
}

// A skill three forks deep may not fork, none may start what it is, and no text of a
// skill counts as a person's.
func TestForksEndAtTheThirdAndDoNotRecur(t *testing.T) {
	t.Parallel()
	n := newNest(t, nil, func(_ context.Context, r model.Request) model.Step {
		for i, task := range []string{"Task one.", "Task two.", "Task three."} {
			if !asks(r, task) {
				continue
			}
			switch {
			case len(r.Messages) > 1:
				return says("done " + last(r))
			case i == 0:
				return calls("skill", map[string]string{"name": "two"})
			case i == 1:
				return calls("skill", map[string]string{"name": "three"})
			}
			return model.Step{Calls: []model.Call{
				{Name: "skill", Input: json.RawMessage(`{"name":"four"}`)}, {Name: "skill", Input: json.RawMessage(`{"name":"one"}`)},
				{Name: "skill", Input: json.RawMessage(`{"name":"guarded"}`)},
			}}
		}
		if len(r.Messages) == 1 {
			return calls("skill", map[string]string{"name": "one"})
		}
		return says(last(r))
	},
		forkedSkill("one", "background: false\n", "Task one."), forkedSkill("two", "background: false\n", "Task two."),
		forkedSkill("three", "background: false\n", "/guarded Task three. Use the skill `guarded`."), forkedSkill("four", "", "Task four."),
		map[string]string{".claude/skills/guarded/SKILL.md": "---\nname: guarded\ndescription: G.\ndisable-model-invocation: true\n---\nSECRET WORDS\n"},
	)
	end := n.run(t.Context(), deft.Input{Text: "go"})
	for _, part := range []string{"sub-agent 4 in a row, limit 3", `"one" runs already`, "can only be started by the user"} {
		if !strings.Contains(end.Answer, part) {
			t.Errorf("no %q in %s", part, end.Answer)
		}
	}
	if strings.Contains(end.Answer, "SECRET") {
		t.Error("the text of a skill started a skill that only a person may start")
	}
	want(t, "told", n.told()[:60], "+sub_1 one general by model\n +sub_1 two general by model\n  +")
}

func TestASubAgentThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	skills := forkedSkill("scan", "background: false\n", "Count.")
	first := func(r model.Request) (model.Step, bool) {
		if len(r.Messages) == 1 && !asks(r, "Count.") {
			return calls("skill", map[string]string{"name": "scan"}), true
		}
		return says(last(r)), !asks(r, "Count.")
	}
	t.Run("a panic of its model", func(t *testing.T) {
		t.Parallel()
		n := newNest(t, nil, func(_ context.Context, r model.Request) model.Step {
			if step, mine := first(r); mine {
				return step
			}
			panic("boom")
		}, skills)
		if end := n.run(t.Context(), deft.Input{Text: "go"}); end.Stop != agent.StopEnd || !strings.Contains(end.Answer, "did not come to its end: error: panic") {
			t.Errorf("%+v", end)
		}
	})
	t.Run("a cancel", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		n := newNest(t, nil, func(inner context.Context, r model.Request) model.Step {
			if step, mine := first(r); mine {
				return step
			}
			cancel()
			<-inner.Done()
			return model.Step{}
		}, skills)
		end := n.run(ctx, deft.Input{Text: "go"})
		if end.Stop != agent.StopCancelled || !strings.Contains(n.told(), "-sub_1 cancelled") {
			t.Errorf("%+v\n%s", end, n.told())
		}
		if len(n.s.Active()) != 0 {
			t.Error("something is active")
		}
	})
	t.Run("a budget", func(t *testing.T) {
		t.Parallel()
		n := newNest(t, nil, func(_ context.Context, r model.Request) model.Step {
			if step, mine := first(r); mine {
				return step
			}
			if strings.Contains(last(r), "The turn ends here") {
				return says("so far")
			}
			return calls("glob", map[string]any{"pattern": fmt.Sprintf("a%d*", len(r.Messages))})
		}, skills)
		end := n.run(t.Context(), deft.Input{Text: "go", Budget: agent.Budget{Steps: 9}})
		if end.Stop != agent.StopEnd || !strings.Contains(end.Answer, "did not come to its end: max_steps") || !strings.Contains(end.Answer, "so far") {
			t.Errorf("%+v", end)
		}
		if end.Steps != 1+5+1 { // half of 8, and its last words
			t.Errorf("%d steps", end.Steps)
		}
	})
}

// What a sub-agent wants to know is asked of the same person, in its name; what it may
// not do, its caller's turn says.
func TestASubAgentAsksTheSamePersonAndHasTheCeiling(t *testing.T) {
	t.Parallel()
	answer := func(_ context.Context, r model.Request) model.Step {
		if !asks(r, "Write it.") {
			if len(r.Messages) == 1 {
				return calls("skill", map[string]string{"name": "writer"})
			}
			return says(last(r))
		}
		if len(r.Messages) == 1 {
			return calls("write", map[string]string{"path": "a.txt", "content": "x"})
		}
		return says("heard: " + last(r))
	}
	var mu sync.Mutex
	var asked []string
	person := confirmer(func(_ context.Context, q agent.Question) (gate.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, strings.Join(q.Agents, ",")+" "+q.Call.Tool)
		return gate.Answer{Reply: gate.No}, nil
	})
	skills := forkedSkill("writer", "background: false\n", "Write it.")
	n := newNest(t, func(o *deft.SessionOptions) { o.Confirm = person }, answer, skills)
	if end := n.run(t.Context(), deft.Input{Text: "go"}); !strings.Contains(end.Answer, "heard: ") {
		t.Errorf("%+v", end)
	}
	want(t, "asked", strings.Join(asked, "\n"), "writer (general) write")

	n = newNest(t, func(o *deft.SessionOptions) { o.Auto = gate.AlwaysConfirm }, answer, skills)
	if end := n.run(t.Context(), deft.Input{Text: "go", Ceiling: gate.ReadOnly, Origin: gate.Interactive}); !strings.Contains(end.Answer, "ceiling") {
		t.Errorf("the ceiling of the turn does not hold in its sub-agent: %s", end.Answer)
	}
	for _, kind := range []string{"explorer", "Explore"} {
		n = newNest(t, func(o *deft.SessionOptions) { o.Auto = gate.AlwaysConfirm }, answer, forkedSkill("writer", "background: false\nagent: "+kind+"\n", "Write it."))
		if end := n.run(t.Context(), deft.Input{Text: "go", Origin: gate.Interactive}); !strings.Contains(end.Answer, "ceiling") {
			t.Errorf("%s writes: %s", kind, end.Answer)
		}
	}
}

type confirmer func(context.Context, agent.Question) (gate.Answer, error)

func (c confirmer) Confirm(ctx context.Context, q agent.Question) (gate.Answer, error) {
	return c(ctx, q)
}

func TestCase043SkillsOfAHelperDefinition(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "043")
	write(t, c.Project, forkedSkill("check", "agent: reviewer\nbackground: false\n", "Check it."))
	m := &answering{answer: func(_ context.Context, r model.Request) model.Step {
		switch {
		case asks(r, "Check it."):
			return says("checked")
		case len(r.Messages) == 1:
			return calls("skill", map[string]string{"name": "check"})
		}
		return says(last(r))
	}}
	for _, c2 := range []struct {
		trust registry.ProjectTrust
		named string
	}{{registry.ProjectAlways, "checked"}, {registry.ProjectAsk, "No skill"}} {
		m.requests = nil
		e := open(t, deft.Options{Workspace: c.Project, Home: c.Home, Project: c2.trust, NoBuiltin: true})
		n := &nest{t: t, engine: e, model: m, s: newSession(t, e, deft.SessionOptions{Model: m})}
		end := n.run(t.Context(), deft.Input{Text: "go"})
		if c2.trust != registry.ProjectAlways {
			if kinds, _ := e.Agents(t.Context()); strings.Contains(strings.Join(deft.AgentNames(kinds), " "), "reviewer") {
				t.Error("a folder that nobody trusts defines a kind")
			}
			continue
		}
		if !strings.Contains(end.Answer, "checked") || !strings.Contains(end.Answer, `its skill "gone" did not start`) {
			t.Errorf("%s", end.Answer)
		}
		for _, r := range m.requests {
			if !asks(r, "Check it.") {
				continue
			}
			text := r.Messages[0].Text
			for _, part := range []string{"# checklist", "# guarded", "Review.", `"gone" was asked for and could not be started`} {
				if strings.Count(text, part) != 1 {
					t.Errorf("%d times %q in\n%s", strings.Count(text, part), part, text)
				}
			}
			for _, b := range r.System {
				if strings.Contains(b.Text, "checklist") {
					t.Errorf("the helper has a catalog:\n%s", b.Text)
				}
			}
		}
	}
}

func TestWithoutAModelAForkIsToldAndNotRun(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, home, forkedSkill("scan", "agent: explorer\nmodel: small\n", "Count the entry points: $ARGUMENTS"))
	e := open(t, deft.Options{Workspace: t.TempDir(), Home: home, NoBuiltin: true, Dialect: skill.Deft})
	kinds, diags := e.Agents(t.Context())
	if len(diags) != 0 {
		t.Error(diags)
	}
	s := newSession(t, e, deft.SessionOptions{Agents: deft.AgentNames(kinds)})
	p, err := s.Plan(t.Context(), deft.Input{Text: "/scan src", Origin: gate.Interactive})
	if err != nil || len(p.Forks) != 1 || len(p.Active) != 0 {
		t.Fatalf("%v %+v", err, p.Forks)
	}
	if f := p.Forks[0]; f.Task != "Count the entry points: src" || f.Agent != "explorer" || f.Model != "small" || p.Skills[0].Digest == "" {
		t.Errorf("%+v %+v", f, p.Skills)
	}
}

func TestAFileThatDefinesNoKindIsAFinding(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, home, map[string]string{
		".deft/agents/a.md":       "---\nname: a\ndescription: A.\ntools: Read, Grep\nskills: [x]\ndiscovery: search\ntier: confirm_once\nmodel: inherit\n---\n\nBe brief.\n",
		".deft/agents/bare.md":    "no header",
		".deft/agents/general.md": "---\nname: general\n---\n",
		".deft/agents/tier.md":    "---\nname: tier\ntier: everything\n---\n",
		".deft/agents/see.md":     "---\nname: see\ndiscovery: all\n---\n",
		".deft/agents/words.md":   "---\nname: two words\n---\n",
		".deft/agents/note.txt":   "not a definition",
		".claude/agents/a.md":     "---\nname: a\n---\n",
	})
	e := open(t, deft.Options{Workspace: t.TempDir(), Home: home})
	kinds, diags := e.Agents(t.Context())
	var codes []string
	for _, d := range diags {
		codes = append(codes, d.Code)
	}
	want(t, "codes", strings.Join(codes, " "), "agent_invalid agent_invalid agent_invalid agent_invalid agent_invalid")
	has := func(d agent.Definition, tool string) bool { return d.HasTool(toolset.Spec{Name: tool}) }
	if two := kinds[len(kinds)-1]; two.ID != "words" || two.Name != "two words" {
		t.Errorf("%+v", two)
	}
	if d := diags[len(diags)-2]; d.Line != 3 || d.Column != 7 || d.Fix == "" || !strings.HasSuffix(d.File, "tier.md") {
		t.Errorf("%+v", d)
	}
	a := kinds[len(kinds)-2]
	if a.Name != "a" || a.Model != "" || a.Ceiling != gate.ConfirmOnce || a.Discovery != agent.DiscoverSearch || strings.Join(a.Skills, " ") != "x" ||
		!has(a, "read") || !has(a, "grep") || has(a, "write") || !strings.HasSuffix(a.SystemPrompt(), "Be brief.") {
		t.Errorf("%+v", a)
	}
}

type (
	modelRequest = model.Request
	modelStep    = model.Step
)

// Eight sub-agents run at once; the ninth is told so.
func TestEightSubAgentsRunAtOnce(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}) // all nine
	var once sync.Once
	files := map[string]string{}
	step := model.Step{}
	for i := range 9 {
		name := fmt.Sprintf("scan%d", i)
		for k, v := range forkedSkill(name, "", "Task "+name+".") {
			files[k] = v
		}
		step.Calls = append(step.Calls, model.Call{Name: "skill", Input: json.RawMessage(`{"name":"` + name + `"}`)})
	}
	n := newNest(t, nil, func(ctx context.Context, r model.Request) model.Step {
		if asks(r, "Task scan") {
			select {
			case <-asked:
			case <-ctx.Done():
			}
			return says("scanned")
		}
		if len(r.Messages) == 1 {
			return step
		}
		once.Do(func() { close(asked) })
		return says("done")
	}, files)
	end := n.run(t.Context(), deft.Input{Text: "go"})
	if got := n.told(); end.Stop != agent.StopEnd || strings.Count(got, `end "scanned"`) != 8 || strings.Count(got, "skill fork_failed") != 1 {
		t.Errorf("%+v\n%s", end, got)
	}
}

// A consumer that stops reading ends the sub-agents too.
func TestWhoStopsReadingEndsTheSubAgents(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	n := newNest(t, nil, func(ctx context.Context, r model.Request) model.Step {
		if asks(r, "Count.") {
			<-ctx.Done()
			close(over)
			return model.Step{}
		}
		if len(r.Messages) == 1 {
			return calls("skill", map[string]string{"name": "scan"})
		}
		<-ctx.Done()
		return model.Step{}
	}, forkedSkill("scan", "", "Count."))
	for e := range n.s.Run(t.Context(), deft.Input{Text: "go", Origin: gate.Interactive}) {
		if e.Type == agent.SubagentEvent && e.Sub.Event.Type == agent.ModelStarted {
			break
		}
	}
	<-over
	if len(n.s.Active()) != 0 {
		t.Error("something is active")
	}
	if _, err := n.s.Plan(t.Context(), deft.Input{Text: "next", Origin: gate.Interactive}); err != nil {
		t.Error(err)
	}
}
