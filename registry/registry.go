package registry

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Truster decides how far a source is trusted. It is asked once a source, with a nil
// skill, and returns the trust and why; i.Trust is what the source says of itself.
type Truster interface {
	Trust(ctx context.Context, i source.Info, s *skill.Skill) (source.Trust, Reason)
}

// Config says what a registry is made of. Equal Config, equal behaviour.
type Config struct {
	Sources     []source.Source    // ids are unique; their order is the order of search
	Diagnostics []skill.Diagnostic // of making the sources; copied into every Snapshot
	Dialect     skill.Dialect      // whose precedence; "" = deft
	Trust       Truster            // nil = sources are trusted as they say
	Environment skill.Environment  // what conditions are judged against; Skills is set here
	Beta        func(flag string) bool
	Workspace   string           // where relative paths of selectors start; "" = they name nothing
	QuietCopies bool             // no copies_differ
	Filters     Filters          // what else hides winners
	Now         func() time.Time // nil = time.Now
}

// Registry holds the current Snapshot of its sources. Safe for concurrent use.
type Registry struct {
	c       Config
	policy  policy
	sources []source.Source
	reasons map[string]Reason // why a source has its trust, by id

	disabled []string // locations that a person switched off, sorted; of the last run

	current atomic.Pointer[Snapshot]

	mu       sync.Mutex
	running  *run
	listings []*source.Listing // of the last run
}

// run is one refresh in flight; callers that overlap share it.
type run struct {
	done chan struct{}
	snap *Snapshot
	err  error
}

// RefreshOptions configures one refresh.
type RefreshOptions struct {
	// Full reads every file again, whatever the stamps say.
	Full bool
}

// Open discovers every source once and returns the registry. The error is for a
// cancelled context, two sources with one id and a broken policy: whatever is wrong
// with the skills themselves is in the Snapshot.
func Open(ctx context.Context, c Config) (*Registry, error) {
	p, err := policyFor(c.Dialect)
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	p.place(c.Sources, c.Workspace)
	r := &Registry{c: c, policy: p, reasons: map[string]Reason{}}
	for _, src := range c.Sources {
		info := src.Info()
		if _, twice := r.reasons[info.ID]; twice {
			return nil, fmt.Errorf("source %q: %w: two sources have this id", info.ID, source.ErrContract)
		}
		r.reasons[info.ID] = Reason{}
		if c.Trust != nil {
			trust, why := c.Trust.Trust(ctx, info, nil)
			trust = atMost(info, trust)
			r.reasons[info.ID] = why
			if trust != info.Trust {
				src = source.WithTrust(src, trust)
			}
		}
		r.sources = append(r.sources, src)
	}
	r.listings = make([]*source.Listing, len(r.sources))
	if _, err := r.Refresh(ctx, RefreshOptions{}); err != nil {
		return nil, err
	}
	return r, nil
}

// Snapshot returns the current Snapshot without blocking. It is never nil.
func (r *Registry) Snapshot() *Snapshot { return r.current.Load() }

// Sources returns the registry's sources, with the trust that was decided, in the
// order of search.
func (r *Registry) Sources() []source.Source { return append([]source.Source(nil), r.sources...) }

// Refresh scans every source again, reading changed files only, and swaps the
// Snapshot if anything differs. Calls that overlap share one run. The error is that
// of the context; the old Snapshot then stays.
func (r *Registry) Refresh(ctx context.Context, o RefreshOptions) (*Snapshot, error) {
	r.mu.Lock()
	if running := r.running; running != nil {
		r.mu.Unlock()
		select {
		case <-running.done:
			return running.snap, running.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	mine := &run{done: make(chan struct{})}
	r.running = mine
	r.mu.Unlock()

	mine.snap, mine.err = r.discover(ctx, o)
	r.mu.Lock()
	r.running = nil
	r.mu.Unlock()
	close(mine.done)
	return mine.snap, mine.err
}

// discover makes the next Snapshot. Only the run in flight calls it.
func (r *Registry) discover(ctx context.Context, o RefreshOptions) (*Snapshot, error) {
	start := r.c.Now()
	listings, err := r.scan(ctx, o)
	if err != nil {
		return nil, err
	}
	old := r.current.Load()
	off := r.c.Filters.disabled(ctx)
	steady := slices.Equal(off, r.disabled)
	r.disabled = off
	if old != nil && steady && r.unchanged(listings) {
		r.listings = listings
		same := *old
		same.Metrics = metricsOf(listings)
		same.Metrics.Skills = old.Metrics.Skills
		same.Metrics.ElapsedMS = r.c.Now().Sub(start).Milliseconds()
		return &same, nil // Snapshot keeps its pointer: what others made from it stays good
	}
	r.listings = listings
	a := &arbiter{r: r, out: &Snapshot{Version: 1, Complete: true, Generated: start}}
	a.out.lookup.workspace = r.c.Workspace
	next := a.arbitrate(listings)
	next.Metrics.ElapsedMS = r.c.Now().Sub(start).Milliseconds()
	if old != nil {
		next.Version = old.Version
		if next.digest() != old.digest() {
			next.Version++
		}
	}
	r.current.Store(next)
	return next, nil
}

// unchanged says whether the listings hold the very entries and findings of the last
// run: then arbitration would decide the same, and is not asked.
func (r *Registry) unchanged(listings []*source.Listing) bool {
	for i, l := range listings {
		was := r.listings[i]
		if was == nil || l.Complete != was.Complete || !slices.Equal(l.Entries, was.Entries) ||
			!slices.Equal(l.Diagnostics, was.Diagnostics) || !slices.Equal(l.Skipped, was.Skipped) {
			return false
		}
	}
	return true
}

func metricsOf(listings []*source.Listing) Metrics {
	m := Metrics{Sources: len(listings)}
	for _, l := range listings {
		m.FilesRead += l.Stats.FilesRead
		m.FilesReused += l.Stats.FilesReused
	}
	return m
}

// scanParallel is how many sources are scanned at once: they mostly wait for the
// same disk, and each reads in parallel itself.
const scanParallel = 4

func (r *Registry) scan(ctx context.Context, o RefreshOptions) ([]*source.Listing, error) {
	listings := make([]*source.Listing, len(r.sources))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(scanParallel, len(r.sources)) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(r.sources) {
					return
				}
				prev := r.listings[i]
				if o.Full {
					prev = nil
				}
				listings[i] = r.scanOne(ctx, r.sources[i], prev)
			}
		})
	}
	group.Wait()
	return listings, ctx.Err()
}

// scanOne scans one source. One that breaks its contract costs its own skills only.
func (r *Registry) scanOne(ctx context.Context, src source.Source, prev *source.Listing) *source.Listing {
	l, err := src.Scan(ctx, prev)
	if err == nil && l != nil {
		return l
	}
	info := src.Info()
	if err == nil {
		err = source.ErrContract
	}
	return &source.Listing{Diagnostics: []skill.Diagnostic{
		finding("source_failed", info.Path, "source %q: %v", info.ID, err),
	}}
}
