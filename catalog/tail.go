package catalog

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
)

const (
	openTail  = "<relevant_skills>"
	closeTail = "</relevant_skills>"
)

// routedPrefix is the outcome of a stable block that only counts: no skill is
// listed in it, none is lost either.
func routedPrefix(of offer, o options) outcome {
	out := of.blank()
	if o.d.tail == fullTail {
		return out
	}
	out.used, _ = o.measure(of.notes.total(len(of.lines)))
	out.least = out.used
	out.fits = o.room.limit == 0 || out.used <= o.room.limit
	return out
}

// addTail sets the part of the catalog that belongs to this turn.
func (r *Renderer) addTail(ctx context.Context, c *Catalog, in Input, o options) error {
	if !o.routing || c.Report.visible() == 0 || c.Report.Mode == ModeSearch {
		return nil
	}
	text, err := "", error(nil)
	switch {
	case o.d.tail == fullTail:
		text, err = r.listed(ctx, c, in, o)
	case in.Fit == "none":
		text = nothingFits(c, in, o)
	case c.Report.Mode == ModeRouted:
		text, err = r.routedTail(ctx, c, in, o)
	default:
		text = hints(c.plan, in, o)
	}
	if text == "" || err != nil {
		return err
	}
	c.Tail = r.block(text)
	c.Report.Tail, _ = o.measure(text)
	return nil
}

// nothingFits sends the model to the search where one exists.
func nothingFits(c *Catalog, in Input, o options) string {
	if !c.NeedsSearch(in.Tools) {
		return ""
	}
	return within(o, fmt.Sprintf("No listed skill matches this request; %s looks inside all %d.", in.Tools.Search, c.Report.visible()))
}

// hints names the routed skills with their reasons, as many as the reserve holds.
// The descriptions stand in the stable block.
func hints(p *plan, in Input, o options) string {
	var lines []string
	at := p.places(addresses(in.Routed))
	for _, s := range in.Routed {
		i, ok := at[s.Address]
		if !ok || s.Score <= 0 {
			continue
		}
		if lines = append(lines, "- "+handle(shownName(p.visible[i]))+reasons(s.Reasons)+"\n"); len(lines) == limits.CatalogHints {
			break
		}
	}
	for ; len(lines) > 0; lines = lines[:len(lines)-1] {
		if text := within(o, openTail+"\n"+strings.Join(lines, "")+closeTail); text != "" {
			return text
		}
	}
	return ""
}

// within returns text if the reserve holds it.
func within(o options, text string) string {
	if n, _ := o.measure(text); o.room.limit > 0 && n > o.room.reserve {
		return ""
	}
	return text
}

// reasons returns a router's reasons as they follow an entry.
func reasons(list []string) string {
	var shown []string
	for _, r := range list {
		if clean, _ := safetext.Field(r); clean != "" {
			shown = append(shown, escapeReason(clean))
		}
	}
	if len(shown) == 0 {
		return ""
	}
	return " [" + strings.Join(shown, ", ") + "]"
}

func addresses(routed []Routed) []string {
	out := make([]string, len(routed))
	for i, r := range routed {
		out[i] = r.Address
	}
	return out
}

// picked returns the lines of the routed skills in the router's order, with reasons, at
// most top of them; 0 = all.
func (p *plan) picked(ctx context.Context, in Input, s *shape, top int) ([]*line, error) {
	var lines []*line
	at := p.places(addresses(in.Routed))
	for _, r := range in.Routed {
		i, ok := at[r.Address]
		if !ok {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		k := recipeOf(p.visible[i], s, p.o.unit, p.o.places)
		k.reasons = reasons(r.Reasons)
		if lines = append(lines, newLine(k, s, p.o.measure)); len(lines) == top {
			break
		}
	}
	return lines, nil
}

// routedTail lists the best skills of this turn with descriptions and reasons, in
// the router's order, in all the room that the counting prefix left.
func (r *Renderer) routedTail(ctx context.Context, c *Catalog, in Input, o options) (string, error) {
	list, _ := shapeOf(skill.Deft, List)
	tail := *list
	tail.id.part, tail.open, tail.end = "tail", openTail+"\n", closeTail
	lines, err := c.plan.picked(ctx, in, &tail, cmp.Or(max(in.TopK, 0), limits.CatalogTopK))
	if err != nil || len(lines) == 0 {
		return "", err
	}
	of := offer{
		lines: lines, total: c.Report.visible(), notes: notes{in.Tools}, cost: o.measure, fixed: o.measure, shape: &tail, room: math.MaxInt,
	}
	if o.room.limit > 0 {
		of.room = o.room.limit - c.Report.Used
	}
	out := concedeSteps(of)
	if !out.fits || out.listed == 0 {
		return "", nil
	}
	return tail.block(lines, out), nil
}

// listed is the tail of dialect minara: every routed skill with its description and
// reasons, as many as the tail has room for.
func (r *Renderer) listed(ctx context.Context, c *Catalog, in Input, o options) (string, error) {
	s := *o.shape
	s.id.part = "tail"
	lines, err := c.plan.picked(ctx, in, &s, max(in.TopK, 0))
	if err != nil || len(lines) == 0 {
		return "", err
	}
	of := offer{lines: lines, total: len(lines), notes: notes{in.Tools}, cost: o.measure, fixed: o.measure, shape: &s, room: math.MaxInt}
	if c.Report.Mode == ModeRouted {
		of.total = c.Report.visible()
	}
	switch {
	case o.room.limit > 0 && c.Report.Mode == ModeRouted:
		of.room = o.room.limit
	case o.room.limit > 0:
		of.room = o.room.reserve
	}
	out := concedeSteps(of)
	if !out.fits || out.listed == 0 {
		return "", nil
	}
	return s.block(lines, out), nil
}
