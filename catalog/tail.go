package catalog

import (
	"fmt"
	"strings"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

const (
	openTail  = "<relevant_skills>"
	closeTail = "</relevant_skills>"
)

// routedPrefix is the outcome of a stable block that only counts: no skill is
// listed in it, none is lost either.
func routedPrefix(p *plan, words notes, o options) outcome {
	out := outcome{level: make([]int8, len(p.lines)), edge: -1}
	for i := range out.level {
		out.level[i] = levelOmitted
	}
	out.used, _ = o.measure(words.total(len(p.lines)))
	out.least = out.used
	out.fits = o.room.limit == 0 || out.used <= o.room.limit
	return out
}

// addTail sets the part of the catalog that belongs to this turn.
func (r *Renderer) addTail(c *Catalog, in Input, o options) {
	if !in.Routing || o.dialect == skill.AgentSkills || len(c.plan.visible) == 0 {
		return
	}
	text := ""
	switch {
	case in.Fit == "none":
		text = nothingFits(c, in, o)
	case c.Report.Mode == ModeRouted:
		text = r.routedTail(c, in, o)
	default:
		text = hints(c.plan, in, o)
	}
	if text == "" {
		return
	}
	c.Tail = r.block(text)
	c.Report.Tail, _ = o.measure(text)
}

// nothingFits sends the model to the search where one exists.
func nothingFits(c *Catalog, in Input, o options) string {
	if !c.NeedsSearch(in.Tools) {
		return ""
	}
	return within(o, fmt.Sprintf("No listed skill matches this request; %s looks inside all %d.", in.Tools.Search, len(c.plan.visible)))
}

// hints names the routed skills with their reasons, as many as the reserve holds.
// The descriptions stand in the stable block.
func hints(p *plan, in Input, o options) string {
	var lines []string
	for _, s := range in.Routed {
		rec := p.find(s.Address)
		if rec == nil || s.Score <= 0 {
			continue
		}
		if lines = append(lines, "- "+handle(shownName(rec))+reasons(s.Reasons)+"\n"); len(lines) == limits.CatalogHints {
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
			shown = append(shown, escapeList(clean))
		}
	}
	if len(shown) == 0 {
		return ""
	}
	return " [" + strings.Join(shown, ", ") + "]"
}

// routedTail lists the best skills of this turn with descriptions and reasons, in
// the router's order, in all the room that the counting prefix left.
func (r *Renderer) routedTail(c *Catalog, in Input, o options) string {
	p, top := c.plan, in.TopK
	if top <= 0 {
		top = limits.CatalogTopK
	}
	list, _ := shapeOf(skill.Deft, List)
	of := offer{total: len(p.visible), notes: notes{in.Tools}, cost: o.measure, shape: list}
	for _, s := range in.Routed {
		rec := p.find(s.Address)
		if rec == nil {
			continue
		}
		k := recipeOf(rec, list, o.unit)
		k.reasons = reasons(s.Reasons)
		of.lines = append(of.lines, newLine(k, list, o.measure))
		of.order = append(of.order, len(of.order))
		if len(of.lines) == top {
			break
		}
	}
	if len(of.lines) == 0 {
		return ""
	}
	open, _ := o.measure(openTail + "\n")
	end, _ := o.measure(closeTail)
	of.frame, of.room = open+end, o.room.stable()
	if o.room.limit > 0 {
		of.room = o.room.limit - c.Report.Used
	}
	out := concede(of)
	if !out.fits || out.listed == 0 {
		return ""
	}
	return string(write(openTail, closeTail, of.lines, nil, out, list))
}

// find returns the visible record at an address.
func (p *plan) find(address string) *registry.Record {
	if i, ok := p.address[address]; ok {
		return p.visible[i]
	}
	return nil
}
