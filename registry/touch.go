package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Delta is what a Touch added to a view. It belongs behind the text that a model has
// already been sent, which does not change.
type Delta struct {
	Added       []*Record // usable now and not before, sorted by name, then address
	Pending     []PendingPackage
	Diagnostics []skill.Diagnostic
}

// PendingPackage is a touched package that holds skills and that nobody has trusted: ask
// a person, and touch it again when they have decided.
type PendingPackage struct {
	Package string // below the workspace, slash-separated
	Dir     string // absolute; what is to be trusted
	Skills  int
	Reason  Reason
}

// touched is what a view knows of touched packages.
type touched struct {
	packages []*touchedPackage
	seen     map[string]bool // directories that were judged, by path below the workspace
	turn     []string        // files that this turn touched
	full     bool            // more packages than allowed were touched, which was said
	base     uint64          // version of the view's Snapshot that the packages were added to
}

type touchedPackage struct {
	source.Touched
	trust   []source.Trust // of each source
	reasons []Reason
	focus   bool
}

// Touch says that files below the workspace were read or written: the skills of their
// packages, the directories between file and workspace that have project roots, become
// part of this view and of no other. A name that exists already stays with the outer
// skill, except in a turn whose touched files all lie in the package; both are usable,
// the other one as name@packages/shop. Packages that nobody has trusted are listed in
// Pending. Paths are absolute or relative to the workspace; others are ignored. The
// error is the context's.
func (v *View) Touch(ctx context.Context, paths ...string) (Delta, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var d Delta
	changed := v.take(paths, &d)
	changed = v.judge(ctx) || changed
	changed = v.focus() || changed
	before := v.registry().Snapshot()
	if changed {
		if err := v.rebuild(ctx); err != nil {
			return Delta{}, err
		}
	}
	now := v.registry().Snapshot()
	d.Added = addedSince(before, now)
	d.Pending = v.pending(now)
	return d, nil
}

// ForTurn begins a turn that works on files, absolute or relative to the workspace: what
// earlier turns touched no longer counts for whose copy of a name wins. It returns the
// turn's Snapshot; see Registry.ForTurn and Touch. The error is the context's.
func (v *View) ForTurn(ctx context.Context, files ...string) (*Snapshot, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	base := v.c.reg.ForTurn(ctx) // before the packages are judged: it hears what was decided
	v.turn = nil
	changed := v.take(files, &Delta{})
	changed = v.judge(ctx) || changed
	changed = v.focus() || changed
	if child := v.child.Load(); !changed && (child == nil || base.Version == v.base) {
		return v.registry().ForTurn(ctx), nil
	}
	if err := v.rebuild(ctx); err != nil {
		return nil, err
	}
	return v.registry().Snapshot(), nil
}

// take notes the files of a turn, and the packages that come with them.
func (v *View) take(paths []string, d *Delta) (changed bool) {
	for _, p := range paths {
		rel, ok := source.Below(v.env, p)
		if !ok {
			continue
		}
		v.turn = append(v.turn, rel)
		for _, t := range source.TouchedBy(v.env, rel) {
			changed = v.arrive(t, d) || changed
		}
	}
	return changed
}

// arrive takes a package that is new.
func (v *View) arrive(t source.Touched, d *Delta) bool {
	if v.seen[t.Rel] {
		return false
	}
	if max := limits.DefaultSession().Packages; len(v.packages) >= max {
		if !v.full {
			v.full = true
			d.Diagnostics = append(d.Diagnostics, finding("limit_packages", t.Dir,
				"more than %d packages were touched; skills of %q and later ones are not looked for", max, t.Rel))
		}
		return false
	}
	if v.seen == nil {
		v.seen = map[string]bool{}
	}
	v.seen[t.Rel] = true
	v.packages = append(v.packages, &touchedPackage{Touched: t, trust: make([]source.Trust, len(t.Sources)), reasons: make([]Reason, len(t.Sources))})
	return true
}

