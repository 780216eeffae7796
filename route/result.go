package route

import (
	"cmp"
	"iter"
	"slices"
)

// RoutedCatalogEntry is one skill as the router ranks it.
type RoutedCatalogEntry struct {
	Address     string // registry.Record.Address
	ID          string // what models and people type
	Name        string
	Description string
	Kind        string
	Score       int // points; see the table in points.go
	Priority    int // 0–100, lower is stronger; breaks ties
	Reasons     []string
	Loaded      bool
	Preload     bool
	Tools       int // number of tools the skill brings
}

// HiddenEntry is a skill that this turn may not use, and why: Code is the failed
// condition, "negative_keyword" or "stage"; Detail names what failed.
type HiddenEntry struct{ Address, ID, Name, Code, Detail string }

// Fit says how well the best skills fit the request.
type Fit string

// The fits.
const (
	FitNone   Fit = "none"   // nothing has points
	FitWeak   Fit = "weak"   // something has points, but no strong evidence
	FitStrong Fit = "strong" // a keyword, a signal source, or much of the request's text
)

// Result is the order of one turn. Equal inputs give equal Results.
type Result struct {
	Stages  StageSet
	Primary Stage // meaningful when Stages is not empty
	// Triggers names the stage words found, as "<stage>:<word>".
	Triggers  []string
	Hits      []RoutedCatalogEntry // with points or preloaded, best first
	Total     int                  // skills the router saw
	Removed   int                  // of these, hidden by a condition, a negative keyword or a stage
	Omitted   int                  // of the others, those that All leaves out for MaxEntries
	Fit       Fit
	Truncated bool // Message was longer than the scan limit

	router  *Router
	gate    *gate
	at      []int32 // skills that have points or a preload, best first, cut ones too
	removed []removal
	loaded  []int32
	winner  RoutedCatalogEntry
	won     bool
}

// ClearWinner returns the one skill that may be activated without a person or a
// model asking for it: the fit is strong, and the first is far enough ahead of the
// second; see thresholds.go. The marks of preloads do not count.
func (r Result) ClearWinner() (RoutedCatalogEntry, bool) { return r.winner, r.won }

// Abstain reports that there is no clear winner: nothing may be loaded by itself.
func (r Result) Abstain() bool { return !r.won }

// All yields Hits, then every other skill that was not removed, by priority and id;
// with fallback Additive each stands where its sum puts it. MaxEntries bounds it.
func (r Result) All() iter.Seq[RoutedCatalogEntry] {
	return func(yield func(RoutedCatalogEntry) bool) {
		if r.router == nil {
			return
		}
		hits, rest, n := r.Hits, r.fallback(), 0
		room := r.router.opt.MaxEntries
		if room == 0 {
			room = len(r.router.skills)
		}
		for n < room || len(hits) > 0 {
			var e RoutedCatalogEntry
			next, more := rest.peek()
			switch {
			case len(hits) > 0 && (!more || !r.router.passes(next, hits[0])):
				e, hits = hits[0], hits[1:]
			case more:
				e = r.plain(next)
				rest.order = rest.order[1:]
			default:
				return
			}
			if n >= room && !e.Preload {
				continue
			}
			if n++; !yield(e) {
				return
			}
		}
	}
}

// waiting walks the skills without points.
type waiting struct {
	order []int32
	skip  []bool // those that have points or are removed
}

func (r Result) fallback() waiting {
	w := waiting{r.router.order, make([]bool, len(r.router.skills))}
	copy(w.skip, r.gate.closed)
	for _, at := range r.at {
		w.skip[at] = true
	}
	for _, out := range r.removed {
		w.skip[out.skill] = true
	}
	return w
}

func (w *waiting) peek() (int32, bool) {
	for len(w.order) > 0 && w.skip[w.order[0]] {
		w.order = w.order[1:]
	}
	if len(w.order) == 0 {
		return 0, false
	}
	return w.order[0], true
}

// passes reports whether a skill without points stands before a hit, which only its
// priority can bring about.
func (r *Router) passes(at int32, hit RoutedCatalogEntry) bool {
	if r.opt.Fallback != Additive || hit.Preload && !r.opt.ScoreOrder {
		return false
	}
	sum := r.bonus(at)
	return sum > hit.Score || sum == hit.Score && r.place[at] < r.place[r.byAddress[hit.Address]]
}

// plain is the entry of a skill without points.
func (r Result) plain(at int32) RoutedCatalogEntry {
	e := r.router.skills[at].entry
	e.Score, e.Loaded = r.router.bonus(at), slices.Contains(r.loaded, at)
	return e
}

// Hidden yields the removed skills by id; one with several reasons comes several
// times.
func (r Result) Hidden() iter.Seq[HiddenEntry] {
	return func(yield func(HiddenEntry) bool) {
		if r.router == nil {
			return
		}
		struck := slices.Collect(r.Struck())
		for _, h := range r.gate.hidden { // sorted, as struck is
			for len(struck) > 0 && compareHidden(struck[0], h) < 0 {
				if !yield(struck[0]) {
					return
				}
				struck = struck[1:]
			}
			if !yield(h) {
				return
			}
		}
		for _, h := range struck {
			if !yield(h) {
				return
			}
		}
	}
}

