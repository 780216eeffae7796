package registry

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// policiesJSON holds one object a dialect: how entries are grouped, in which order
// they win, what becomes of losers, and how a name finds a skill.
//
//go:embed policies.json
var policiesJSON []byte

// policy is one dialect's precedence. The last step of every order is the location,
// bytewise, so that no two entries are equal.
type policy struct {
	KeyBy     string                  `json:"key"`       // a name of keys: what makes two skills one name
	Kinds     []string                `json:"kinds"`     // strongest first; kinds of one string are equal
	Labels    []string                `json:"labels"`    // what people call the ranks of Kinds; "" = the kind
	Weights   map[source.Kind]float64 `json:"weights"`   // of step weight, where the source has no priority of its own
	Order     []string                `json:"order"`     // names of steps
	Guard     bool                    `json:"guard"`     // less trusted entries never take a trusted name
	Twins     bool                    `json:"twins"`     // one file that two sources reach is two entries
	Losers    string                  `json:"losers"`    // "" = shadowed; listed = usable by an address of their own
	Ambiguous string                  `json:"ambiguous"` // legacy: two former agent folders; kind: two of the winner's rank
	Collision string                  `json:"collision"` // differ: equal copies are a note; always: each is a warning; id: of equal ids; never
	Shadowed  string                  `json:"shadowed"`  // words of a loser's reason; "" = deft's
	Filters   []string                `json:"filters"`   // what hides winners, the first that does is the reason; none = all of deft's
	Switches  string                  `json:"switches"`  // "" = before arbitration; after = a disabled winner hides its name
	Servers   bool                    `json:"servers"`   // mcp-NAME is hidden while the MCP server NAME is configured
	Faults    string                  `json:"faults"`    // "" = a source that breaks its contract is a diagnostic; returned = an error
	Trim      bool                    `json:"trim"`      // blanks around a selector count for nothing
	Lookup    []string                `json:"lookup"`    // names of finders, in their order; none = deft's way

	rank      map[source.Kind]int
	within    []string       // steps of Order that tell two skills of one source apart
	position  map[string]int // of a source in the order of configuration, by id
	workspace string
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
	for _, step := range p.Order {
		if step == "form" || step == "last" {
			p.within = append(p.within, step)
		}
	}
	p.rank = map[source.Kind]int{}
	for i, group := range p.Kinds {
		for _, k := range strings.Fields(group) {
			p.rank[source.Kind(k)] = i
		}
	}
	return p, p.check(d)
}

// check finds words of a policy that nothing knows.
func (p *policy) check(d skill.Dialect) error {
	if keys[p.KeyBy] == nil {
		return fmt.Errorf("policies: %s: unknown key %q", d, p.KeyBy)
	}
	for _, step := range p.Order {
		if steps[step] == nil {
			return fmt.Errorf("policies: %s: unknown step %q", d, step)
		}
	}
	for _, f := range p.Filters {
		if !knownFilter(f) {
			return fmt.Errorf("policies: %s: unknown filter %q", d, f)
		}
	}
	for _, f := range p.Lookup {
		if finders[f] == nil {
			return fmt.Errorf("policies: %s: unknown way of lookup %q", d, f)
		}
	}
	return nil
}

// place remembers the order of the sources and where nested folders are counted from.
func (p *policy) place(sources []source.Source, workspace string) {
	p.workspace = workspace
	p.position = make(map[string]int, len(sources))
	for i, s := range sources {
		p.position[s.Info().ID] = i
	}
}

func (p *policy) kind(r *Record) int {
	if n, ok := p.rank[r.Source.Kind]; ok {
		return n
	}
	return len(p.Kinds)
}

// switchesLate says whether switches are judged after arbitration: a skill that is off
// then hides its name. The dialects that filter winners by switches do so.
func (p *policy) switchesLate() bool { return slices.Contains(p.Filters, "disabled") }

// label is what people call the rank of a record.
func (p *policy) label(r *Record) string {
	if n := p.kind(r); n < len(p.Labels) {
		return p.Labels[n]
	}
	return string(r.Source.Kind)
}

