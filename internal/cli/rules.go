package cli

import (
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/config"
)

// layerOf says whose word a setting is for the gate.
var layerOf = map[config.Level]gate.Layer{
	config.Managed: gate.ManagedRules, config.User: gate.UserRules, config.Project: gate.ProjectRules,
}

// toolRules makes the gate's rules of the settings.
func toolRules(c *config.Config) gate.RuleSet {
	out := gate.RuleSet{ProjectTrusted: c.ProjectTrusted, Programs: c.Policy.Programs}
	for _, list := range []struct {
		verdict gate.Verdict
		model   bool
		rules   []config.ToolRule
	}{
		{gate.Deny, false, c.Permissions.Deny}, {gate.Deny, true, c.Permissions.DenyModel},
		{gate.Ask, false, c.Permissions.Ask}, {gate.Allow, false, c.Permissions.Allow},
	} {
		for _, t := range list.rules {
			r := gate.NewRule(list.verdict, t.Rule)
			r.Layer, r.File, r.Line, r.Root, r.ModelOnly = layerOf[t.From.Level], t.From.File, t.From.Line, t.Root, list.model
			out.Rules = append(out.Rules, r)
		}
	}
	out.Raises, out.Overrides = tierRules(c.Policy.Raise), tierRules(c.Policy.TierOverrides)
	return out
}

func tierRules(list []config.TierRule) []gate.TierRule {
	var out []gate.TierRule
	for _, t := range list {
		tier, _ := gate.ParseTier(t.Tier) // the settings know no other
		out = append(out, gate.TierRule{Tool: t.Tool, Tier: tier, Reason: t.Reason, Layer: layerOf[t.From.Level], File: t.From.File, Line: t.From.Line})
	}
	return out
}
