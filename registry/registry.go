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

// Truster decides how far a source is trusted. Every refresh asks it once a source,
// with a nil skill; it returns the trust and why. i.Trust is what the source says of
// itself.
type Truster interface {
	Trust(ctx context.Context, i source.Info, s *skill.Skill) (source.Trust, Reason)
}

// EntryTruster is a Truster that looks at each skill of a trusted project folder too,
// for those that do not inherit its trust. ok is false for the others.
type EntryTruster interface {
	Truster
	TrustEntry(ctx context.Context, e *source.Entry) (trust source.Trust, why Reason, ok bool)
}

// Config says what a registry is made of. Equal Config, equal behaviour.
type Config struct {
	Sources     []source.Source    // ids are unique; their order is the order of search
	Diagnostics []skill.Diagnostic // of making the sources; copied into every Snapshot
	// Arrivals returns more sources, which come and go: it is asked at the start of every
	// refresh that looks. nil = there are none.
	Arrivals    func(ctx context.Context) Arrivals
	Dialect     skill.Dialect     // whose precedence; "" = deft
	Trust       Truster           // nil = sources are trusted as they say
	Decider     Decider           // switches and grants; nil = nobody decided anything
	Environment skill.Environment // what conditions are judged against; Skills is set here
	Beta        func(flag string) bool
	Workspace   string           // where relative paths of selectors start; "" = they name nothing
	QuietCopies bool             // no copies_differ
	Filters     Filters          // what else hides winners
	Views       Views            // how View makes views
	Now         func() time.Time // nil = time.Now

	// Cooldown is how long ForTurn takes a check for recent, counted from its end; 0 =
	// 30 seconds, below 0 = ForTurn never checks.
	Cooldown time.Duration
	// Blocking makes ForTurn wait for a check that is due instead of answering at once.
	Blocking bool
	// Report is told each diagnostic once a content version of its file, with those of
	// the watcher and of refreshes that failed; nil = nobody. It is called by one
	// goroutine at a time for each view and must not call the registry.
	Report func(skill.Diagnostic)
	// Index is a directory that this registry keeps its index in, so that the next start
	// reads no file that is unchanged; "" = none. Stamp names the build: an index of
	// another one is not read. Whatever is there may be deleted at any time.
	Index, Stamp string
}

// Registry holds the current Snapshot of its sources. Safe for concurrent use.
type Registry struct {
	c       Config
	policy  policy
	sources []source.Source
	reasons map[string]Reason // why a source has its trust, by id

	views     views
	locations *locations // that Alias added

	offered   [3][32]byte     // see there; of the last run
	disabled  []string        // locations that a person switched off, sorted; of the last run
	decisions Decisions       // of the last run
	took      []time.Duration // of each source's last scan

	current  atomic.Pointer[Snapshot]
	latest   atomic.Pointer[scanned]
	expected atomic.Pointer[source.Listing] // where arrivals are looked for; nil = nowhere
	checked  atomic.Int64                   // when the last check ended, Unix nanoseconds
	covered  atomic.Bool                    // a watcher sees every change
	version  atomic.Value                   // string: of the decisions of the last run

	mu      sync.Mutex // guards what follows
	running *run
	queued  *run
	closed  bool
	subs    subscribers
	watcher *watcher

	// Only the run in flight uses what follows.
	listings []*source.Listing // as scanned
	shown    []*source.Listing // as arbitrated: last good versions in place of broken ones
	reported reports
	index    *diskIndex
	digest   [32]byte // of Dump of digestOf
	digestOf *Snapshot
	first    uint64          // version of the first Snapshot
	added    []source.Source // by Add; also in sources
	came     Arrivals        // of the last run; their sources are in sources behind Config's

	life context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup // every goroutine of the registry
}

// Open discovers every source once and returns the registry. The error is for a
// cancelled context, two sources with one id and a broken policy: whatever is wrong
// with the skills themselves is in the Snapshot.
func Open(ctx context.Context, c Config) (*Registry, error) { return open(ctx, c, nil, 1) }

// open is Open with what is known of the first sources already, and the first version.
func open(ctx context.Context, c Config, known []*source.Listing, version uint64) (*Registry, error) {
	if c.Views.Max < 0 {
		return nil, fmt.Errorf("views: at most %d cannot be kept; at least 1 must be", c.Views.Max)
	}
	p, err := policyFor(c.Dialect)
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	p.place(c.Sources, c.Workspace)
	if c.Cooldown == 0 {
		c.Cooldown = defaultCooldown
	}
	if c.Dialect == skill.Mastra && c.Cooldown > 0 && slices.ContainsFunc(c.Sources, source.Globs) {
		c.Cooldown = max(c.Cooldown, globCooldown)
	}
	r := &Registry{c: c, policy: p, reasons: map[string]Reason{}, first: version, locations: &locations{}}
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, src := range c.Sources {
		info := src.Info()
		if _, twice := r.reasons[info.ID]; twice {
			return nil, fmt.Errorf("source %q: %w: two sources have this id", info.ID, source.ErrContract)
		}
		r.reasons[info.ID] = Reason{}
		r.sources = append(r.sources, src)
	}
	r.listings = make([]*source.Listing, len(r.sources))
	copy(r.listings, known)
	r.took = make([]time.Duration, len(r.sources))
	r.shown = make([]*source.Listing, len(r.sources))
	r.index = openIndex(r)
	if _, err := r.Refresh(ctx, RefreshOptions{}); err != nil {
		r.end()
		return nil, err
	}
	return r, nil
}

// Snapshot returns the current Snapshot without blocking. It is never nil.
func (r *Registry) Snapshot() *Snapshot { return r.current.Load() }

// Sources returns the registry's sources, with the trust that was decided, in the
// order of search.
func (r *Registry) Sources() []source.Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sources)
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
	var broken faults
	for range min(scanParallel, len(r.sources)) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(r.sources) {
					return
				}
				prev := r.listings[i]
				if prev == nil {
					prev = r.index.load(i)
				}
				if o.Full {
					prev = nil
				}
				start := r.c.Now()
				listings[i] = r.scanOne(ctx, broken.watching(r.sources[i]), prev)
				r.took[i] = r.c.Now().Sub(start)
			}
		})
	}
	group.Wait()
	if broken.err != nil && r.policy.Faults == "returned" {
		return nil, broken.err
	}
	return listings, ctx.Err()
}

// scanOne scans one source. One that breaks its contract costs its own news only: what
// it listed before stays.
func (r *Registry) scanOne(ctx context.Context, src source.Source, prev *source.Listing) *source.Listing {
	l, err := src.Scan(ctx, prev)
	if err == nil && l != nil {
		return l
	}
	info := src.Info()
	if err == nil {
		err = source.ErrContract
	}
	failed := &source.Listing{}
	if prev != nil {
		failed = prev.Clone()
		failed.Complete = false
	}
	failed.Diagnostics = []skill.Diagnostic{finding("source_failed", info.Path, "source %q: %v", info.ID, err)}
	return failed
}
