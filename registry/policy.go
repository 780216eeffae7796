package registry

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// policiesJSON holds one object a dialect: how entries are grouped, in which order
// they win, and what is said about losers. A dialect without one uses deft's.
//
//go:embed policies.json
var policiesJSON []byte

// policy is one dialect's precedence. The last step of every order is the location,
// bytewise, so that no two entries are equal.
type policy struct {
	KeyBy     string        `json:"key"`       // key | nfkc: what makes two names one
	Kinds     []source.Kind `json:"kinds"`     // strongest first
	Order     []string      `json:"order"`     // kind, nearness, priority
	Guard     bool          `json:"guard"`     // less trusted entries never take a trusted name
	Collision string        `json:"collision"` // differ: equal copies are a note; always: each collision is a warning

	rank map[source.Kind]int
}

func policyFor(d skill.Dialect) (policy, error) {
	var all map[skill.Dialect]policy
	if err := json.Unmarshal(policiesJSON, &all); err != nil {
		return policy{}, fmt.Errorf("policies: %w", err)
	}
	if d == "" {
		d = skill.Deft
	}
	p, ok := all[d]
	if !ok {
		p = all[skill.Deft]
	}
	p.rank = map[source.Kind]int{}
	for i, k := range p.Kinds {
		p.rank[k] = i
	}
	for _, step := range p.Order {
		if _, known := steps[step]; !known {
			return policy{}, fmt.Errorf("policies: %s: unknown step %q", d, step)
		}
	}
	return p, nil
}

// steps compares two records by one property: negative when a is stronger.
var steps = map[string]func(p *policy, a, b *Record) int{
	"kind":     func(p *policy, a, b *Record) int { return p.rank[a.Source.Kind] - p.rank[b.Source.Kind] },
	"nearness": func(_ *policy, a, b *Record) int { return a.Source.Nearness - b.Source.Nearness },
	"priority": func(_ *policy, a, b *Record) int { return cmp.Compare(b.Source.Priority, a.Source.Priority) },
}

// compare orders two records, the stronger first, and names the deciding step.
func (p *policy) compare(a, b *Record) (order int, step string) {
	for _, s := range p.Order {
		if c := steps[s](p, a, b); c != 0 {
			return c, s
		}
	}
	if c := strings.Compare(a.Location, b.Location); c != 0 {
		return c, "location"
	}
	return strings.Compare(a.Source.ID, b.Source.ID), "location"
}

// key returns what the record is grouped by.
func (p *policy) key(r *Record) string {
	k := r.Skill.Key
	if p.KeyBy == "nfkc" {
		k = fold.NFKC(r.Skill.Name)
	}
	if ns := r.Source.Namespace; ns != "" {
		return fold.Key(ns) + ":" + k
	}
	return k
}

// trustRank orders trusts, the strongest lowest.
func trustRank(t source.Trust) int {
	switch t {
	case source.Trusted:
		return 0
	case source.Workspace:
		return 1
	case source.Untrusted:
		return 2
	}
	return 3
}

// blocks says whether a keeps b from winning a name that both claim: a is trusted
// more. A project that a person trusted may replace the user's own and built-in
// skills: that is what project skills are for.
func blocks(a, b source.Info) bool {
	if b.Trust == source.Workspace && (a.Kind == source.User || a.Kind == source.Builtin) {
		return false
	}
	return trustRank(a.Trust) < trustRank(b.Trust)
}

// withheld says whether a trust keeps skills from models altogether.
func withheld(t source.Trust) bool { return t == source.Pending || t == source.Denied }
