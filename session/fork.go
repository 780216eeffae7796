package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/internal/toolrule"
	"github.com/deftskills/deft/skill"
)

// generalAgent is the kind of sub-agent for a skill that names none.
const generalAgent = "general"

// Fork is a skill that a sub-agent carries out: nothing of it is applied to the session
// that started it, which gets the sub-agent's last answer.
type Fork struct {
	Skill      string            `json:"skill"` // address
	Agent      string            `json:"agent"` // the kind of sub-agent
	Task       string            `json:"task"`  // the body with its arguments; never blank
	Model      string            `json:"model,omitempty"`
	Effort     string            `json:"effort,omitempty"`
	Tools      ToolPolicy        `json:"tools"` // of the skill; a host applies it to the sub-agent's session
	Env        map[string]string `json:"env,omitempty"`
	Depth      int               `json:"depth"`      // 1 = of a session that is no sub-agent's
	Background bool              `json:"background"` // the answer may come after the call has returned

	task Applied // what the skill brings to the session that carries it out
}

// Identity is the skill as it was handed out; zero for a Fork that a host made itself.
func (f Fork) Identity() Activation {
	if f.task.Skill == nil {
		return Activation{}
	}
	return *f.task.Skill
}

// forks are the dialects that know forked skills.
func forks(d skill.Dialect) bool { return d == "" || d == skill.Deft || d == skill.ClaudeCode }

// Forks reports whether a skill is carried out by a sub-agent in a dialect, where there
// are sub-agents.
func Forks(s *skill.Skill, d skill.Dialect) bool { return s.Meta.Context == "fork" && forks(d) }

// ForkKind is the kind of sub-agent that a forked skill asks for.
func ForkKind(s *skill.Skill) string { return orElse(s.Meta.Agent, generalAgent) }

// forked reports whether the candidate is carried out by a sub-agent.
func (c *candidate) forked(t *Turn) bool {
	return Forks(c.rec.Skill, t.s.o.Dialect) && t.s.o.Agents != nil
}

// checkFork holds a forked skill against the kinds of sub-agents and against those that
// run already. It never lets one run in place for want of a kind.
func checkFork(_ context.Context, t *Turn, r Request, c *candidate) (*Refusal, error) {
	m := &c.rec.Skill.Meta
	name := field(c.rec.Address)
	refuse := func(code, format string, args ...any) (*Refusal, error) {
		return &Refusal{Name: c.asked, Code: code, Message: fmt.Sprintf(format, args...) + " Not started."}, nil
	}
	switch o := &t.s.o; {
	case m.Context != "fork" && m.Agent != "":
		c.note("fork_agent_without_context", "add context: fork, or take agent out", "agent %q: without context: fork it says nothing", m.Agent)
	case m.Context == "fork" && !c.forked(t):
		c.note("fork_inline", "run it in a host with sub-agents", "context: fork is not known here; the skill runs in this conversation")
	case m.Context != "fork":
	case r.Replace:
		return refuse("fork_set", "%q is carried out by a sub-agent and is no member of a set.", name)
	case !slices.Contains(o.Agents, c.kind()):
		return refuse("fork_unknown_agent", "%q asks for a sub-agent of kind %q; there are: %s.", name, field(c.kind()), join(o.Agents))
	case slices.Contains(o.Chain, c.rec.Address):
		return refuse("fork_recursion", "%q runs already, and this is its sub-agent.", name)
	case len(o.Chain) >= limits.ForkDepth:
		return refuse("fork_depth", "%q would be sub-agent %d in a row, limit %d.", name, len(o.Chain)+1, limits.ForkDepth)
	}
	return nil, nil
}

func (c *candidate) note(code, fix, format string, args ...any) {
	c.diags = append(c.diags, skill.Diagnostic{
		Code: code, Level: skill.LevelWarning, File: "SKILL.md", Offset: -1, Message: fmt.Sprintf(format, args...), Fix: fix,
	})
}

func (c *candidate) kind() string { return ForkKind(c.rec.Skill) }

// fork answers for a skill that a sub-agent carries out. The layers stay as they are.
func (t *Turn) fork(ctx context.Context, r Request, name string, c *candidate) (Result, error) {
	f := &Fork{
		Skill: c.rec.Address, Agent: c.kind(), Env: c.env, Depth: len(t.s.o.Chain) + 1,
		Background: c.rec.Skill.Meta.Background, Task: strings.TrimSpace(c.content),
	}
	now := t.s.Layers()
	if f.Task == "" {
		refusal := &Refusal{Name: c.asked, Code: "fork_empty", Message: fmt.Sprintf("%q has no text: there is nothing for a sub-agent to do. Not started.", field(f.Skill))}
		refusal.settle(t, c, r.Actor)
		return Result{Refused: []Refusal{*refusal}, Text: refusal.Message}, t.record(ctx, "fork", r, name, c, refusal.Code, now, now)
	}
	if c.appended != "" {
		f.Task += "\n\n" + c.appended
	}
	if c.model != nil {
		f.Model, f.Effort = c.model.ID, c.model.Effort
	}
	if c.tools != nil {
		f.Tools = *c.tools
	}
	f.task = c.task(t)
	if err := t.record(ctx, "fork", r, name, c, "", now, now); err != nil {
		return Result{}, err
	}
	loaded := c.loaded()
	loaded.Fork = f
	text := fmt.Sprintf("The skill %q is carried out by a sub-agent of kind %q.", field(f.Skill), field(f.Agent))
	return Result{Loaded: []Loaded{loaded}, Text: text}, nil
}

// Answer is the text of a sub-agent as the one that started it gets it: cut at a line end
// to at most 32 KiB.
func (f Fork) Answer(text string) string {
	if len(text) <= limits.ForkAnswer {
		return text
	}
	text = strings.ToValidUTF8(text[:limits.ForkAnswer-64], "")
	if end := strings.LastIndexByte(text, '\n'); end > 0 {
		text = text[:end]
	}
	return text + fmt.Sprintf("\n[cut at %d KiB]", limits.ForkAnswer>>10)
}

// task is the patch that holds from the first to the last moment of the session that
// carries the skill out: its own limits, grants and environment, without its text, which
// is the request.
func (c *candidate) task(t *Turn) Applied {
	a := c.applied(t, 0)
	a.Scope, a.Skill.Scope = ScopeSession, ScopeSession
	a.Skill.InResult, a.Skill.Text = true, ""
	return a
}

// Child returns the options of the session in which a sub-agent carries f out: its own
// layers, the same skills and rules, the host's floor and every deny that holds now; no
// allow list, grant, prompt or turn of this session. What the skill itself says of tools,
// model and environment holds there from the start, and nothing in that session ends it.
// Hooks is nil: the other session needs a registrar of its own.
func (s *Session) Child(f Fork) Options {
	o := s.o
	o.ID, o.Hooks = "", nil
	o.Chain = append(slices.Clone(s.o.Chain), f.Skill)
	e := s.Effective()
	floor := s.o.Base.Floor
	deny := slices.DeleteFunc(slices.Clone(e.Deny), func(rule string) bool {
		// A skill's list does not take the steering tools away, and here it would.
		return toolrule.AlwaysCallable(rule) && !slices.Contains(floor.Deny, rule)
	})
	o.Base = Base{
		Floor: Policy{Allow: floor.Allow, Deny: deny},
		Model: orElse(f.Model, e.Model), Effort: orElse(f.Effort, e.Effort), Env: s.o.Base.Env, Context: s.o.Base.Context,
	}
	if f.task.Skill != nil { // a Fork that a host made itself has none
		o.Base.task = &f.task
	}
	return o
}
