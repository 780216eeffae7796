package deft

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// judge is what the registry asks: the decisions of Options.State, and the trust of
// folders by them. One moment's decisions serve a whole refresh.
type judge struct {
	state registry.Decider // nil = nobody decided anything
	mode  registry.ProjectTrust
	env   source.Env
	rules []registry.SkillRule // of Options.Rules

	offers *offers // of Options.Providers

	mu    sync.Mutex
	now   registry.Decisions
	trust registry.SavedTrust
}

func newJudge(o Options, env source.Env) *judge {
	j := &judge{state: o.State, mode: o.Project, env: env, rules: o.skillRules()}
	j.set(registry.Decisions{})
	return j
}

// set takes new decisions, and looks at the folders anew.
func (j *judge) set(d registry.Decisions) {
	j.now = d
	j.trust = registry.SavedTrust{Undecided: j.mode, Folders: d.Folders, Roots: source.NewTrustRoots(j.env)}
	for _, dir := range d.Installed {
		if j.trust.Installed == nil {
			j.trust.Installed = map[string]bool{}
		}
		j.trust.Installed[dir] = true
	}
}

// Decide implements registry.Decider.
func (j *judge) Decide(ctx context.Context) registry.Decisions {
	var d registry.Decisions
	if j.state != nil {
		d = j.state.Decide(ctx)
	}
	d.Switches.Skills = append(slices.Clone(d.Switches.Skills), j.rules...)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.set(d)
	return d
}

// Version implements registry.Versioned.
func (j *judge) Version(ctx context.Context) string {
	if v, ok := j.state.(registry.Versioned); ok {
		return v.Version(ctx) + j.offers.version()
	}
	return j.offers.version()
}

// Trust implements registry.Truster.
func (j *judge) Trust(ctx context.Context, i source.Info, s *skill.Skill) (source.Trust, registry.Reason) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.trust.Trust(ctx, i, s)
}

// TrustEntry implements registry.EntryTruster.
func (j *judge) TrustEntry(ctx context.Context, e *source.Entry) (source.Trust, registry.Reason, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.trust.TrustEntry(ctx, e)
}

// decided returns the decisions of the last refresh.
func (j *judge) decided() registry.Decisions {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.now
}

// granted says whether the code of a skill counts: its source is trusted, or a person
// granted exactly the tree that lies there now. The tree is read only where there is
// a grant for the skill at all.
func (e *Engine) granted(ctx context.Context, r *registry.Record) bool {
	if r.Source.Trust == source.Trusted {
		return true
	}
	given := grantsOf(e.judge.decided().Grants, r)
	if len(given) == 0 {
		return false
	}
	tree, files, err := source.Tree(ctx, r.Entry)
	if err != nil || !slices.ContainsFunc(given, func(g registry.Grant) bool { return g.Tree == tree }) {
		return false
	}
	// The text was read before the tree: it counts only if it is the tree's.
	return slices.ContainsFunc(files, func(f skill.FileEntry) bool { return f.Path == r.File && f.Blob == r.Skill.File })
}

// grantsOf returns the grants that were given to a skill.
func grantsOf(all []registry.Grant, r *registry.Record) []registry.Grant {
	var out []registry.Grant
	for _, g := range all {
		if g.Name == r.Skill.Name && g.Source == r.Source.ID {
			out = append(out, g)
		}
	}
	return out
}

// explainBudget adds to an explanation what only the catalog knows: that the budget leaves
// no room for the skill.
func (e *Engine) explainBudget(ctx context.Context, x *registry.Explanation) {
	if x.Winner == nil || !x.Winner.ForModel() || !x.Winner.Skill.Meta.Listed {
		return
	}
	c, err := e.Catalog(ctx, CatalogOptions{})
	if err != nil {
		return
	}
	for _, shown := range c.Entries() {
		if shown.Address == x.Winner.Address && shown.State == catalog.Omitted {
			room := fmt.Sprintf("%d/%d", c.Report.Shown, c.Report.Shown+c.Report.Omitted)
			x.Add(registry.Reason{
				Code: "budget", Message: "the catalog has no room for it: it shows " + room + " skills; a model finds it by search",
				Fix: "raise the budget or turn skills off", By: room,
			})
		}
	}
}