// Struck yields those of Hidden that this turn's words or stages removed: they are back
// in another turn.
func (r Result) Struck() iter.Seq[HiddenEntry] {
	return func(yield func(HiddenEntry) bool) {
		all := make([]HiddenEntry, len(r.removed))
		for i, out := range r.removed {
			all[i] = r.router.skills[out.skill].removed(out.place)
		}
		slices.SortFunc(all, compareHidden)
		for _, h := range all {
			if !yield(h) {
				return
			}
		}
	}
}

// removed says which negative keyword takes the skill out, or that its stages do.
func (s *compiled) removed(place int32) HiddenEntry {
	if place < 0 {
		return s.hidden("stage", s.stages.String())
	}
	return s.hidden("negative_keyword", s.negative[place].word)
}

// result sorts what has points or is preloaded, and judges the fit.
func (r *Router) result(in TurnRoutingContext, t *turn) Result {
	res := Result{
		Stages: t.stages, Triggers: t.triggers, Total: len(r.skills), Fit: FitNone,
		Removed: t.gate.count + len(t.removed), Truncated: len(in.Message) > r.opt.ScanBytes,
		router: r, gate: t.gate, removed: t.removed, loaded: t.loaded,
	}
	res.Primary, _ = t.stages.Primary()
	slices.Sort(res.Triggers)
	for _, at := range t.touched {
		ta := &t.tallies[at]
		if score := ta.score(); score == 0 && ta.preload == "" {
			continue
		} else if score > 0 && res.Fit == FitNone {
			res.Fit = FitWeak
		}
		if ta.strong() {
			res.Fit = FitStrong
		}
		res.at = append(res.at, at)
	}
	best := func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.total(b, t), r.total(a, t)), r.tie(a, b, t))
	}
	slices.SortFunc(res.at, best)
	r.nameSources(t, best)
	if r.won(res.at, res.Fit, t) {
		res.winner, res.won = r.entry(res.at[0], t), true
	}
	if !r.opt.ScoreOrder {
		slices.SortStableFunc(res.at, func(a, b int32) int {
			return cmp.Compare(ordinary(&t.tallies[a]), ordinary(&t.tallies[b]))
		})
	}
	res.Hits = make([]RoutedCatalogEntry, 0, len(res.at))
	for _, at := range res.at {
		if r.opt.MaxEntries == 0 || len(res.Hits) < r.opt.MaxEntries || t.tallies[at].preload != "" {
			res.Hits = append(res.Hits, r.entry(at, t))
		}
	}
	if r.opt.MaxEntries > 0 {
		res.Omitted = res.Total - res.Removed
		for range res.All() {
			res.Omitted--
		}
	}
	return res
}

// tie orders skills with equal points: by priority, then as the text search does, whose
// points are coarser than its order, then by id.
func (r *Router) tie(a, b int32, t *turn) int {
	x, y := &r.skills[a].entry, &r.skills[b].entry
	last := func(rank int32) int32 { return (rank - 1) & (1<<31 - 1) } // 0 is the last of all
	return cmp.Or(
		cmp.Compare(x.Priority, y.Priority),
		cmp.Compare(last(t.tallies[a].rank), last(t.tallies[b].rank)),
		cmp.Compare(r.place[a], r.place[b]),
	)
}

// nameSources finds for each co-activated skill the first of its sources.
func (r *Router) nameSources(t *turn, best func(a, b int32) int) {
	slices.SortFunc(t.sources, best)
	for _, from := range t.sources {
		for _, to := range r.skills[from].co {
			if ta := &t.tallies[to]; t.stamped[to] == t.stamp && ta.co && ta.coBy == 0 {
				ta.coBy = from + 1
			}
		}
	}
}

func (r *Router) entry(at int32, t *turn) RoutedCatalogEntry {
	ta := &t.tallies[at]
	e := r.skills[at].entry
	e.Score, e.Reasons = r.total(at, t), r.reasons(at, ta, t)
	e.Loaded, e.Preload = slices.Contains(t.loaded, at), ta.preload != ""
	return e
}

func ordinary(t *tally) int {
	if t.preload != "" {
		return 0
	}
	return 1
}

// total is the score as it is sorted by and shown.
func (r *Router) total(at int32, t *turn) int { return t.tallies[at].score() + r.bonus(at) }

// bonus is what the priority adds.
func (r *Router) bonus(at int32) int {
	if r.opt.Fallback != Additive {
		return 0
	}
	return 100 - r.skills[at].entry.Priority
}

// won applies the rule of the clear winner to sorted skills. The strong evidence must
// be the first one's own.
func (r *Router) won(sorted []int32, fit Fit, t *turn) bool {
	if fit != FitStrong || len(sorted) == 0 || !t.tallies[sorted[0]].strong() {
		return false
	}
	first := t.tallies[sorted[0]].score()
	second := 0
	if len(sorted) > 1 {
		second = t.tallies[sorted[1]].score()
	}
	return first >= winnerScore && first-second >= winnerLead
}
