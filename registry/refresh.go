package registry

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// defaultCooldown is how long a check of the disk counts as recent: conversations
// have turns every few seconds, skills change every few minutes.
const defaultCooldown = 30 * time.Second

// globCooldown is the least pause between two walks of a pattern in dialect mastra,
// whose hosts ask at every step.
const globCooldown = 5 * time.Second

// errClosed is the error of a refresh after Close.
var errClosed = errors.New("registry is closed")

// RefreshOptions configures one refresh.
type RefreshOptions struct {
	// Full reads every file again, whatever the stamps say.
	Full bool
	// After asks for a run that begins after this call, so that it sees whatever was
	// written before. Without it a run in flight is shared, which may have passed by.
	After bool

	reason string // of the Change that comes of it
	edits  []edit // made to what is known
}

// run is one refresh: callers that overlap share it. It works for those who wait for
// it and is cancelled when the last one has left.
type run struct {
	o       RefreshOptions
	ctx     context.Context
	cancel  context.CancelFunc
	look    bool // the disk is looked at, not only what is known edited
	waiting int
	done    chan struct{}
	snap    *Snapshot
	err     error
}

// Refresh scans every source again, reading changed files only, and swaps the
// Snapshot if anything differs. Calls that overlap share one run; all calls with
// After that arrive during a run share the one that follows it. The error is that of
// the context, or says that the registry is closed; the old Snapshot then stays.
func (r *Registry) Refresh(ctx context.Context, o RefreshOptions) (*Snapshot, error) {
	for {
		mine, err := r.join(ctx, o)
		if err != nil {
			return nil, err
		}
		select {
		case <-mine.done:
		case <-ctx.Done():
			r.leave(mine)
			return nil, ctx.Err()
		}
		if abandoned := errors.Is(mine.err, context.Canceled) && ctx.Err() == nil && r.life.Err() == nil; !abandoned {
			return mine.snap, mine.err
		} // whoever began it had left just then: once more
	}
}

// join returns the run that answers a call, beginning or queueing one if needed.
func (r *Registry) join(ctx context.Context, o RefreshOptions) (*run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	at := &r.running
	if now := r.running; now != nil && (o.After || len(o.edits) > 0 || now.ctx.Err() != nil || (o.Full && !now.o.Full) || !now.look) {
		at = &r.queued
	}
	n := *at
	if n == nil {
		n = &run{o: RefreshOptions{reason: o.reason}, done: make(chan struct{})}
		n.ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
		*at = n
		if at == &r.running {
			defer r.begin(n) // with what this call asks for; mu is still held then
		}
	}
	n.waiting++
	n.o.Full = n.o.Full || o.Full
	n.o.edits = append(n.o.edits, o.edits...)
	n.look = n.look || len(o.edits) == 0
	return n, nil
}

// begin starts a run. The caller holds mu.
func (r *Registry) begin(n *run) {
	o, look := n.o, n.look // a later caller may still raise them for the next run only
	r.work.Go(func() {
		stop := context.AfterFunc(r.life, n.cancel)
		defer stop()
		n.snap, n.err = r.discover(n.ctx, o, look)
		if n.ctx.Err() == nil {
			r.checked.Store(r.c.Now().UnixNano())
		}
		n.cancel()
		r.mu.Lock()
		r.running, r.queued = r.queued, nil
		if r.running != nil {
			r.begin(r.running)
		}
		r.mu.Unlock()
		close(n.done)
	})
}

// leave cancels a run that nobody waits for any more and waits until it has stopped.
func (r *Registry) leave(n *run) {
	r.mu.Lock()
	n.waiting--
	last := n.waiting == 0
	if last {
		n.cancel()
	}
	r.mu.Unlock()
	if last {
		<-n.done
	}
}

