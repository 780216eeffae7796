package registry

import (
	"context"
	"slices"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Arrivals are sources that come and go while a registry lives, such as installed
// plugins, and where to look for their coming.
type Arrivals struct {
	Sources     []source.Source    // with ids that no other source has
	Diagnostics []skill.Diagnostic // of making them
	Dirs        []string           // existing directories, resolved, in which a name that comes or goes counts
	Awaited     []string           // paths that may appear
}

// scanned are listings and the sources that they are of, in one order.
type scanned struct {
	sources  []source.Source
	listings []*source.Listing
}

// arrive asks which sources have come or gone, and reports whether any has. What is known
// of those that stay is kept. Only the run in flight calls it.
func (r *Registry) arrive(ctx context.Context) (changed bool) {
	if r.c.Arrivals == nil {
		return false
	}
	now := r.c.Arrivals(ctx)
	was := r.came
	alike := func(a, b source.Source) bool { return a.Info() == b.Info() }
	same := slices.EqualFunc(was.Sources, now.Sources, alike)
	changed = !same || !slices.Equal(was.Diagnostics, now.Diagnostics)
	if same {
		now.Sources = was.Sources
	} else {
		r.exchange(was.Sources, now.Sources, alike)
	}
	r.came = now
	r.expected.Store(&source.Listing{Dirs: now.Dirs, Awaited: now.Awaited})
	return changed
}

// exchange puts other sources in the place of those that arrived before: behind the fixed
// ones, before those of Add.
func (r *Registry) exchange(was, now []source.Source, alike func(a, b source.Source) bool) {
	fixed := len(r.c.Sources)
	kept := make([]int, len(now)) // where each is among the arrays; -1 = it is new
	sources := make([]source.Source, len(now))
	for i, src := range now {
		kept[i], sources[i] = -1, src
		if j := slices.IndexFunc(was, func(o source.Source) bool { return alike(o, src) }); j >= 0 {
			kept[i], sources[i], now[i] = fixed+j, r.sources[fixed+j], was[j]
		}
	}
	r.mu.Lock()
	r.sources = slices.Concat(r.sources[:fixed], sources, r.sources[fixed+len(was):])
	r.mu.Unlock()
	r.listings = rearranged(r.listings, fixed, len(was), kept)
	r.shown = rearranged(r.shown, fixed, len(was), kept)
	r.took = rearranged[time.Duration](r.took, fixed, len(was), kept)
	if r.index != nil {
		r.index.loaded = rearranged(r.index.loaded, fixed, len(was), kept)
	}
}

// rearranged exchanges the was values behind fixed for those at kept.
func rearranged[T any](list []T, fixed, was int, kept []int) []T {
	middle := make([]T, len(kept))
	for i, at := range kept {
		if at >= 0 {
			middle[i] = list[at]
		}
	}
	return slices.Concat(list[:fixed], middle, list[fixed+was:])
}