// judge asks about the trust of every package, each time: a person may have decided
// since, or taken a decision back.
func (v *View) judge(ctx context.Context) (changed bool) {
	for _, p := range v.packages {
		for i, src := range p.Sources {
			was := p.trust[i]
			p.trust[i] = src.Info().Trust
			if t := v.c.reg.c.Trust; t != nil {
				p.trust[i], p.reasons[i] = t.Trust(ctx, src.Info(), nil)
			}
			changed = changed || p.trust[i] != was
		}
	}
	return changed
}

// focus finds the packages that hold every file the turn touched.
func (v *View) focus() (changed bool) {
	for _, p := range v.packages {
		focus := len(v.turn) > 0
		for _, f := range v.turn {
			focus = focus && (f == p.Rel || strings.HasPrefix(f, p.Rel+"/"))
		}
		changed = changed || focus != p.focus
		p.focus = focus
	}
	return changed
}

// outer is the nearness of a package outside of which the turn works: further than any
// level of the walk-up. Within, nearness is counted from the workspace down.
const outer = 1 << 20

// rebuild makes the view's own registry anew. What did not change is not read again.
func (v *View) rebuild(ctx context.Context) error {
	base := v.c.reg
	c := base.c
	v.base = base.Snapshot().Version // before what is newer still
	latest := base.latest.Load()
	c.Sources, c.Arrivals = slices.Clone(latest.sources), nil // arrivals make another version of base
	c.Report, c.Index = nil, ""                               // what base found it has reported and kept
	// Nobody watches the packages: each turn has them looked at, and waits for it where a
	// watcher would have told of every other change.
	c.Cooldown, c.Blocking = 1, c.Blocking || base.covered.Load()
	known := slices.Clone(latest.listings)
	for _, p := range v.packages {
		for i, src := range p.Sources {
			nearness := outer
			if p.focus {
				nearness = -1 - strings.Count(p.Rel, "/")
			}
			src = source.AtPackage(src, nearness)
			if p.trust[i] != src.Info().Trust {
				src = source.WithTrust(src, p.trust[i])
			}
			c.Sources = append(c.Sources, src)
		}
	}
	next, err := open(ctx, c, known, v.registry().Snapshot().Version+1)
	if err != nil {
		return fmt.Errorf("touched packages: %w", err)
	}
	if v.serial.Load() == 0 {
		v.serial.Store(v.r.views.serial.Add(1))
	}
	if old := v.child.Swap(next); old != nil {
		_ = old.Close() // it has no error to tell
	}
	return nil
}

func addedSince(before, now *Snapshot) []*Record {
	had := map[string]bool{}
	for _, r := range before.Winners {
		if usable(r) {
			had[r.Location] = true
		}
	}
	var out []*Record
	for _, r := range now.Winners {
		if usable(r) && !had[r.Location] {
			out = append(out, r)
		}
	}
	return out
}

func (v *View) pending(s *Snapshot) []PendingPackage {
	var out []PendingPackage
	for _, p := range v.packages {
		w := PendingPackage{Package: p.Rel, Dir: p.Dir}
		for i := range p.Sources {
			if p.trust[i] != source.Pending {
				continue
			}
			if w.Reason.Code == "" {
				w.Reason = p.reasons[i]
			}
			for _, r := range s.All {
				if r.Source.ID == p.Sources[i].Info().ID {
					w.Skills++
				}
			}
		}
		if w.Skills > 0 {
			out = append(out, w)
		}
	}
	return out
}

// outside says whether a record comes from a touched package in which the turn does not
// work.
func outside(r *Record) int {
	if r.Source.Package != "" && r.Source.Nearness >= outer {
		return 1
	}
	return 0
}

// packageCopies takes the records out of a winner's losers that stay usable because
// they come from another package: the strongest of each.
func (a *arbiter) packageCopies(winner *Record, rest []*Record) (losers []*Record) {
	seen := map[string]bool{winner.Source.Package: true}
	for _, r := range rest {
		if seen[r.Source.Package] || r.Source.Kind != source.Project || winner.Source.Kind != source.Project {
			losers = append(losers, r)
			continue
		}
		seen[r.Source.Package] = true
		a.own[r] = ""
		a.out.Winners = append(a.out.Winners, r)
	}
	return losers
}
