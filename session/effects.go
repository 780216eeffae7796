package session

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/toolrule"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// The trusts that a skill may be started with, as Activation.Trust holds them.
const (
	trustTrusted   = string(source.Trusted)
	trustWorkspace = string(source.Workspace)
)

// effects fills in what the skill brings beside its text, as far as its trust allows.
func (t *Turn) effects(r Request, c *candidate) {
	s, e := c.rec.Skill, c.rec.Entry
	act := &c.act
	act.Name, act.Address, act.ID = s.Name, c.rec.Address, s.ID()
	act.SourceID, act.SourceKind, act.Trust = e.Source.ID, string(e.Source.Kind), string(e.Source.Trust)
	act.Granted = t.s.granted(c.rec)
	act.Location, act.Dir = e.Location, filepath.ToSlash(e.Dir)
	act.Digest = s.Digest
	act.Args, act.HasArgs = r.Args, r.HasArgs
	act.Turn, act.At = t.number, t.s.o.Clock()
	act.Preload, act.OneShot, act.ToolNames = r.Preload, s.Meta.OneShot, s.Meta.ToolNames
	act.Record, act.Scripts = c.rec, scriptsOf(c.body.Files)
	act.InResult = !r.Replace && !r.Preload && !r.Insert && r.Actor == ActorModel
	act.Scope = t.scope(r, c)
	c.tools = t.policy(c)
	c.model = c.override(t)
	c.brought(t)
	t.hooksOf(c)
	c.drop()
	t.approvals(c)
	t.drift(c)
}

// drift says that a grant of the skill is void, since its files are others, and which.
func (t *Turn) drift(c *candidate) {
	if c.act.Granted || t.s.o.Drift == nil {
		return
	}
	if lines := t.s.o.Drift(c.rec); len(lines) > 0 {
		c.dropped = append(c.dropped, skill.Finding("trust_drift", "SKILL.md",
			"skill %q is not what was granted, and so its code does not count: %s", c.act.Name, strings.Join(lines, ", ")))
	}
}

// approvals says which entries of an allow list approve nothing in advance where it is
// such a list: all of a skill that nobody granted, and those for the whole shell.
func (t *Turn) approvals(c *candidate) {
	if c.tools == nil || listMode(t.s.o.Dialect) != gate.PreApprove || len(c.tools.Allow.Entries) == 0 {
		return
	}
	if !c.act.Granted {
		c.dropped = append(c.dropped, c.effectDropped("pre-approvals"))
		return
	}
	for _, entry := range c.tools.Allow.Entries {
		if gate.BroadGrant(entry) {
			c.dropped = append(c.dropped, skill.Finding("gate_broad_grant", "SKILL.md",
				"%q of skill %q: it stands for every command, and so it approves none in advance", entry, c.act.Name))
		}
	}
}

// brought is what only a skill given in code brings.
func (c *candidate) brought(t *Turn) {
	own := c.rec.Effects
	if own == nil || !c.act.effectful() || textOnly(t.s.o.Dialect) {
		return
	}
	if strings.TrimSpace(own.Prompt) != "" {
		c.prompt = &own.Prompt
	}
	env, bad := checkEnv(own.Env, true)
	c.env, c.diags = env, append(c.diags, bad...)
}

// scope is the declared one; a skill that is not trusted gets one turn, whatever it
// declares, because a stranger's effect should end. A host may choose.
func (t *Turn) scope(r Request, c *candidate) Scope {
	switch {
	case !c.act.effectful():
		return ScopeTurn
	case r.Actor == ActorHost && r.Scope != nil:
		return *r.Scope
	case c.rec.Skill.Meta.Scope == string(ScopeTurn), t.s.o.Dialect == skill.ClaudeCode:
		return ScopeTurn
	}
	return ScopeSession
}

// policy is the skill's tool lists, its own directory put into their patterns.
func (t *Turn) policy(c *candidate) *ToolPolicy {
	m := &c.rec.Skill.Meta
	if !m.AllowedTools.Declared && !m.DisallowedTools.Declared {
		return nil
	}
	values := places(t.s.facts(c))
	expand := func(entries []string) []string {
		var out []string
		for _, text := range entries {
			p, err := toolrule.Parse(text)
			if err != nil {
				c.diags = append(c.diags, skill.Diagnostic{
					Code: "tools_pattern", Level: skill.LevelWarning, File: "SKILL.md", Offset: -1,
					Message: fmt.Sprintf("tool pattern %q: %v", text, err), Fix: "write it as Tool or Tool(what it may do)",
				})
				out = append(out, text)
				continue
			}
			out = append(out, p.Expand(values).String())
		}
		return out
	}
	p := &ToolPolicy{}
	if !textOnly(t.s.o.Dialect) {
		p.Deny = expand(m.DisallowedTools.Entries)
	}
	p.Allow = skill.ToolList{Declared: m.AllowedTools.Declared, Entries: expand(m.AllowedTools.Entries)}
	return p
}

