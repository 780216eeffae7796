package search

import (
	"math/bits"
	"sync"

	"github.com/deftskills/deft/registry"
)

// View says which skills a request may see, by registry.Record.Address. It counts
// while hits are collected, before the best are cut off, so that a skill outside
// never takes a place. A nil View lets every skill of the scope through. One View may
// serve any number of queries at once; what it said of an index is kept until that
// changes, so keep a View and use it again.
type View struct {
	sees func(address string) bool

	mu   sync.Mutex
	kept map[*segment][]uint64 // a bit for each document
}

// NewView returns the view that lets through what sees says, which must always say
// the same of an address and be safe for concurrent use.
func NewView(sees func(address string) bool) *View { return &View{sees: sees} }

// Has reports whether the skill of that address is in the view.
func (v *View) Has(address string) bool { return v == nil || v.sees(address) }

// ModelView is the view of a model: what registry.Record.ForModel lets through.
func ModelView(snap *registry.Snapshot) *View {
	seen := make(map[string]struct{}, len(snap.Winners))
	for _, rec := range snap.Winners {
		if rec.ForModel() {
			seen[rec.Address] = struct{}{}
		}
	}
	return NewView(func(address string) bool { _, ok := seen[address]; return ok })
}

// bits returns the documents of part number i that are in the view; nil means all.
func (v *View) bits(g *generation, i int) []uint64 {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	p := g.parts[i]
	if set, ok := v.kept[p.segment]; ok {
		return set
	}
	set := make([]uint64, (len(p.docs)+63)/64)
	for doc, d := range p.docs {
		if d != nil && v.sees(d.Address) {
			set[doc/64] |= 1 << (doc % 64)
		}
	}
	kept := map[*segment][]uint64{p.segment: set}
	for _, p := range g.parts { // what is not of this generation goes
		if old, ok := v.kept[p.segment]; ok {
			kept[p.segment] = old
		}
	}
	v.kept = kept
	return set
}

// count returns how many living documents of g are in the view.
func (v *View) count(g *generation) int {
	if v == nil {
		return g.live
	}
	n := 0
	for i, p := range g.parts {
		for w, set := range v.bits(g, i) {
			if p.dead != nil {
				set &^= p.dead[w]
			}
			n += bits.OnesCount64(set)
		}
	}
	return n
}
