package catalog

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// Config makes a Renderer. The zero value counts with O200k.
type Config struct {
	Counter      Counter // nil = O200k()
	CacheEntries int     // lines kept between renders; 0 = 200,000
}

// Renderer turns snapshots into catalogs. It holds caches only and is safe for
// concurrent use.
type Renderer struct {
	counter Counter
	lines   pantry
	results results
	last    atomic.Pointer[shelf]
	words   memo
}

// New returns a Renderer.
func New(c Config) *Renderer {
	if c.Counter == nil {
		c.Counter = O200k()
	}
	if c.CacheEntries <= 0 {
		c.CacheEntries = limits.CatalogLines
	}
	return &Renderer{
		counter: c.Counter,
		lines:   pantry{bound: c.CacheEntries},
		results: results{bound: limits.CatalogResults},
	}
}

// Render answers one question. It fails for a missing snapshot, an unknown dialect,
// format, mode or unit (*OptionError) and for a cancelled context only: text of
// skills, however bad, is cleaned and reported. It opens no file and reads no clock.
// Maps and slices of the result are shared with later results; do not change them.
func (r *Renderer) Render(ctx context.Context, in Input) (Catalog, error) {
	o, err := resolve(in, r.counter)
	if err != nil {
		return Catalog{}, err
	}
	q := question{in.Snapshot, o.fingerprint(in)}
	c, known := r.results.get(q)
	if !known {
		if c, err = r.render(ctx, in, o); err != nil {
			return Catalog{}, err
		}
		r.results.put(q, c)
	}
	c.Report.Active = in.ActiveTokens
	if err := ctx.Err(); err != nil {
		return Catalog{}, err
	}
	return c, r.addTail(ctx, &c, in, o)
}

// options are an Input's, resolved and checked.
type options struct {
	dialect skill.Dialect
	d       *dialect
	format  Format
	mode    Mode
	unit    Unit
	routing bool
	room    room
	shape   *shape
	measure measure
	counter string
	places  map[string]string
	bare    map[string]bool // addresses that are listed by name alone
}

func resolve(in Input, c Counter) (options, error) {
	o := options{
		dialect: cmp.Or(in.Dialect, skill.Deft), format: in.Format, counter: c.Name(),
		mode: cmp.Or(in.Mode, ModeAuto), unit: cmp.Or(in.Budget.Unit, Tokens), places: in.Locations,
	}
	o.d = dialects[o.dialect]
	switch {
	case in.Snapshot == nil:
		return o, &OptionError{Option: "snapshot"}
	case o.d == nil:
		return o, &OptionError{"dialect", string(o.dialect), names(dialectNames())}
	case o.mode != ModeAuto && !slices.Contains(o.d.modes, o.mode):
		return o, &OptionError{"mode", string(o.mode), names(o.d.accepted())}
	case o.unit != Tokens && o.unit != Chars && o.unit != Bytes:
		return o, &OptionError{"unit", string(o.unit), names([]Unit{Tokens, Chars, Bytes})}
	}
	o.format = cmp.Or(o.format, o.d.format)
	shape, ok := shapeOf(o.dialect, o.format)
	if !ok {
		return o, &OptionError{"format", string(o.format), names(formats())}
	}
	for _, address := range in.View.NameOnly {
		if o.bare == nil {
			o.bare = map[string]bool{}
		}
		o.bare[address] = true
	}
	o.routing = in.Routing && o.d.tail != noTail
	o.shape = shape
	o.room, o.unit = roomOf(in.Budget, o.d, o.routing)
	o.measure = measureOf(o.unit, c)
	return o, nil
}

// plan is what a render decided, kept for the account and for the turns' tails. Lines
// are not part of it: the renderer has them, or makes them again.
type plan struct {
	r       *Renderer
	o       options
	visible []*registry.Record // in the order of display
	tiers   []int8             // by visible; nil = all 4
	hidden  []unseen
	outcome outcome
}

