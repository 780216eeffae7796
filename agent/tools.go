package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// maxTools is how many tools a model is shown by themselves.
const maxTools = 40

// deferred marks the tools beyond the first most as deferred, those for skills not
// counted, where the tools have one that finds them.
func deferred(specs []toolset.Spec, tools map[string]toolset.Tool, most int) []toolset.Spec {
	finds := slices.ContainsFunc(specs, func(s toolset.Spec) bool {
		_, ok := tools[s.Name].(toolset.Unwrapper)
		return ok
	})
	n := 0
	for i := range specs {
		if specs[i].Always {
			specs[i].Deferred = false
		}
		if specs[i].Toolset == "skills" || specs[i].Always || specs[i].Deferred {
			continue
		}
		n++
		specs[i].Deferred = finds && n > most
	}
	return specs
}

// provide adds the tools that come and go to those of the turn.
func (t *turn) provide() error {
	if t.r.d.More == nil || t.plans || t.r.d.Model == nil && !t.own {
		return nil
	}
	more, away, err := t.r.d.More(t.parent)
	if err != nil {
		return err
	}
	t.notes = append(t.notes, away...)
	if len(more) > 0 {
		t.tools, t.specs, err = t.r.d.register(slices.Concat(t.r.d.Tools, more))
	}
	return err
}

// received takes a call as the model wrote it. A call of a tool that stands for
// another is that other's from here on: what the gate judges and records is the inner
// call, and nothing in the order or the rights of the step differs from a direct one.
func (t *turn) received(c model.Call, index int) *pending {
	p := &pending{call: c, index: index, tool: t.tools[c.Name]}
	if u, ok := p.tool.(toolset.Unwrapper); ok && t.visible(c.Name) {
		name, args, refusal := u.Unwrap(c.Input)
		if refusal != nil {
			p.result, p.settled = *refusal, true
			return p
		}
		p.via, p.call.Name, p.call.Input = toolset.NameToolInvoke, name, args
		p.tool = t.tools[name]
	}
	if p.tool == nil {
		return p
	}
	p.spec = p.tool.Spec()
	if n, ok := p.tool.(Normalizer); ok {
		p.call.Input = n.Normalize(p.call.Input)
	}
	return p
}

// registered are the tools that this session may call.
func (t *turn) registered() []toolset.Spec {
	effective := t.s.Effective()
	return slices.DeleteFunc(slices.Clone(t.specs), func(s toolset.Spec) bool {
		return !t.visible(s.Name) || !exposes(effective, s)
	})
}

// exposes reports whether the lists in force leave the tool to the model.
func exposes(e session.Effective, s toolset.Spec) bool { return e.Withheld(s.Name, s.Steers) == "" }

// ToolSources are the sources of tools that a host lets count, and how far they must be
// trusted, as the tools' specs name them. An empty list admits all.
type ToolSources struct{ Sources, Trusts []string }

func (a ToolSources) admits(s toolset.Spec) bool {
	in := func(list []string, value, unset string) bool {
		return len(list) == 0 || slices.Contains(list, cmp.Or(value, unset))
	}
	return in(a.Sources, s.Source, "builtin") && in(a.Trusts, s.Trust, "trusted")
}

// Why a model is not shown a tool, beside the reasons of the lists in force.
const (
	WithheldSource   = "source-policy"    // its source is none of those that count
	WithheldPlan     = "plan-mode-hidden" // nothing but reading is possible now
	WithheldDeferred = "deferred"         // it is found first
	WithheldSkill    = "skill-required"   // it works with a skill that is not active
	WithheldAbsent   = "not-here"         // it comes and goes, or the turn has no use for it
)

// withheld says why the model is not shown a tool in this step; "" = it is.
func (t *turn) withheld(e session.Effective, s toolset.Spec) string {
	switch {
	case !t.r.d.Sources.admits(s):
		return WithheldSource
	case !t.visible(s.Name):
		return WithheldAbsent
	case s.Tier != gate.ReadOnly && t.s.Hides() && t.planning():
		return WithheldPlan
	case e.Withheld(s.Name, s.Steers) != "":
		return e.Withheld(s.Name, s.Steers)
	case s.Deferred && !slices.Contains(e.Discovered, s.Name):
		return WithheldDeferred
	case len(t.lacking(t.tools[s.Name], s, nil)) > 0:
		return WithheldSkill
	}
	return ""
}

// planning reports whether the gate runs nothing that is more than reading.
func (t *turn) planning() bool {
	g, ok := t.r.d.Gate.(interface{ Mode() gate.Mode })
	return ok && g.Mode() == gate.Plan
}

// announced are the tools that the model can find and is not shown.
func (t *turn) announced() []toolset.Spec {
	e := t.s.Effective()
	return slices.DeleteFunc(slices.Clone(t.specs), func(s toolset.Spec) bool { return t.withheld(e, s) != WithheldDeferred })
}

// Requirer is a Tool that needs skills to be active before it runs, beyond those of its
// Spec. Its answer may depend on the arguments; nil arguments ask what it needs
// whatever they are.
type Requirer interface {
	Requires(args json.RawMessage) []string
}

// lacking returns the skills that a tool needs and that are not ready. The tools by
// which a model finds and loads skills need none: they are the way out.
func (t *turn) lacking(tool toolset.Tool, spec toolset.Spec, args json.RawMessage) []string {
	needs := spec.Requires
	if r, ok := tool.(Requirer); ok {
		needs = append(slices.Clone(needs), r.Requires(args)...)
	}
	if len(needs) == 0 || spec.Toolset == "skills" {
		return nil
	}
	var out []string
	for _, name := range needs {
		if rec, err := t.turn.Snapshot().Lookup(name); err != nil || !t.turn.Ready(rec.Address) {
			out = append(out, name)
		}
	}
	return out
}

// unready refuses a call whose skills are not active. It says which to load, or that
// there is none to load.
func (t *turn) unready(p *pending) bool {
	if p.tool == nil || !t.visible(p.call.Name) {
		return false
	}
	missing := t.lacking(p.tool, p.spec, p.call.Input)
	if len(missing) == 0 {
		return false
	}
	var gone []string
	for _, name := range missing {
		if _, ok := t.turn.Visible(t.ctx, name, session.ActorModel); !ok {
			gone = append(gone, name)
		}
	}
	code, names, say, retry := "missing_required_skill", missing, "%s needs the skill %s. Load it, then call again.", toolset.RetryCorrected
	if len(gone) > 0 {
		code, names, say, retry = "required_skill_unavailable", gone, "%s needs the skill %s, which does not exist here. Go on without this tool.", toolset.RetryFinal
	}
	if t.s.Shouts() {
		code = strings.ToUpper(code)
	}
	for i, n := range names {
		names[i] = fmt.Sprintf("%q", n)
	}
	p.settle(code, fmt.Sprintf(say, p.call.Name, strings.Join(names, ", ")), "")
	p.result.Retry = retry
	return true
}
