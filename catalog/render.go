package catalog

import (
	"cmp"
	"context"
	"slices"
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
	r.addTail(&c, in, o)
	return c, nil
}

// options are an Input's, resolved and checked.
type options struct {
	dialect skill.Dialect
	format  Format
	mode    Mode
	unit    Unit
	room    room
	shape   shape
	measure measure
	counter string
}

func resolve(in Input, c Counter) (options, error) {
	o := options{
		dialect: cmp.Or(in.Dialect, skill.Deft), format: in.Format, counter: c.Name(),
		mode: cmp.Or(in.Mode, ModeAuto), unit: cmp.Or(in.Budget.Unit, Tokens),
	}
	if o.format == "" {
		if o.format = List; o.dialect == skill.AgentSkills {
			o.format = XML
		}
	}
	dialects := []skill.Dialect{skill.Deft, skill.AgentSkills}
	modes := []Mode{ModeAuto, ModeStable, ModeRouted}
	units := []Unit{Tokens, Chars, Bytes}
	switch {
	case in.Snapshot == nil:
		return o, &OptionError{Option: "snapshot"}
	case !slices.Contains(dialects, o.dialect):
		return o, &OptionError{"dialect", string(o.dialect), names(dialects)}
	case !slices.Contains(formats(), o.format):
		return o, &OptionError{"format", string(o.format), names(formats())}
	case !slices.Contains(modes, o.mode):
		return o, &OptionError{"mode", string(o.mode), names(modes)}
	case !slices.Contains(units, o.unit):
		return o, &OptionError{"unit", string(o.unit), names(units)}
	}
	o.shape, _ = shapeOf(o.dialect, o.format)
	o.measure = measureOf(o.unit, c)
	o.room = roomOf(in.Budget, o.dialect, in.Routing)
	return o, nil
}

// plan is a render's inside, kept for the account and for the turns' tails.
type plan struct {
	visible []*registry.Record
	lines   []*line
	tiers   []int8
	order   []int // rank order
	hidden  []unseen
	outcome outcome
	address map[string]int // of visible; filled where ranks or routing need it
}

// render makes guidance, stable block and report.
func (r *Renderer) render(ctx context.Context, in Input, o options) (Catalog, error) {
	p := &plan{}
	p.visible, p.hidden = sift(in.Snapshot, o.dialect, in.View)
	if err := r.fill(ctx, p, o); err != nil {
		return Catalog{}, err
	}
	p.rank(in.Rank, in.Routing)
	words := notes{in.Tools}
	open, _ := o.measure(openTag + "\n")
	end, _ := o.measure(closeTag)
	p.outcome = concede(offer{
		lines: p.lines, order: p.order, total: len(p.lines), frame: open + end,
		room: o.room.stable(), notes: words, cost: o.measure, shape: o.shape,
	})
	if o.mode == ModeAuto {
		o.mode = ModeStable
		if p.outcome.listed < len(p.lines) && in.Routing && o.dialect != skill.AgentSkills {
			o.mode = ModeRouted
		}
	}
	if o.mode == ModeRouted {
		p.outcome = routedPrefix(p, words, o)
	}
	c := Catalog{plan: p, Report: p.report(in, o)}
	if c.Report.visible() > 0 {
		c.Guidance = r.block(guidance(o.mode, in.Tools))
	}
	if c.Stable.Text = p.stableText(o, words); o.unit == Tokens && c.Report.visible() > 0 {
		c.Stable.Tokens = c.Report.Used // a block costs what its lines cost
	} else {
		c.Stable = r.block(c.Stable.Text)
	}
	c.Report.Guidance = c.Guidance.Tokens
	c.Key = keyOf(p, in, o, c.Report.Counter)
	return c, nil
}

func (r *Renderer) block(text string) Block { return Block{text, r.counter.Count(text)} }

// fill makes the lines of the visible records, counting only those that no former
// render made.
func (r *Renderer) fill(ctx context.Context, p *plan, o options) error {
	p.lines = make([]*line, len(p.visible))
	rest := r.last.Load().reuse(p, o)
	keys := make([]recipe, len(rest))
	for n, i := range rest {
		keys[n] = recipeOf(p.visible[i], o.shape, o.unit)
	}
	found := r.lines.take(keys)
	for n, i := range rest {
		if found[n] == nil {
			if n%256 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			found[n] = newLine(keys[n], o.shape, o.measure)
		}
		p.lines[i] = found[n]
	}
	r.lines.put(keys, found)
	r.last.Store(&shelf{p.visible, p.lines, o.shape.id, o.unit})
	return ctx.Err()
}

// rank sets tiers and the order in which skills keep their descriptions: protected,
// recent, pinned, then by the skills' own priority (lower is stronger) and name.
func (p *plan) rank(by Rank, addressed bool) {
	p.tiers = make([]int8, len(p.visible))
	p.order = make([]int, 0, len(p.visible))
	p.address = make(map[string]int)
	if addressed || len(by.Protected)+len(by.Recent)+len(by.Pinned) > 0 {
		for i, rec := range p.visible {
			p.address[rec.Address] = i
		}
	}
	bound := func(s []string) []string { return s[:min(len(s), limits.CatalogRanked)] }
	for tier, addresses := range [][]string{by.Protected, bound(by.Recent), bound(by.Pinned)} {
		for _, a := range addresses {
			if i, ok := p.address[a]; ok && p.tiers[i] == 0 {
				p.tiers[i] = int8(tier + 1)
				p.order = append(p.order, i)
			}
		}
	}
	var at [257]int // where each priority starts, then where its next goes
	for i, rec := range p.visible {
		if p.tiers[i] == 0 {
			at[int(rec.Skill.Meta.Priority)+1]++
		}
	}
	at[0] = len(p.order)
	for priority := 1; priority < len(at); priority++ {
		at[priority] += at[priority-1]
	}
	p.order = p.order[:len(p.visible)]
	for i, rec := range p.visible {
		if p.tiers[i] == 0 {
			p.tiers[i] = 4
			p.order[at[rec.Skill.Meta.Priority]] = i
			at[rec.Skill.Meta.Priority]++
		}
	}
}

// stableText writes the stable block.
func (p *plan) stableText(o options, words notes) string {
	switch {
	case len(p.visible) == 0 && o.dialect == skill.AgentSkills:
		return openTag + "\n" + closeTag // as the standard's reference does
	case len(p.visible) == 0 || !p.outcome.fits:
		return ""
	case o.mode == ModeRouted:
		return words.total(len(p.visible))
	}
	return string(write(openTag, closeTag, p.lines, nil, p.outcome, o.shape))
}

// write joins tags, note and entries; order nil means as they are.
func write(open, end string, lines []*line, order []int, out outcome, s shape) []byte {
	b := make([]byte, 0, 4096)
	b = append(append(b, open...), '\n')
	if out.note != "" {
		b = append(append(b, out.note...), '\n')
	}
	for n := range lines {
		i := n
		if order != nil {
			i = order[n]
		}
		if out.level[i] != levelOmitted {
			b = s.entry(b, lines[i], out.text(i, lines[i]))
		}
	}
	return append(b, end...)
}