// weight is the source's own priority where it has one, else that of its kind.
func (p *policy) weight(r *Record) float64 {
	if r.Source.Priority != 0 {
		return r.Source.Priority
	}
	return p.Weights[r.Source.Kind]
}

// steps compares two records by one property: negative when a is stronger.
var steps = map[string]func(p *policy, a, b *Record) int{
	"kind":     func(p *policy, a, b *Record) int { return p.kind(a) - p.kind(b) },
	"nearness": func(_ *policy, a, b *Record) int { return a.Source.Nearness - b.Source.Nearness },
	"priority": func(_ *policy, a, b *Record) int { return cmp.Compare(b.Source.Priority, a.Source.Priority) },
	"weight":   func(p *policy, a, b *Record) int { return cmp.Compare(p.weight(b), p.weight(a)) },
	"form":     func(_ *policy, a, b *Record) int { return commandFile(a) - commandFile(b) },
	"outer":    func(p *policy, a, b *Record) int { return min(1, len(p.nested(a))) - min(1, len(p.nested(b))) },
	"last": func(p *policy, a, b *Record) int {
		return cmp.Or(p.position[b.Source.ID]-p.position[a.Source.ID], strings.Compare(b.Location, a.Location))
	},
}

// nested returns the folder of a project root that lies below the workspace, relative
// to it and slash-separated; "" for every other record, and where the dialect's order
// does not ask.
func (p *policy) nested(r *Record) string {
	if !slices.Contains(p.Order, "outer") || p.workspace == "" || r.Source.Kind != source.Project {
		return ""
	}
	level := filepath.Dir(filepath.Dir(r.Source.Path))
	rel, err := filepath.Rel(p.workspace, level)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// commandFile is 1 for a command of one file, which loses to a skill of its name.
func commandFile(r *Record) int {
	if r.File == "" || strings.EqualFold(r.File, source.SkillFile) {
		return 0
	}
	return 1
}

// compare orders two records, the stronger first, and names the deciding step.
func (p *policy) compare(a, b *Record) (order int, step string) {
	if c := outside(a) - outside(b); c != 0 {
		return c, "package"
	}
	asked := p.Order
	if a.Source.ID == b.Source.ID {
		asked = p.within // the others compare sources
	}
	for _, s := range asked {
		if c := steps[s](p, a, b); c != 0 {
			return c, s
		}
	}
	if c := strings.Compare(a.Location, b.Location); c != 0 {
		return c, "location"
	}
	return strings.Compare(a.Source.ID, b.Source.ID), "location"
}

// keys are the ways to group records.
var keys = map[string]func(r *Record) string{
	"key":       func(r *Record) string { return r.Skill.Key },
	"nfkc":      func(r *Record) string { return fold.NFKC(r.Skill.Name) },
	"name":      func(r *Record) string { return r.Skill.Name },
	"id":        func(r *Record) string { return string(r.Skill.ID()) },
	"directory": directoryOf,
	"file": func(r *Record) string {
		f := realFile(r)
		return filepath.Join(f.dir, f.base)
	},
}

// directoryOf returns the name of a record's folder; a command's is that of its file.
func directoryOf(r *Record) string {
	if commandFile(r) == 1 {
		return strings.TrimSuffix(r.File, path.Ext(r.File))
	}
	return dirNameOf(r)
}

// key returns what the record is grouped by.
func (p *policy) key(r *Record) string {
	k := keys[p.KeyBy](r)
	if ns := r.Source.Namespace; ns != "" {
		return fold.Key(ns) + ":" + k
	}
	return k
}

// byName says whether records of different keys have different names.
func (p *policy) byName() bool {
	return p.KeyBy == "key" || p.KeyBy == "nfkc" || p.KeyBy == "name"
}

// words fills the template of a loser's reason.
func (p *policy) words(winner *Record) string {
	return strings.NewReplacer("{kind}", string(winner.Source.Kind), "{location}", winner.Location).Replace(p.Shadowed)
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
