package cli

import (
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
)

// slash is a line of a conversation that is no request: "/NAME REST". It comes before a
// skill of that name.
type slash struct {
	name, args string
	do         func(c *conversation, ctx context.Context, rest string) (over bool, err error)
}

// chatVerbs are the verbs of a conversation, in the order of /help. What each does stands in
// the texts as chat.verb_NAME.
var chatVerbs = [...]slash{
	{"skills", "[WORD]", (*conversation).skills},
	{"agents", "", (*conversation).agents},
	{"model", "[PROVIDER/NAME]", (*conversation).model},
	{"trace", "", (*conversation).trace},
	{"compact", "", (*conversation).compact},
	{"clear", "", (*conversation).clear},
	{"init", "", (*conversation).init},
	{"help", "", nil},
	{"exit", "", func(*conversation, context.Context, string) (bool, error) { return true, nil }},
}

// chatVerbOf returns the verb of a name.
func chatVerbOf(name string) (func(*conversation, context.Context, string) (bool, error), bool) {
	if name == "help" {
		return (*conversation).help, true // it lists the table that it stands in
	}
	for _, v := range chatVerbs {
		if v.name == name {
			return v.do, true
		}
	}
	return nil, false
}

func chatVerbNames() []string {
	var out []string
	for _, v := range chatVerbs {
		out = append(out, v.name)
	}
	return out
}

// page is where a verb's answer goes: beside the document where one is printed at the end.
func (c *conversation) page() *safetext.Printer {
	if c.r.globals.json {
		return c.r.err
	}
	return c.r.out
}

func (c *conversation) help(context.Context, string) (bool, error) {
	p, w := c.page(), c.r.words
	for _, v := range chatVerbs {
		p.Printf("%-28s %s\n", strings.TrimSpace("/"+v.name+" "+v.args), w.Say("chat.verb_"+v.name))
	}
	p.Printf("%-28s %s\n", "/SKILL …", w.Say("chat.verb_skill"))
	return false, nil
}

// skills lists what a person may start, the active ones marked.
func (c *conversation) skills(_ context.Context, word string) (bool, error) {
	p, word := c.page(), strings.ToLower(word)
	active := map[string]bool{}
	for _, a := range c.s.Active() {
		active[a.Address] = true
	}
	n := 0
	for _, rec := range c.s.Snapshot().Winners {
		about := safetext.Line(rec.Skill.Description)
		if rec.State != registry.Available || !rec.Skill.Meta.UserInvocable || !strings.Contains(strings.ToLower(rec.Address+" "+about), word) {
			continue
		}
		mark := " "
		if active[rec.Address] {
			mark = "●"
		}
		p.Printf("%s /%s  %s\n", mark, rec.Address, safetext.Clip(about, 100))
		n++
	}
	if n == 0 {
		c.r.hintf("%s", c.r.words.Say("chat.no_skills"))
	}
	return false, nil
}

func (c *conversation) agents(ctx context.Context, _ string) (bool, error) {
	kinds, diags := c.r.engine.Agents(ctx)
	for _, l := range agentLines(kinds) {
		mark := " "
		if c.r.agent != nil && c.r.agent.ID == l[0] {
			mark = "●"
		}
		c.page().Printf("%s %-18s %s\n", mark, l[0], safetext.Clip(safetext.Line(l[1]), 160))
	}
	c.r.report(diags)
	return false, nil
}

func (c *conversation) modelName() string {
	if c.m == nil {
		return c.r.words.Say("chat.no_model")
	}
	return c.m.Info().String()
}

// model shows the model or takes another one from the next turn on.
func (c *conversation) model(ctx context.Context, name string) (bool, error) {
	switch {
	case name == "":
		c.page().Printf("%s\n", c.modelName())
		return false, nil
	case c.m == nil:
		c.r.hintf("%s", c.r.words.Say("chat.without_model"))
		return false, nil
	}
	o := c.o
	o.model = name
	m, err := c.r.chooseModel(ctx, o)
	if err != nil {
		c.r.hintf("%s %s", c.r.words.Say("error"), failureOf(err, false).message)
		return false, nil
	}
	c.m.become(m)
	c.o = o
	c.page().Printf("%s\n", c.modelName())
	return false, nil
}

