package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/deftskills/deft/source"
)

// locations are places under which a host shows skills, by their text. They live with
// the registry, not with a Snapshot: each lookup sees the newest ones.
type locations struct {
	mu sync.Mutex // one writer at a time
	m  atomic.Pointer[map[string]string]
}

// bareLocation is a location without the skill file and separator behind it.
func bareLocation(l string) string {
	return strings.TrimSuffix(strings.TrimSuffix(l, "/"+source.SkillFile), "/")
}

// Alias makes a location, such as a path that a host's formatter shows, find the skill
// of an address or path, with or without /SKILL.md behind either. Names and paths that
// a skill has go before it; one that leads to nothing is unknown. It counts at once, in
// every Snapshot of the registry.
func (r *Registry) Alias(location, address string) {
	l := r.locations
	l.mu.Lock()
	defer l.mu.Unlock()
	next := map[string]string{}
	if now := l.m.Load(); now != nil {
		next = maps.Clone(*now)
	}
	next[bareLocation(location)] = address
	l.m.Store(&next)
}

// aliased returns the record that an added location leads to, or nil.
func (s *Snapshot) aliased(sel string) *Record {
	if s.index().locations == nil {
		return nil
	}
	now := s.index().locations.m.Load()
	if now == nil {
		return nil
	}
	to, ok := (*now)[bareLocation(sel)]
	if !ok {
		return nil
	}
	if r := s.byAddress(to); r != nil {
		return r
	}
	if r := s.exactPlace(to); r != nil {
		return r
	}
	return s.lookupPath(to)
}

// edit changes what is known without a look at the disk. It is given listings that it
// may change and returns those that count.
type edit func(listings []*source.Listing) []*source.Listing

// Add takes the skill of one path, read now, without a scan: a skill folder, its
// SKILL.md, or another path form. A path that is known already is replaced. What lies
// in none of the registry's places stays until Remove. The error says why nothing was
// found there; the Snapshot is then as it was.
func (r *Registry) Add(ctx context.Context, path string) (*Snapshot, error) {
	e := r.c.Views.Env
	if e.Workspace == "" {
		e.Workspace = r.c.Workspace
	}
	if e.Format.Dialect == "" {
		e.Format.Dialect = r.c.Dialect
	}
	if e.Now == nil {
		e.Now = r.c.Now
	}
	expand := func() []source.Source { out, _ := source.Expand(ctx, []string{path}, e); return out }
	if fsys := r.c.Views.Reads; fsys != nil {
		expand = func() []source.Source { out, _ := source.ExpandFS(ctx, fsys, []string{path}, e); return out }
	}
	sources := expand()
	if len(sources) == 0 {
		return nil, fmt.Errorf("path %q: no form of a path", path)
	}
	found, err := sources[0].Scan(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", path, err)
	}
	if len(found.Entries) == 0 {
		why := "no skill there"
		if len(found.Diagnostics) > 0 {
			why = found.Diagnostics[0].Message
		}
		return nil, fmt.Errorf("path %q: %s", path, why)
	}
	return r.Refresh(ctx, RefreshOptions{edits: []edit{func(ls []*source.Listing) []*source.Listing {
		return r.insert(ls, sources[0], found)
	}}})
}

// insert puts entries in the place of those of the same paths, or adds their source.
func (r *Registry) insert(listings []*source.Listing, src source.Source, found *source.Listing) []*source.Listing {
	known := 0
	for _, e := range found.Entries {
		for i, l := range listings {
			at := slices.IndexFunc(l.Entries, func(o *source.Entry) bool {
				return o.Path() == e.Path() || o.RealDir != "" && o.RealDir == e.RealDir
			})
			if at < 0 {
				continue
			}
			old := l.Entries[at]
			c := *e
			c.Source, c.From, c.Location, c.Dir, c.Group, c.Aliases = old.Source, old.From, old.Location, old.Dir, old.Group, old.Aliases
			listings[i] = l.Clone()
			listings[i].Entries[at] = &c
			known++
			break
		}
	}
	if known == len(found.Entries) {
		return listings
	}
	id := src.Info().ID
	if i := slices.IndexFunc(r.sources, func(s source.Source) bool { return s.Info().ID == id }); i >= 0 {
		listings[i] = found
		return listings
	}
	r.mu.Lock()
	r.sources = append(r.sources, src)
	r.mu.Unlock()
	r.added = append(r.added, src)
	r.listings, r.shown = append(r.listings, nil), append(r.shown, nil)
	r.took = append(r.took, 0)
	if r.index != nil {
		r.index.loaded = append(r.index.loaded, nil)
	}
	return append(listings, found)
}

// Remove forgets the skill of a selector without a scan. One that still lies in a place
// of the registry is found again by the next Refresh. A selector that names nothing
// changes nothing; the error is *AmbiguousError or the context's.
func (r *Registry) Remove(ctx context.Context, selector string) (*Snapshot, error) {
	now := r.Snapshot()
	rec, err := now.Lookup(selector)
	var unknown *UnknownError
	if errors.As(err, &unknown) {
		return now, nil
	}
	if err != nil {
		return nil, err
	}
	return r.Refresh(ctx, RefreshOptions{edits: []edit{func(ls []*source.Listing) []*source.Listing {
		return r.without(ls, rec)
	}}})
}

func (r *Registry) without(listings []*source.Listing, rec *Record) []*source.Listing {
	gone := realFile(rec)
	for i, l := range listings {
		same := func(e *source.Entry) bool { return e.Location == rec.Location || realFile(&Record{Entry: e}) == gone }
		if slices.ContainsFunc(l.Entries, same) {
			listings[i] = l.Clone()
			listings[i].Entries = slices.DeleteFunc(listings[i].Entries, same)
		}
	}
	for _, src := range r.added {
		i := slices.Index(r.sources, src)
		if i < 0 || len(listings[i].Entries) > 0 {
			continue
		}
		listings = slices.Delete(listings, i, i+1)
		r.mu.Lock()
		r.sources = slices.Delete(slices.Clone(r.sources), i, i+1)
		r.mu.Unlock()
		r.listings, r.shown = slices.Delete(r.listings, i, i+1), slices.Delete(r.shown, i, i+1)
		r.took = slices.Delete(r.took, i, i+1)
		if r.index != nil {
			r.index.loaded = slices.Delete(r.index.loaded, i, i+1)
		}
	}
	r.added = slices.DeleteFunc(r.added, func(s source.Source) bool { return !slices.Contains(r.sources, s) })
	return listings
}