// render makes guidance, stable block and report.
func (r *Renderer) render(ctx context.Context, in Input, o options) (Catalog, error) {
	p := &plan{r: r, o: o}
	p.visible, p.hidden = sift(in.Snapshot, o.d, in.View)
	lines, done, err := r.fill(ctx, p.visible, o)
	if err != nil {
		return Catalog{}, err
	}
	defer done()
	if o.d.collated {
		lines = p.collate(lines)
	}
	measured := lines
	if o.dialect == skill.MiniMax && o.unit == Tokens && slices.ContainsFunc(lines, func(l *line) bool { return l.inexact }) {
		// This dialect counts a block as a whole: one run that cannot be counted makes
		// all of it count as bytes.
		p.o.unit, p.o.measure = Bytes, measureOf(Bytes, nil)
		measured = p.lines()
	}
	order := p.rank(in.Rank)
	words := notes{in.Tools}
	of := offer{
		lines: measured, order: order, total: len(lines), room: o.room.stable(), notes: words, cost: p.o.measure, shape: o.shape,
		fixed: r.words.measure(p.o.unit, p.o.measure),
	}
	if p.outcome = concedeWith(o.d, of); p.outcome.lines != nil {
		measured = p.outcome.lines
	}
	p.mode(in)
	switch p.o.mode {
	case ModeRouted:
		p.outcome = routedPrefix(of, o)
	case ModeSearch:
		p.outcome = of.blank()
	}
	c := Catalog{plan: p}
	c.Stable.Text = p.stableText(measured, words)
	p.exact(c.Stable.Text)
	c.Report = p.report(in, lines)
	if c.Report.visible() > 0 || o.d.blind && p.o.mode == ModeSearch {
		c.Guidance.Text = guidance(o.d, p.o.mode, in)
		c.Guidance.Tokens, _ = r.words.measure(Tokens, measureOf(Tokens, r.counter))(c.Guidance.Text)
	}
	if p.o.unit == Tokens && c.Report.visible() > 0 {
		c.Stable.Tokens = c.Report.Used // a block costs what its lines cost
	} else {
		c.Stable = r.block(c.Stable.Text)
	}
	c.Report.Guidance = c.Guidance.Tokens
	c.setting = settingOf(in, p.o)
	c.Key = keyOf(lines, order, c.setting)
	return c, nil
}

func concedeWith(d *dialect, o offer) outcome {
	if len(o.lines) == 0 {
		out := o.blank()
		out.complete = true
		return out
	}
	if d.concede != nil {
		return d.concede(o)
	}
	return concedeSteps(o)
}

// mode decides what ModeAuto means here: all names in the stable block while they fit,
// then the best ones in each turn's tail, then a search alone.
func (p *plan) mode(in Input) {
	if p.o.mode != ModeAuto {
		return
	}
	p.o.mode = p.o.d.modes[0]
	if p.outcome.listed == len(p.visible) || p.o.d.tail != hintsTail {
		return
	}
	if p.o.routing {
		p.o.mode = ModeRouted
	} else if in.Tools.Search != "" {
		p.o.mode = ModeSearch
	}
}

// exact corrects the sum of a block that ends without a closing line: its last line is
// counted without the newline that all others have.
func (p *plan) exact(text string) {
	if p.o.shape.end != "" || text == "" || p.o.mode != ModeStable {
		return
	}
	last := text[strings.LastIndexByte(text, '\n')+1:]
	without, _ := p.o.measure(last)
	with, _ := p.o.measure(last + "\n")
	p.outcome.used += without - with
	if p.outcome.listed == 0 && p.outcome.note == "" {
		p.outcome.used, _ = p.o.measure(text)
	}
}

func (r *Renderer) block(text string) Block { return Block{text, r.counter.Count(text)} }

