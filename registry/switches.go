package registry

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
)

// Rule is one entry of a list of skills: a name or any other selector, or a glob of
// names such as docs-*; behind "@" may stand an origin, as in *@plugin:north. Names
// compare by Key.
type Rule struct {
	Pattern string
	File    string // who wrote it: a file, or words such as "saved profile"; never ""
	Line    int    // 1-based; 0 where there is none
}

func (r Rule) place() string {
	if r.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// Switch is a saved switch of a skill.
type Switch string

// The switches. A denied skill is not lifted by anything.
const (
	SwitchOn   Switch = "on"
	SwitchOff  Switch = "off"
	SwitchDeny Switch = "deny"
)

// SavedDenial is what Reason.By says of a skill that a saved switch denies.
const SavedDenial = "a saved denial"

// Saved is a switch that a person saved.
type Saved struct {
	Name   string // compares by Key
	Source string // id of a source; "" = every skill of the name
	Switch Switch
}

// Switches are every layer that turns skills on or off. In order of judgement, and
// the first that speaks about a skill wins:
//
//	HostDeny · Skills · Deny and saved denials · ProjectDeny    never lifted by what follows
//	UserAllowOnly · AllowOnly                          off for what it does not list
//	Profile                                            on or off
//	ProjectEnable · ProjectDefaultOff
//	Saved · Enable · DefaultOff
//	the skill's own default-enabled
type Switches struct {
	HostDeny, Deny, ProjectDeny []Rule
	Skills                      []SkillRule // rules of the configuration about starting skills
	AllowOnly                   []Rule      // of the project; nil = no such list, an empty one allows nothing
	UserAllowOnly               []Rule      // likewise, of the user
	// Profile is the active profile and those that it extends, the active one first.
	// Each is judged in turn: Exclude turns off, Include turns on. What none of them
	// names is off if any has an Include, else left to the layers that follow.
	Profile                          []Profile
	ProjectEnable, ProjectDefaultOff []Rule
	Saved                            []Saved // one for a source goes before one for the name
	Enable, DefaultOff               []Rule
}

// Profile is a named selection of skills.
type Profile struct {
	Name             string
	Extends          string // "" = nothing
	Include, Exclude []Rule
}

// Chain returns the profile of a name and those below it, for Switches.Profile. The
// error is *ProfileError: one of them is not there, or they extend each other in a
// circle.
func Chain(name string, all map[string]Profile) ([]Profile, error) {
	var chain []Profile
	for next := name; next != ""; {
		if slices.ContainsFunc(chain, func(p Profile) bool { return p.Name == next }) {
			return nil, &ProfileError{Name: next, Cycle: true}
		}
		p, ok := all[next]
		if !ok {
			return nil, &ProfileError{Name: next}
		}
		p.Name = next
		chain = append(chain, p)
		next = p.Extends
	}
	return chain, nil
}

// verdict is what a layer says about a skill; the zero value says nothing.
type verdict struct {
	on, off bool
	why     Reason // of off
}

// judge answers, for every record of a Snapshot, what the switches say.
type judge struct {
	m      *matcher
	layers []func(*Record) verdict
	found  []skill.Diagnostic

	starting *skillRules // nil = there are none
}

func newJudge(s *Snapshot, w *Switches) *judge {
	j := &judge{m: &matcher{s: s}}
	j.deny(w.HostDeny, "the host", "ask whoever runs the program")
	j.skills(w.Skills)
	j.deny(w.Deny, "", "remove the entry from your own deny list")
	j.saved(w.Saved, SwitchDeny)
	j.deny(w.ProjectDeny, "", "remove the entry from the project's deny list")
	j.allowOnly(w.UserAllowOnly, "off: not in allow_only of ")
	j.allowOnly(w.AllowOnly, "disabled by project: not in allow_only of ")
	j.profile(w.Profile)
	j.enable(w.ProjectEnable, "enable")
	j.defaultOff(w.ProjectDefaultOff)
	j.saved(w.Saved, SwitchOn, SwitchOff)
	j.enable(w.Enable, "enable")
	j.defaultOff(w.DefaultOff)
	return j
}

// off returns why a record is disabled; ok is false when it is on.
func (j *judge) off(r *Record) (why Reason, off bool) {
	for _, layer := range j.layers {
		if v := layer(r); v.on || v.off {
			return v.why, v.off
		}
	}
	if r.Skill.Meta.DefaultEnabled || !r.Skill.Valid {
		return Reason{}, false
	}
	return Reason{
		Code: "off", Message: "off until somebody enables it: default-enabled is false",
		Fix: "run deft enable " + r.Skill.Name, Path: place(r), By: "default-enabled",
	}, true
}

func (j *judge) add(layer func(*Record) verdict) { j.layers = append(j.layers, layer) }

func (j *judge) deny(rules []Rule, by, fix string) {
	hits := j.m.all(rules)
	j.broken(rules)
	if len(hits) == 0 {
		return
	}
	j.add(func(r *Record) verdict {
		rule, hit := hits[r]
		if !hit {
			return verdict{}
		}
		return turnedOff(r, "denied", orText(by, rule.place()), fmt.Sprintf("denied by the entry %q of ", rule.Pattern), fix)
	})
}

func (j *judge) allowOnly(rules []Rule, message string) {
	if rules == nil {
		return
	}
	hits, by := j.m.all(rules), "allow_only"
	j.unknown(rules, "allow_only")
	if len(rules) > 0 {
		by = rules[0].File
	}
	j.add(func(r *Record) verdict {
		if _, hit := hits[r]; hit {
			return verdict{}
		}
		return turnedOff(r, "allow_only", by, message, "add it to allow_only there")
	})
}

func (j *judge) profile(chain []Profile) {
	if len(chain) == 0 {
		return
	}
	type level struct{ exclude, include map[*Record]Rule }
	var levels []level
	only := false
	for _, p := range chain {
		levels = append(levels, level{j.m.all(p.Exclude), j.m.all(p.Include)})
		j.unknown(p.Include, "include of profile "+p.Name)
		only = only || len(p.Include) > 0
	}
	const fix = "add it to the profile, or run deft profile clear"
	j.add(func(r *Record) verdict {
		for i, l := range levels {
			if _, out := l.exclude[r]; out {
				return turnedOff(r, "profile", chain[i].Name, "excluded by profile ", fix)
			}
			if _, in := l.include[r]; in {
				return verdict{on: true}
			}
		}
		if only {
			return turnedOff(r, "profile", chain[0].Name, "not included by profile ", fix)
		}
		return verdict{}
	})
}

func (j *judge) enable(rules []Rule, list string) {
	hits := j.m.all(rules)
	j.unknown(rules, list)
	if len(hits) > 0 {
		j.add(func(r *Record) verdict { _, hit := hits[r]; return verdict{on: hit} })
	}
}

func (j *judge) defaultOff(rules []Rule) {
	hits := j.m.all(rules)
	if len(hits) == 0 {
		return
	}
	j.add(func(r *Record) verdict {
		rule, hit := hits[r]
		if !hit {
			return verdict{}
		}
		return turnedOff(r, "off", rule.place(), fmt.Sprintf("off by default by the entry %q of ", rule.Pattern), "run deft enable "+r.Skill.Name)
	})
}

// saved adds the saved switches of some kinds: that of a source before that of a name.
func (j *judge) saved(list []Saved, kinds ...Switch) {
	by := map[Saved]Switch{}
	for _, s := range list {
		if slices.Contains(kinds, s.Switch) {
			by[Saved{Name: fold.Key(s.Name), Source: s.Source}] = s.Switch
		}
	}
	if len(by) == 0 {
		return
	}
	j.add(func(r *Record) verdict {
		for _, k := range [...]Saved{{Name: r.Skill.Key, Source: r.Source.ID}, {Name: r.Skill.Key}} {
			switch by[k] {
			case SwitchOn:
				return verdict{on: true}
			case SwitchOff:
				return turnedOff(r, "off", "deft disable", "switched off by ", "run deft enable "+selectorOf(r, k.Source))
			case SwitchDeny:
				return turnedOff(r, "denied", SavedDenial, "denied by ", "run deft enable "+selectorOf(r, k.Source))
			}
		}
		return verdict{}
	})
}

func selectorOf(r *Record, source string) string {
	if source == "" {
		return r.Skill.Name
	}
	return r.Skill.Name + "@" + source
}

func turnedOff(r *Record, code, by, message, fix string) verdict {
	return verdict{off: true, why: Reason{Code: code, Message: message + by, Fix: fix, Path: place(r), By: by}}
}

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// unknown reports entries that name nothing: a list that lets skills in is written
// for skills that are there.
func (j *judge) unknown(rules []Rule, list string) {
	for _, rule := range rules {
		if len(j.m.one(rule.Pattern)) == 0 {
			d := finding("switch_unknown", rule.File, "%s names %q, and no skill is called so", list, rule.Pattern)
			d.Line = rule.Line
			j.found = append(j.found, d)
		}
	}
}

// broken reports globs that cannot be read in lists which are silent about unknown
// names: what was meant to be denied is not.
func (j *judge) broken(rules []Rule) {
	for _, rule := range rules {
		if _, _, ok := splitRule(rule.Pattern); !ok {
			d := finding("switch_unknown", rule.File, "deny has %q, which is no pattern that can be read", rule.Pattern)
			d.Line = rule.Line
			j.found = append(j.found, d)
		}
	}
}

// matcher finds the records that rules name. Its indexes are made when first needed.
type matcher struct {
	s     *Snapshot
	exact [4]map[string][]*Record // by name, handle, id, folder
}

// all returns the records that any of the rules names, each with the first rule.
func (m *matcher) all(rules []Rule) map[*Record]Rule {
	hits := map[*Record]Rule{}
	for _, rule := range rules {
		for _, r := range m.one(rule.Pattern) {
			if _, has := hits[r]; !has {
				hits[r] = rule
			}
		}
	}
	return hits
}

const globMeta = `*?[{`

// splitRule parts a pattern into name and origin; ok is false when one of them is a
// glob that cannot be read.
func splitRule(pattern string) (name, origin string, ok bool) {
	name = pattern
	if at := strings.LastIndexByte(pattern, '@'); at > 0 {
		name, origin = pattern[:at], strings.ReplaceAll(pattern[at+1:], `\`, "/")
	}
	return name, origin, doublestar.ValidatePattern(name) && doublestar.ValidatePattern(origin)
}

// one returns the records that one pattern names.
func (m *matcher) one(pattern string) []*Record {
	if pattern == "" || hostile(pattern) {
		return nil
	}
	name, origin, ok := splitRule(pattern)
	if !ok {
		return m.named(pattern)
	}
	var found []*Record
	if strings.ContainsAny(name, globMeta) {
		found = m.globbed(name)
	} else {
		found = m.named(name)
	}
	if origin == "" {
		return found
	}
	return slices.DeleteFunc(slices.Clone(found), func(r *Record) bool { return !m.from(r, origin) })
}

func (m *matcher) globbed(pattern string) []*Record {
	pattern = fold.Key(pattern)
	var out []*Record
	for _, r := range m.s.All {
		hit := doublestar.MatchUnvalidated(pattern, r.Skill.Key)
		if !hit && r.Source.Namespace != "" {
			hit = doublestar.MatchUnvalidated(pattern, fold.Key(bare(r)))
		}
		if hit {
			out = append(out, r)
		}
	}
	return out
}

// named returns the records of a name in the first of the ways in which Lookup finds
// names that finds any; a name denies or allows every skill that has it.
func (m *matcher) named(name string) []*Record {
	for i, form := range [...]string{fold.Key(name), fold.Handle(name), name, name} {
		if m.exact[i] == nil {
			m.exact[i] = m.index(i)
		}
		if found := m.exact[i][form]; len(found) > 0 && form != "" {
			return found
		}
	}
	return m.at(name)
}

func (m *matcher) index(way int) map[string][]*Record {
	by := make(map[string][]*Record, len(m.s.All))
	for _, r := range m.s.All {
		switch way {
		case 0:
			by[r.Skill.Key] = append(by[r.Skill.Key], r)
			if r.Source.Namespace != "" {
				k := fold.Key(bare(r))
				by[k] = append(by[k], r)
			}
		case 1:
			by[r.Skill.Handle] = append(by[r.Skill.Handle], r)
		case 2:
			by[idOf(r)] = append(by[idOf(r)], r)
		case 3:
			by[dirNameOf(r)] = append(by[dirNameOf(r)], r)
		}
	}
	return by
}

// at returns the records that a location or path names.
func (m *matcher) at(sel string) []*Record {
	if !strings.ContainsAny(sel, `/\`) {
		return nil
	}
	p := m.s.lookup.path(sel)
	var out []*Record
	for _, r := range m.s.All {
		dir := filepath.ToSlash(r.Dir)
		if r.Location == sel || dir != "" && (dir == p || dir+"/"+r.File == p) || slices.Contains(r.Aliases, p) {
			out = append(out, r)
		}
	}
	return out
}

// from says whether a record comes from an origin: a kind, the id of a source or its
// part before the colon, a path, or a glob of ids.
func (m *matcher) from(r *Record, origin string) bool {
	return originFits(m.s, r, origin) || strings.ContainsAny(origin, globMeta) && doublestar.MatchUnvalidated(origin, r.Source.ID)
}

func originFits(s *Snapshot, r *Record, origin string) bool {
	return string(r.Source.Kind) == origin || r.Source.ID == origin ||
		strings.HasPrefix(r.Source.ID, origin+":") || s.below(r.Dir, origin)
}