// ForTurn returns the Snapshot that a turn begins with: the current one, at once. If
// the last check is older than the cooldown and no watcher sees every change, a check
// starts in the background, for the turns that follow; with Config.Blocking it is
// waited for, and so is a check after a person decided something since the last one: see
// Versioned. A check that fails leaves the current Snapshot and is reported once.
func (r *Registry) ForTurn(ctx context.Context) *Snapshot {
	now := r.Snapshot()
	if r.decidedSince(ctx) {
		if fresh, err := r.Refresh(ctx, RefreshOptions{After: true}); err == nil {
			return r.settled(fresh)
		}
		return now
	}
	if r.c.Cooldown < 0 || r.covered.Load() || r.c.Now().Sub(time.Unix(0, r.checked.Load())) < r.c.Cooldown {
		return now
	}
	if r.c.Blocking {
		if fresh, err := r.Refresh(ctx, RefreshOptions{}); err == nil {
			return r.settled(fresh)
		}
		return now
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.running != nil {
		return now
	}
	r.work.Go(func() {
		if _, err := r.Refresh(r.life, RefreshOptions{}); err != nil && r.life.Err() == nil {
			r.report(finding("refresh_failed", "", "skills could not be checked for changes: %v", err))
		}
	})
	return now
}

// settled prefers the current Snapshot to one that is equal: what others made from it
// stays good.
func (r *Registry) settled(s *Snapshot) *Snapshot {
	if now := r.Snapshot(); now.Version == s.Version {
		return now
	}
	return s
}

// Close stops watching and every check in flight and saves the index. The Snapshot
// stays readable. It may be called twice.
func (r *Registry) Close() error {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	w := r.watcher
	r.watcher = nil // what is closed watches nothing, and says so
	r.mu.Unlock()
	r.closeViews()
	r.end()
	if w != nil {
		w.close()
	}
	r.work.Wait()
	if first {
		r.index.save(r.listings)
	}
	return nil
}

// offered identifies what of an environment comes and goes: tools and servers of tools.
func offered(env skill.Environment) (digests [3][32]byte) {
	for i, names := range [...]skill.Names{env.Tools, env.Toolsets, env.Servers} {
		if names != nil {
			digests[i] = names.Digest()
		}
	}
	return digests
}

// discover makes the next Snapshot. Only the run in flight calls it. The version of the
// decisions is asked before anything is read, so that what is decided meanwhile is newer,
// and kept once the Snapshot is there, so that a turn cannot take the former one for new.
func (r *Registry) discover(ctx context.Context, o RefreshOptions, look bool) (*Snapshot, error) {
	decided := r.decidedAt(ctx)
	next, err := r.next(ctx, o, look)
	if err == nil && look {
		r.version.Store(decided)
	}
	return next, err
}

func (r *Registry) next(ctx context.Context, o RefreshOptions, look bool) (*Snapshot, error) {
	start := r.c.Now()
	arrived := look && r.arrive(ctx)
	decided := look && r.decide(ctx) || arrived // without a look there is nothing to read anew with
	listings, err := slices.Clone(r.listings), ctx.Err()
	if look {
		listings, err = r.scan(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	for _, change := range o.edits {
		listings = change(listings)
	}
	old := r.current.Load()
	off := r.c.Filters.disabled(ctx)
	there := offered(r.c.Environment)
	steady := slices.Equal(off, r.disabled) && there == r.offered
	r.disabled, r.offered = off, there
	if old != nil && steady && !decided && len(o.edits) == 0 && r.unchanged(listings) {
		r.listings = listings
		r.latest.Store(&scanned{r.sources, listings})
		same := *old
		same.Metrics = metricsOf(listings)
		same.Metrics.Skills = old.Metrics.Skills
		same.Metrics.ElapsedMS = r.c.Now().Sub(start).Milliseconds()
		return &same, nil // Snapshot keeps its pointer: what others made from it stays good
	}
	shown := r.lastGood(listings)
	r.listings, r.shown = listings, shown
	r.latest.Store(&scanned{r.sources, listings})
	a := &arbiter{r: r, out: &Snapshot{Version: r.first, Complete: true, Generated: start}}
	a.out.lookup = &index{workspace: r.c.Workspace, locations: r.locations}
	next := a.arbitrate(ctx, shown)
	next.Metrics.ElapsedMS = r.c.Now().Sub(start).Milliseconds()
	if old != nil {
		next.Version = old.Version
		if r.digestOf != old {
			r.digest, r.digestOf = old.digest(), old
		}
		digest := next.digest()
		if digest == r.digest && slices.Equal(next.Skipped, old.Skipped) {
			return next, nil // as above; the records of the old one say the same
		}
		if digest != r.digest {
			next.Version++
		}
		r.digest, r.digestOf = digest, next
	}
	r.current.Store(next)
	r.reportAll(next)
	if old != nil {
		r.publish(changeOf(old, next))
	}
	return next, nil
}

// unchanged says whether the listings hold what those of the last run held: then
// arbitration would decide the same, and is not asked.
func (r *Registry) unchanged(listings []*source.Listing) bool {
	for i, l := range listings {
		if was := r.listings[i]; was == nil || !l.Equal(was) {
			return false
		}
	}
	return true
}

// lastGood puts the last good version of a skill in the place of one that cannot be
// read now: people save files in pieces. A skill that is gone is gone.
func (r *Registry) lastGood(listings []*source.Listing) []*source.Listing {
	shown := make([]*source.Listing, len(listings))
	for i, l := range listings {
		shown[i] = l
		was := r.shown[i]
		if was == nil {
			continue
		}
		var good map[string]*source.Entry
		for j, e := range l.Entries {
			if e.Whole() {
				continue
			}
			if good == nil {
				good = make(map[string]*source.Entry, len(was.Entries))
				for _, w := range was.Entries {
					good[w.Location] = w
				}
			}
			old := good[e.Location]
			if old == nil || !old.Skill.Valid || old.RealDir != e.RealDir {
				continue
			}
			if shown[i] == l {
				shown[i] = l.Clone()
			}
			shown[i].Entries[j] = stale(old, e)
		}
	}
	return shown
}

// stale is the good entry with the findings of the broken file.
func stale(good, broken *source.Entry) *source.Entry {
	s := *good.Skill
	s.Diagnostics = make([]skill.Diagnostic, 0, len(broken.Skill.Diagnostics))
	for _, d := range broken.Skill.Diagnostics {
		if d.Level == skill.LevelError {
			d.Level = skill.LevelWarning // the skill is usable, as it was
		}
		s.Diagnostics = append(s.Diagnostics, d)
	}
	e := *good
	e.Skill, e.Stamp, e.Stale = &s, broken.Stamp, true
	return &e
}