// fill makes the lines of the records, counting only those that no former render made.
// They are the caller's until it calls done.
func (r *Renderer) fill(ctx context.Context, recs []*registry.Record, o options) (lines []*line, done func(), err error) {
	own := len(o.places) > 0 || len(o.bare) > 0 // what no record says decides too
	old := r.last.Swap(nil)
	if old == nil {
		old = &shelf{}
	}
	lines = slices.Grow(old.spare[:0], len(recs))[:len(recs)]
	rest := old.reuse(recs, lines, o, own)
	keys := make([]recipe, len(rest))
	for n, i := range rest {
		keys[n] = recipeOf(recs[i], o.shape, o.unit, o.places)
		if o.bare[recs[i].Address] {
			keys[n].description, keys[n].whenToUse = "", ""
		}
	}
	found := r.lines.take(keys)
	for n, i := range rest {
		if found[n] == nil {
			if n%256 == 0 && ctx.Err() != nil {
				r.last.Store(old)
				return nil, nil, ctx.Err()
			}
			found[n] = newLine(keys[n], o.shape, o.measure)
		}
		lines[i] = found[n]
	}
	r.lines.put(keys, found)
	if own {
		return lines, func() { r.last.Store(old) }, ctx.Err()
	}
	now := &shelf{recs, lines, old.lines, o.shape.id, o.unit}
	return lines, func() { r.last.Store(now) }, ctx.Err()
}

// lines returns the lines of what is visible, from the renderer's store or made anew.
func (p *plan) lines() []*line {
	lines, done, err := p.r.fill(context.Background(), p.visible, p.o)
	if err != nil {
		return nil // cannot happen: the context does not end
	}
	defer done()
	return slices.Clone(lines)
}

// collate brings what is visible into the order of the root locale, protected names
// first.
func (p *plan) collate(lines []*line) []*line {
	at := make([]int, len(lines))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return strings.Compare(lines[a].order, lines[b].order) })
	visible, sorted := make([]*registry.Record, len(lines)), make([]*line, len(lines))
	for n, i := range at {
		visible[n], sorted[n] = p.visible[i], lines[i]
	}
	p.visible = visible
	return sorted
}

// rank sets tiers and returns the order in which skills keep their descriptions:
// protected, recent, pinned, then by the skills' own priority (lower is stronger) and
// place; nil for the order of display.
func (p *plan) rank(by Rank) []int32 {
	bound := func(s []string) []string { return s[:min(len(s), limits.CatalogRanked)] }
	groups := [][]string{by.Protected, bound(by.Recent), bound(by.Pinned)}
	at := p.places(slices.Concat(groups...))
	if len(at) == 0 && p.byPriority() {
		return nil
	}
	order := make([]int32, 0, len(p.visible))
	p.tiers = slices.Repeat([]int8{4}, len(p.visible))
	for tier, addresses := range groups {
		for _, a := range addresses {
			if i, ok := at[a]; ok && p.tiers[i] == 4 {
				p.tiers[i] = int8(tier + 1)
				order = append(order, int32(i))
			}
		}
	}
	ranked := len(order)
	for i := range p.visible {
		if p.tiers[i] == 4 {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order[ranked:], func(a, b int32) int {
		return cmp.Compare(p.visible[a].Skill.Meta.Priority, p.visible[b].Skill.Meta.Priority)
	})
	return order
}

// byPriority reports whether no skill stands before a stronger one.
func (p *plan) byPriority() bool {
	return slices.IsSortedFunc(p.visible, func(a, b *registry.Record) int {
		return cmp.Compare(a.Skill.Meta.Priority, b.Skill.Meta.Priority)
	})
}

// places finds where addresses stand among what is visible.
func (p *plan) places(addresses []string) map[string]int {
	if len(addresses) == 0 {
		return nil
	}
	wanted := make(map[string]bool, len(addresses))
	for _, a := range addresses {
		wanted[a] = true
	}
	at := make(map[string]int, len(addresses))
	for i, rec := range p.visible {
		if wanted[rec.Address] {
			at[rec.Address] = i
		}
	}
	return at
}

// stableText writes the stable block.
func (p *plan) stableText(lines []*line, words notes) string {
	switch {
	case len(lines) == 0 && p.o.d.empty:
		return p.o.shape.block(nil, p.outcome)
	case len(lines) == 0 || !p.outcome.fits || p.o.mode == ModeSearch:
		return ""
	case p.o.mode == ModeRouted && p.o.d.tail == fullTail:
		return ""
	case p.o.mode == ModeRouted:
		return words.total(len(lines))
	}
	return p.o.shape.block(lines, p.outcome)
}
