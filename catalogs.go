package deft

import (
	"cmp"
	"context"
	"slices"

	"github.com/deftskills/deft/builtin"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// CatalogOptions says how a catalog is rendered. The zero value is what a model gets
// that may call skill, skill_read and skill_search.
type CatalogOptions struct {
	Dialect skill.Dialect // "" = the engine's
	Format  catalog.Format
	Mode    catalog.Mode
	Budget  *catalog.Budget // nil = the engine's
	View    catalog.View
	Window  int      // the model's context in tokens, where no budget is set; 0 = unknown
	For     *Request // adds the tail for this request, as the first of a conversation
	Tools   *catalog.ToolNames
}

// Catalog renders what a model is shown of the skills, and reports what the budget cut.
func (e *Engine) Catalog(ctx context.Context, o CatalogOptions) (catalog.Catalog, error) {
	var routed *route.Result
	if o.For != nil {
		r, err := e.Route(ctx, *o.For)
		if err != nil {
			return catalog.Catalog{}, err
		}
		routed = &r
	}
	return e.catalog.Render(ctx, begun(e.catalogInput(e.Snapshot(), o, routed)))
}

// begun is the question of a conversation's first turn: what it routes keeps its words
// longer than the rest.
func begun(in catalog.Input) catalog.Input {
	for _, r := range in.Routed {
		if r.Score > 0 {
			in.Rank.Pinned = append(in.Rank.Pinned, r.Address)
		}
	}
	return in
}

// catalogInput is the question to the catalog; routed is nil where nothing was asked.
func (e *Engine) catalogInput(snap *registry.Snapshot, o CatalogOptions, routed *route.Result) catalog.Input {
	in := catalog.Input{
		Snapshot: snap, View: o.View, Dialect: o.Dialect, Format: o.Format, Mode: cmp.Or(o.Mode, e.o.CatalogMode), Budget: e.o.Budget,
		Rank: e.rank(snap), Tools: e.toolNames(), Routing: true, Incomplete: !snap.Complete,
	}
	if in.Dialect == "" {
		in.Dialect = e.o.Dialect
	}
	if in.Mode == "" && e.skills.OnDemand == toolset.OnDemandOnly {
		in.Mode = catalog.ModeSearch
	}
	switch {
	case o.Budget != nil:
		in.Budget = *o.Budget
	case in.Budget == catalog.Budget{}:
		in.Budget.Window = o.Window
	}
	if o.Tools != nil {
		in.Tools = *o.Tools
	}
	if routed != nil {
		in.Fit = string(routed.Fit)
		for h := range routed.Struck() {
			if h.Code == "negative_keyword" {
				in.View.Negative = append(slices.Clip(in.View.Negative), h.Address)
			}
		}
		entries := slices.Values(routed.Hits)
		if in.Dialect == skill.Minara { // its tail has every skill, in the router's order
			entries = routed.All()
		}
		for h := range entries {
			in.Routed = append(in.Routed, catalog.Routed{Address: h.Address, Name: h.Name, Score: float64(h.Score), Reasons: h.Reasons})
		}
	}
	return in
}

// rank protects the built-in skill that tells a model how to use the others: it is the
// last one whose description is cut.
func (e *Engine) rank(snap *registry.Snapshot) catalog.Rank {
	for _, r := range snap.Winners {
		if r.Source.Kind == source.Builtin && r.Skill.Name == builtin.Guide {
			return catalog.Rank{Protected: []string{r.Address}}
		}
	}
	return catalog.Rank{}
}
