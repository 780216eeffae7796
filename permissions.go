package deft

import (
	"context"
	"errors"
	"slices"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
)

// findings are those about the options, each once: a host that reads its settings early
// may have told those of the rules already.
func (o Options) findings() []skill.Diagnostic {
	out := slices.Clone(o.Diagnostics)
	for _, d := range o.Rules.Diagnostics() {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// skillRules are the rules about starting single skills, for the registry: what nobody
// may start is out of every list.
func (o Options) skillRules() []registry.SkillRule {
	var out []registry.SkillRule
	for _, r := range o.Rules.ForSkills() {
		place := r.File
		if place == "" {
			place = "the host"
		}
		out = append(out, registry.SkillRule{
			Rule:  registry.Rule{Pattern: r.ForSkill(), File: place, Line: r.Line},
			Allow: r.Verdict == gate.Allow, Model: r.ModelOnly, Layer: r.Strength(),
		})
	}
	return out
}

// access keeps models from what a rule denies to them alone.
type access struct{}

// Check implements session.Access.
func (access) Check(_ context.Context, actor session.Actor, r *registry.Record) error {
	if actor == session.ActorModel && r.Barred != "" {
		return errors.New("denied to models by " + r.Barred)
	}
	return nil
}
