package cli

import (
	"context"
	"strconv"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
)

type whyJSON struct {
	Name    string            `json:"name"`
	Known   bool              `json:"known"` // the router sees the skill
	ID      string            `json:"id,omitempty"`
	Rank    int               `json:"rank"` // 0: removed
	Of      int               `json:"of"`
	Rows    []whyRowJSON      `json:"rows"`
	Hidden  []routeHiddenJSON `json:"hidden"`
	Reason  string            `json:"reason,omitempty"` // why the router does not see it
	Stages  []string          `json:"stages"`
	Address string            `json:"address"`
}

type whyRowJSON struct {
	Signal string `json:"signal"`
	Points int    `json:"points"`
	Hidden bool   `json:"hidden"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// routeWhy goes through the rules for one skill.
func (r *run) routeWhy(ctx context.Context, e *deft.Engine, in deft.Request, name string) error {
	rec, err := find(e.Snapshot(), name)
	if err != nil {
		return err
	}
	ctx, done := r.watch(ctx, "index")
	why, err := e.ExplainRoute(ctx, in, rec.Address)
	done()
	if err != nil {
		return err
	}
	doc := whyJSON{
		Name: name, Known: why.Known, ID: why.ID, Rank: why.Rank, Of: why.Of, Stages: why.Stages.Names(),
		Rows: []whyRowJSON{}, Hidden: []routeHiddenJSON{}, Address: rec.Address,
	}
	if !why.Known {
		doc.Reason = r.unrouted(rec)
	}
	for _, x := range why.Rows {
		doc.Rows = append(doc.Rows, whyRowJSON{x.Signal, x.Points, x.Hidden, x.Code, x.Detail})
	}
	for _, h := range why.Hidden {
		doc.Hidden = append(doc.Hidden, hiddenJSON(h))
	}
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	r.whyText(doc, why)
	return nil
}

func (r *run) whyText(doc whyJSON, why route.Explanation) {
	if !doc.Known {
		r.out.Printf("%s\n", r.words.Say("route.not_routed", doc.Name, doc.Reason))
		return
	}
	for _, x := range why.Rows {
		points := strconv.Itoa(x.Points)
		if x.Hidden {
			points = "hidden"
		}
		r.out.Printf("%-11s %6s  %s\n", x.Signal, points, r.words.Say("why."+x.Code, x.Args...))
	}
	if doc.Rank > 0 {
		r.out.Printf("%s\n", r.words.Say("route.rank", doc.Rank, doc.Of))
	} else {
		r.out.Printf("%s\n", r.words.Say("route.no_rank", doc.Of))
	}
}

// unrouted says why the router does not see a skill that there is.
func (r *run) unrouted(rec *registry.Record) string {
	words := r.docWords()
	reason := words.Say("state." + string(rec.State))
	if rec.Skill.Meta.DisableModelInvocation || rec.Barred != "" {
		return words.Say("state.manual")
	}
	if len(rec.Reasons) > 0 {
		why := rec.Reasons[0]
		reason += ": " + words.Reason(why.Code, why.Message, why.By, at(why.Path, why.Line))
	}
	return reason
}