// trace tells what happened in the last turn.
func (c *conversation) trace(context.Context, string) (bool, error) {
	if len(c.doc.Turns) == 0 {
		c.r.hintf("%s", c.r.words.Say("chat.no_turn"))
		return false, nil
	}
	p, w, t := c.page(), c.r.words, c.doc.Turns[len(c.doc.Turns)-1]
	p.Printf("%s\n", w.Say("chat.trace", t.Trace, orElse(t.Stop, t.Mode), t.Elapsed, t.Usage.Input, t.Usage.Output))
	for _, a := range t.Activated {
		p.Printf("  + %s  %s\n", a.Name, w.Say("ask.by_"+a.By))
	}
	for _, f := range t.Refused {
		p.Printf("  ! %s  %s\n", f.Name, f.Message)
	}
	for _, call := range t.Tools {
		p.Printf("  → %-16s %-14s %-6s %s\n", call.Name, call.Tier, call.Decision, call.Reason)
	}
	for _, s := range t.Subs {
		p.Printf("  » %s %s %s  %s\n", s.Path, s.Agent, s.Skill, s.Stop)
	}
	if c.m != nil && !c.r.writing.dryRun {
		c.r.hintf("%s", w.Say("chat.trace_more", t.Trace))
	}
	return false, nil
}

// compact has the model put a summary in the place of what was said.
func (c *conversation) compact(ctx context.Context, _ string) (bool, error) {
	if c.m == nil {
		c.r.hintf("%s", c.r.words.Say("chat.without_model"))
		return false, nil
	}
	in := agent.Input{Text: "/compact", Origin: gate.Interactive, Principal: c.r.principal()}
	shortened := false
	_, err := c.interruptible(ctx, func(ctx context.Context) (askJSON, error) {
		v := c.r.viewer(c.s, c.m)
		err := c.r.watchTurn(ctx, v, func(ctx context.Context) iter.Seq2[agent.Event, error] { return c.s.Compact(ctx, in) }, func(e agent.Event) {
			shortened = shortened || e.Type == agent.Compacted
		})
		return v.doc, err
	})
	if err == nil && ctx.Err() == nil && !shortened {
		c.r.hintf("%s", c.r.words.Say("chat.not_compacted"))
	}
	return false, err
}

// clear ends the conversation and begins another one in its place.
func (c *conversation) clear(ctx context.Context, _ string) (bool, error) {
	if err := c.s.Close(); err != nil {
		return false, err
	}
	if c.r.keeper.close() {
		c.r.hintf("%s", c.r.words.Say("resume.end", c.s.ID()))
	}
	c.r.keeper, c.r.former = nil, nil
	if err := c.open(ctx); err != nil {
		return false, err
	}
	c.doc.Session = c.s.ID()
	c.r.hintf("%s", c.r.words.Say("chat.cleared"))
	return false, nil
}

// init writes AGENTS.md: by the built-in skill, or without a model from the build files.
func (c *conversation) init(ctx context.Context, rest string) (bool, error) {
	if c.m == nil {
		if err := c.r.initFile(c.r.cwd); err != nil {
			c.r.fail(err, false)
		}
		return false, nil
	}
	return false, c.turn(ctx, strings.TrimSpace("/init "+rest))
}

// changeable is a model in whose place another one can come between two turns.
type changeable struct {
	mu  sync.Mutex
	now model.Model
}

func (m *changeable) become(next model.Model) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = next
}

func (m *changeable) current() model.Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Info implements model.Model.
func (m *changeable) Info() model.Info { return m.current().Info() }

// Stream implements model.Model.
func (m *changeable) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return m.current().Stream(ctx, r)
}