// textOnly reports whether a skill of the dialect brings nothing but its text. Its
// allow list is kept, to be shown.
func textOnly(d skill.Dialect) bool {
	switch d {
	case skill.MiniMax, skill.Mastra, skill.AgentSkills, skill.Codex:
		return true
	}
	return false
}

// override is the model and effort that the skill asks for.
func (c *candidate) override(t *Turn) *ModelOverride {
	m := &c.rec.Skill.Meta
	o := ModelOverride{ID: m.Model, Effort: effort(m.Effort)}
	if o.ID == "inherit" && !t.s.literal(c) {
		o.ID = ""
	}
	if o == (ModelOverride{}) || !c.act.effectful() || textOnly(t.s.o.Dialect) {
		return nil
	}
	asked := o.ID
	c.diags = append(c.diags, t.s.checkModel(&o)...)
	if t.s.literal(c) {
		o.ID = asked
	}
	if o == (ModelOverride{}) {
		return nil
	}
	return &o
}

// effort turns a number from 0 to 100 into the level that it means.
func effort(text string) string {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return text
	case n <= 25:
		return "low"
	case n <= 50:
		return "medium"
	case n <= 75:
		return "high"
	case n <= 90:
		return "xhigh"
	}
	return "max"
}

// checkModel empties an id that is not configured: the run goes on with what it had.
func (s *Session) checkModel(o *ModelOverride) []skill.Diagnostic {
	if o == nil || o.ID == "" || s.o.Models == nil || s.o.Models(o.ID) {
		return nil
	}
	d := skill.Diagnostic{
		Code: "model_unknown", Level: skill.LevelWarning, File: "SKILL.md", Offset: -1,
		Message: fmt.Sprintf("model %q: not configured; the run goes on with the model it had", o.ID),
		Fix:     "configure the model, or take the key out",
	}
	o.ID = ""
	return []skill.Diagnostic{d}
}

// checkTools names the patterns that cannot be read. In a deny list they refuse
// every tool, in an allow list they permit none.
func checkTools(p *ToolPolicy) []skill.Diagnostic {
	if p == nil {
		return nil
	}
	var out []skill.Diagnostic
	for _, list := range [][]string{p.Allow.Entries, p.Deny, p.PreApprove} {
		for _, text := range list {
			if _, err := toolrule.Parse(text); err != nil {
				out = append(out, skill.Diagnostic{
					Code: "tools_pattern", Level: skill.LevelWarning, Offset: -1,
					Message: fmt.Sprintf("tool pattern %q: %v", text, err),
				})
			}
		}
	}
	return out
}

// drop says, one by one, which declared effects of the skill do not count because
// nobody granted them.
func (c *candidate) drop() {
	m, trust := &c.rec.Skill.Meta, c.act.Trust
	own := c.rec.Effects
	if own == nil {
		own = &source.Effects{}
	}
	for _, e := range []struct {
		what    string
		has     bool
		granted bool // counts for a trusted folder already
	}{
		{"model", m.Model != "" && m.Model != "inherit", true},
		{"effort", m.Effort != "", true},
		{"scope session", m.Scope == string(ScopeSession), true},
		{"prompt append", own.Prompt != "", true},
		{"environment", len(own.Env) > 0, true},
		{"hooks", m.HasHooks && !c.hooked, false},
		{"secrets", len(m.Secrets) > 0, false},
	} {
		if !e.has || trust == trustTrusted || e.granted && trust == trustWorkspace {
			continue
		}
		c.diags = append(c.diags, c.effectDropped(e.what))
	}
}

// effectDropped says that something of the skill does not count.
func (c *candidate) effectDropped(what string) skill.Diagnostic {
	return skill.Diagnostic{
		Code: "untrusted_effect_dropped", Level: skill.LevelWarning, File: "SKILL.md", Offset: -1,
		Message: fmt.Sprintf("%s of skill %q: dropped, its source is %s", what, c.act.Name, c.act.Trust),
		Fix:     "trust the skill to let it count",
	}
}
