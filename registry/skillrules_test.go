package registry_test

import (
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

func TestRulesAboutStartingSkills(t *testing.T) {
	t.Parallel()
	rule := func(pattern string, layer int) registry.SkillRule {
		return registry.SkillRule{Rule: registry.Rule{Pattern: pattern, File: "config.yaml", Line: 1}, Layer: layer}
	}
	allow := func(pattern string, layer int) registry.SkillRule {
		r := rule(pattern, layer)
		r.Allow = true
		return r
	}
	model := func(pattern string) registry.SkillRule {
		r := rule(pattern, 2)
		r.Model = true
		return r
	}
	for name, c := range map[string]struct {
		rules              []registry.SkillRule
		disabled, forModel bool
	}{
		"no rule":                              {nil, false, true},
		"a glob denies":                        {[]registry.SkillRule{rule("su*", 2)}, true, false},
		"an exact rule denies":                 {[]registry.SkillRule{rule("Surf", 2)}, true, false},
		"an exact allow lifts a glob":          {[]registry.SkillRule{rule("su*", 2), allow("surf", 2)}, false, true},
		"in any order":                         {[]registry.SkillRule{allow("surf", 2), rule("su*", 2)}, false, true},
		"a glob lifts no glob":                 {[]registry.SkillRule{allow("s*", 2), rule("su*", 2)}, true, false},
		"nothing lifts an exact denial":        {[]registry.SkillRule{allow("surf", 1), rule("surf", 3)}, true, false},
		"a weaker layer lifts nothing":         {[]registry.SkillRule{allow("surf", 3), rule("su*", 2)}, true, false},
		"a stronger one lifts":                 {[]registry.SkillRule{allow("surf", 1), rule("su*", 2)}, false, true},
		"of two globs the stronger one counts": {[]registry.SkillRule{allow("surf", 2), rule("su*", 3), rule("s*", 1)}, true, false},
		"models alone":                         {[]registry.SkillRule{model("surf")}, false, false},
		"models alone, lifted":                 {[]registry.SkillRule{model("su*"), allow("surf", 2)}, false, true},
		"another skill":                        {[]registry.SkillRule{rule("lint", 1), model("l*")}, false, true},
		"by source":                            {[]registry.SkillRule{rule("surf@user", 2)}, true, false},
		"by another source":                    {[]registry.SkillRule{rule("surf@project", 2)}, false, true},
	} {
		s := switched(t, registry.Switches{Skills: c.rules, ProjectEnable: rules("surf")}, src("user", source.User, source.Trusted, named("surf", "lint")...))
		for _, r := range s.All {
			if r.Skill.Name != "surf" {
				continue
			}
			if got := r.State == registry.Disabled; got != c.disabled || r.ForModel() != c.forModel {
				t.Errorf("%s: disabled %v, for a model %v (%v)", name, got, r.ForModel(), r.Reasons)
			}
		}
	}
}
