package catalog

import (
	"sync"

	"github.com/deftskills/deft/registry"
)

// pantry keeps lines between renders, in two generations: what is used moves to the
// young one, and when that is half of the bound the old one is forgotten. Its lock
// is never held while something is counted.
type pantry struct {
	mu         sync.Mutex
	bound      int
	young, old map[recipe]*line
}

// take returns the lines that the pantry has, nil for each that it has not.
func (p *pantry) take(keys []recipe) []*line {
	lines := make([]*line, len(keys))
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range keys {
		if lines[i] = p.young[keys[i]]; lines[i] == nil {
			lines[i] = p.old[keys[i]]
		}
	}
	return lines
}

// put keeps lines as used just now.
func (p *pantry) put(keys []recipe, lines []*line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, k := range keys {
		p.keep(k, lines[i])
	}
}

func (p *pantry) keep(k recipe, l *line) {
	if p.young == nil || len(p.young) >= p.bound/2 {
		p.young, p.old = make(map[recipe]*line), p.young
	}
	p.young[k] = l
}

// shelf is the last render's lines in their order. Most renders follow one with
// nearly the same skills, so looking there first saves most of the hashing. Who takes
// it from the Renderer has it alone.
type shelf struct {
	records []*registry.Record
	lines   []*line
	spare   []*line // room for the next render's
	shape   shapeID
	unit    Unit
}

// reuse sets the lines that the shelf has and returns the indices of the others. Both
// are in the order of the Snapshot: a record stands where the last one was found, or a
// little further where some are gone.
func (s *shelf) reuse(recs []*registry.Record, lines []*line, o options, none bool) (rest []int) {
	known := s.records
	if s.shape != o.shape.id || s.unit != o.unit || none {
		known = nil
	}
	const gone = 4
	at := 0
next:
	for i, rec := range recs {
		for j := at; j < min(at+gone, len(known)); j++ {
			if alike(rec, known[j]) {
				lines[i], at = s.lines[j], j+1
				continue next
			}
		}
		rest = append(rest, i)
	}
	return rest
}

// alike reports whether two records make the same line, without looking at texts
// that are the same in memory anyway.
func alike(a, b *registry.Record) bool {
	return a == b || a.Skill == b.Skill && a.Address == b.Address && a.Dir == b.Dir && a.Location == b.Location &&
		a.Source.Kind == b.Source.Kind && a.Source.Trust == b.Source.Trust
}

// question identifies a render without looking at the skills: equal questions have
// equal answers, since a Snapshot never changes.
type question struct {
	snapshot *registry.Snapshot
	options  string
}

// results keeps the last answers, oldest out first.
type results struct {
	mu    sync.Mutex
	bound int
	order []question
	known map[question]Catalog
}

func (r *results) get(q question) (Catalog, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.known[q]
	return c, ok
}

func (r *results) put(q question, c Catalog) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.known[q]; ok {
		return
	}
	if r.known == nil {
		r.known = make(map[question]Catalog)
	}
	if len(r.order) >= r.bound {
		delete(r.known, r.order[0])
		r.order = append(r.order[:0], r.order[1:]...)
	}
	r.order = append(r.order, q)
	r.known[q] = c
}

// memo remembers what a few fixed texts cost: tags, headings and notes, that every
// render would count anew.
type memo struct {
	mu    sync.Mutex
	known map[fixed]int
}

type fixed struct {
	unit Unit
	text string
}

// memoBound is how many texts a memo keeps before it begins anew.
const memoBound = 256

// measure returns m with a memory.
func (c *memo) measure(u Unit, m measure) measure {
	return func(text string) (int, bool) {
		key := fixed{u, text}
		c.mu.Lock()
		n, ok := c.known[key]
		c.mu.Unlock()
		if ok {
			return n, false
		}
		n, inexact := m(text)
		if inexact {
			return n, true
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.known == nil || len(c.known) >= memoBound {
			c.known = make(map[fixed]int)
		}
		c.known[key] = n
		return n, false
	}
}
