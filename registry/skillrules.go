package registry

import (
	"fmt"
	"math"
	"strings"
)

// SkillRule is a rule of a person or an operator about starting skills. A rule for one
// skill beats a rule by a glob, and of two of one form the denial counts.
type SkillRule struct {
	Rule
	Allow bool // lifts denials by a glob, those of its own layer and of weaker ones
	Model bool // denies models alone: a person may start the skill
	Layer int  // whose word it is; 0 is the strongest
}

// exact reports a rule that names one skill.
func (r SkillRule) exact() bool {
	name, _, _ := splitRule(r.Pattern)
	return !strings.ContainsAny(name, globMeta)
}

// skillRules answers for every record what rules say about starting it.
type skillRules struct {
	rules []SkillRule
	hits  []map[*Record]Rule // by the index of a rule
}

func newSkillRules(m *matcher, rules []SkillRule) *skillRules {
	s := &skillRules{rules: rules}
	for _, r := range rules {
		s.hits = append(s.hits, m.all([]Rule{r.Rule}))
	}
	return s
}

// denied returns the rule that keeps a record from being started: by a model, or by
// anybody at all.
func (s *skillRules) denied(r *Record, model bool) (SkillRule, bool) {
	var glob *SkillRule
	lifted := math.MaxInt // the strongest layer that allows this very skill
	for i := range s.rules {
		rule := &s.rules[i]
		_, hit := s.hits[i][r]
		switch {
		case !hit || rule.Model && !model:
		case rule.Allow && rule.exact():
			lifted = min(lifted, rule.Layer)
		case rule.Allow:
		case rule.exact():
			return *rule, true
		case glob == nil || rule.Layer < glob.Layer:
			glob = rule
		}
	}
	if glob == nil || lifted <= glob.Layer {
		return SkillRule{}, false
	}
	return *glob, true
}

// skills adds the rules about starting skills, which deny to everybody.
func (j *judge) skills(rules []SkillRule) {
	if len(rules) == 0 {
		return
	}
	s := newSkillRules(j.m, rules)
	j.starting = s
	j.add(func(r *Record) verdict {
		rule, denied := s.denied(r, false)
		if !denied {
			return verdict{}
		}
		return turnedOff(r, "denied", rule.place(), fmt.Sprintf("denied by the rule Skill(%s) of ", rule.Pattern), "change the rule there")
	})
}

// barred returns why no model may start a record that a person may, "" where it may.
func (j *judge) barred(r *Record) string {
	if j.starting == nil {
		return ""
	}
	rule, denied := j.starting.denied(r, true)
	if !denied {
		return ""
	}
	return fmt.Sprintf("the rule Skill(%s) of %s", rule.Pattern, rule.place())
}
