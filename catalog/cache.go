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

// take fills lines from the pantry and returns the indices that it does not have.
func (p *pantry) take(keys []recipe, lines []*line) (missing []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range keys {
		l := p.young[keys[i]]
		if l == nil {
			if l = p.old[keys[i]]; l != nil {
				p.keep(keys[i], l)
			}
		}
		if lines[i] = l; l == nil {
			missing = append(missing, i)
		}
	}
	return missing
}

// put keeps the lines at the given indices.
func (p *pantry) put(keys []recipe, lines []*line, at []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range at {
		p.keep(keys[i], lines[i])
	}
}

func (p *pantry) keep(k recipe, l *line) {
	if p.young == nil || len(p.young) >= p.bound/2 {
		p.young, p.old = make(map[recipe]*line), p.young
	}
	p.young[k] = l
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
