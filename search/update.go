package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
)

func (x *Index) update(ctx context.Context, name string, docs []*document) (UpdateReport, error) {
	if x.closed.Load() {
		return UpdateReport{}, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return UpdateReport{}, err
	}
	s := x.scope(name)
	s.write.Lock()
	defer s.write.Unlock()
	x.load(s)
	g, report := s.diff(docs)
	s.gen.Store(g)
	s.stored = nil
	if report.Unchanged > 0 {
		s.moved.Store(true)
	}
	return report, nil
}

// Put adds skills to a scope, or replaces those of the same address. It costs what it
// adds, however much the scope holds; the texts are read by the next search.
func (x *Index) Put(ctx context.Context, scope string, docs ...Document) error {
	return x.change(ctx, scope, func(g *generation) {
		addresses := make([]string, len(docs))
		for i, d := range docs {
			addresses[i] = d.Address
		}
		g.take(addresses)
		for _, d := range docs {
			g.pending = append(g.pending, newDocument(d))
		}
	})
}

// Remove takes skills out of a scope and returns how many were there.
func (x *Index) Remove(ctx context.Context, scope string, addresses ...string) (removed int, err error) {
	err = x.change(ctx, scope, func(g *generation) { removed = g.take(addresses) })
	return removed, err
}

// change lets f alter the next generation.
func (x *Index) change(ctx context.Context, name string, f func(*generation)) error {
	if x.closed.Load() {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s := x.scope(name)
	s.write.Lock()
	defer s.write.Unlock()
	x.load(s)
	g := s.gen.Load().next()
	f(g)
	s.gen.Store(g)
	return nil
}

// next returns a copy under the next number.
func (g *generation) next() *generation {
	n := *g
	n.number++
	n.parts, n.pending = slices.Clone(g.parts), slices.Clone(g.pending)
	return &n
}

// take makes the documents of those addresses gone and returns how many there were.
func (g *generation) take(addresses []string) (taken int) {
	gone := map[*segment][]uint32{}
	names := make(map[string]bool, len(addresses))
	for _, a := range addresses {
		if p, doc, ok := lookup(g.parts, a); ok && !names[a] {
			gone[g.parts[p].segment] = append(gone[g.parts[p].segment], doc)
			g.add(&g.parts[p].lens[doc], -1)
			taken++
		}
		names[a] = true
	}
	kept := g.parts[:0:0]
	for _, p := range g.parts {
		if p = p.without(gone[p.segment]); p.living() > 0 {
			kept = append(kept, p)
		}
	}
	g.parts = kept
	before := len(g.pending)
	g.pending = slices.DeleteFunc(g.pending, func(d *document) bool { return names[d.Address] })
	return taken + before - len(g.pending)
}

// lookup returns where the living document of that address is.
func lookup(parts []part, address string) (p int, doc uint32, ok bool) {
	for p := range parts {
		if doc, ok := parts[p].address[address]; ok && parts[p].alive(doc) {
			return p, doc, true
		}
	}
	return 0, 0, false
}

// same reports whether have, in the index, is d as it is now. The digest is of
// SKILL.md; references have their own, see document.moved.
func (d *document) same(have *document) bool {
	if d.Digest != have.Digest || d.Digest == "" || have.torn {
		return false
	}
	if have.Name == "" && have.Location == "" { // from disk
		return metaOf(&d.Document) == have.meta
	}
	return d.described(&have.Document)
}

// diff returns the generation that holds docs: what the index or the disk has of them
// stays, under the new description, the rest is pending.
func (s *scope) diff(docs []*document) (*generation, UpdateReport) {
	old := s.gen.Load()
	var report UpdateReport
	notes := slices.DeleteFunc(slices.Clone(old.notes), func(d skill.Diagnostic) bool { return d.Code == "limit_search_skills" })
	if n := len(docs); n > limits.SearchSkills {
		docs = docs[:limits.SearchSkills]
		notes = append(notes, skill.Diagnostic{
			Code: "limit_search_skills", Level: skill.LevelWarning, Offset: -1,
			Message: fmt.Sprintf("%d skills, limit %d; the others are not searched", n, limits.SearchSkills),
		})
	}
	known := len(old.parts)
	parts := slices.Concat(old.parts, s.stored)
	keep := make([][]*document, len(parts))
	for i, p := range parts {
		keep[i] = make([]*document, len(p.docs))
	}
	g := &generation{number: old.number, notes: notes}
	var p int
	var doc uint32
	for _, d := range docs {
		// Both lists are mostly in one order: the next is the one after the last.
		ok := p < len(parts) && int(doc)+1 < len(parts[p].docs) && parts[p].docs[doc+1] != nil && parts[p].docs[doc+1].Address == d.Address
		if doc++; !ok {
			p, doc, ok = lookup(parts, d.Address)
		}
		if ok && keep[p][doc] != nil {
			continue // named twice
		}
		switch have := (*document)(nil); {
		case ok && d.same(parts[p].docs[doc]):
			have = parts[p].docs[doc]
			d.meta, d.refs, d.notes, d.vectors = have.meta, have.refs, have.notes, have.vectors
			keep[p][doc] = d
			g.add(&parts[p].lens[doc], 1)
			report.Unchanged++
		case ok && p < known:
			report.Changed++
			g.pending = append(g.pending, d)
		default:
			report.Added++
			g.pending = append(g.pending, d)
		}
	}
	report.Removed = old.live - report.Changed
	for i, p := range parts {
		kept := p.replace(keep[i])
		if i < known {
			report.Removed -= kept.living()
		}
		if kept.living() > 0 {
			g.parts = append(g.parts, kept)
		}
	}
	if report.Removed > 0 || len(g.pending)+len(old.pending)+len(s.stored) > 0 {
		g.number++
	}
	return g, report
}
