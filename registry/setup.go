package registry

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Bindings are the variables that a person bound to skills: names, never values, by the
// skill's name, or by name@source for the skill of that source alone.
type Bindings map[string][]string

// Also is a set of variables with every one that is bound to any skill, for judgements
// that come after that of the registry, which knows which skill each is bound to.
func (b Bindings) Also(vars skill.Names) skill.Names {
	var names []string
	for _, list := range b {
		names = append(names, list...)
	}
	slices.Sort(names)
	return withBound(vars, slices.Compact(names))
}

// Binding returns what is bound to r among all records of a Snapshot: the key, which is
// the one to write where nothing is bound yet, and the names of the variables.
//
// A plain name is that of the skill whose source is trusted by its kind, and of another
// one only while no other source has a skill of that name whose code counts: whoever takes
// a name over gets nothing that was bound to it.
func (d Decisions) Binding(r *Record, all []*Record) (key string, names []string) {
	key = d.keyOf(r, all, func(key string) bool { _, ok := d.Bound[key]; return ok })
	return key, d.Bound[key]
}

// Networked reports whether a person lets the commands of r reach the network, by the same
// rule. That its code counts is another question.
func (d Decisions) Networked(r *Record, all []*Record) bool {
	named := func(key string) bool { return slices.Contains(d.Network, key) }
	return named(d.keyOf(r, all, named))
}

func (d Decisions) keyOf(r *Record, all []*Record, written func(key string) bool) string {
	name := r.Skill.Name
	exact := name + "@" + r.Source.ID
	others := func(o *Record) bool { return d.owns(o, name) && o.Source.ID != r.Source.ID }
	if written(exact) || r.Source.Trust != source.Trusted && slices.ContainsFunc(all, others) {
		return exact
	}
	return name
}

// Setting is where the variables of a key of Bindings are written, for people.
func Setting(key string) string {
	if strings.ContainsAny(key, "@:./ ") {
		key = strconv.Quote(key)
	}
	return "skills." + key + ".env"
}

// owns reports whether o is a skill of that name whose code may count.
func (d Decisions) owns(o *Record, name string) bool {
	return o.Skill.Name == name && (o.Source.Trust == source.Trusted ||
		slices.ContainsFunc(d.Grants, func(g Grant) bool { return g.Name == name && g.Source == o.Source.ID }))
}

// Wants are the variables that a skill declares for its commands.
func Wants(m *skill.Meta) []string {
	names := slices.Clone(m.Secrets)
	if m.Conditions != nil {
		for _, n := range m.Conditions.RequiresEnv {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// NeedsSetup returns the variables that the skill's commands need and that nobody bound:
// it is there as a text, and its commands are refused.
func (r *Record) NeedsSetup() []string {
	for _, why := range r.Reasons {
		if why.Code == "needs_setup" {
			return strings.Split(why.By, ", ")
		}
	}
	return nil
}

// setup says of a winner which variables nobody bound to it.
func (a *arbiter) setup(r *Record, bound []string, key string) {
	var missing []string
	for _, n := range r.Skill.Meta.Secrets {
		if !slices.Contains(bound, n) {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return
	}
	names := strings.Join(missing, ", ")
	r.Reasons = append(r.Reasons, Reason{
		Code: "needs_setup", Message: "its commands need " + names, Path: place(r), By: names,
		Fix: fmt.Sprintf("bind it under %s in your own configuration", Setting(key)),
	})
	if a.r.c.Dialect == skill.Minara {
		r.State = Unmet
	}
}

// alsoSet is a set of variables with those that a person bound.
type alsoSet struct {
	skill.Names
	more []string
}

// withBound is vars with names; nothing bound leaves it as it is.
func withBound(vars skill.Names, names []string) skill.Names {
	if len(names) == 0 {
		return vars
	}
	if vars == nil {
		return skill.NewNameSet(names...)
	}
	return alsoSet{vars, names}
}

// Has implements skill.Names.
func (s alsoSet) Has(name string) bool { return slices.Contains(s.more, name) || s.Names.Has(name) }

// Digest implements skill.Names.
func (s alsoSet) Digest() [32]byte {
	was := s.Names.Digest()
	return sha256.Sum256([]byte(string(was[:]) + strings.Join(s.more, "\x00")))
}
