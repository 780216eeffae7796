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
	Omitted   int                  // hits cut by MaxEntries
	Fit       Fit
	Truncated bool // Message was longer than the scan limit

	router  *Router
	gate    *gate
	at      []int32 // skills that have points or a preload, best first, cut ones too
	removed []int32
	extra   []HiddenEntry
	winner  int32 // 1 + the clear winner; 0: none
}

// ClearWinner returns the one skill that may be activated without a person or a
// model asking for it: the fit is strong, and the first is far enough ahead of the
// second; see thresholds.go. The marks of preloads do not count.
func (r Result) ClearWinner() (RoutedCatalogEntry, bool) {
	for _, e := range r.Hits {
		if r.winner > 0 && e.Address == r.router.skills[r.winner-1].entry.Address {
			return e, true
		}
	}
	return RoutedCatalogEntry{}, false
}

// Abstain reports that there is no clear winner: nothing may be loaded by itself.
func (r Result) Abstain() bool { return r.winner == 0 }

// All yields Hits, then every other skill that was not removed, by priority and id.
func (r Result) All() iter.Seq[RoutedCatalogEntry] {
	return func(yield func(RoutedCatalogEntry) bool) {
		if r.router == nil {
			return
		}
		skip := make(map[int32]struct{}, len(r.at)+len(r.removed))
		for _, list := range [][]int32{r.at, r.removed} {
			for _, at := range list {
				skip[at] = struct{}{}
			}
		}
		for _, e := range r.Hits {
			if !yield(e) {
				return
			}
		}
		for _, at := range r.router.order {
			if _, ok := skip[at]; ok || r.gate.closed != nil && r.gate.closed[at] {
				continue
			}
			if !yield(r.router.skills[at].entry) {
				return
			}
		}
	}
}

// Hidden yields the removed skills by id; one with several reasons comes several
// times.
func (r Result) Hidden() iter.Seq[HiddenEntry] {
	return func(yield func(HiddenEntry) bool) {
		if r.router == nil {
			return
		}
		all := slices.Concat(r.gate.hidden, r.extra)
		slices.SortStableFunc(all, compareHidden)
		for _, h := range all {
			if !yield(h) {
				return
			}
		}
	}
}

// result sorts what has points or is preloaded, and judges the fit.
func (r *Router) result(in TurnRoutingContext, t *turn) Result {
	res := Result{
		Stages: t.stages, Triggers: t.triggers, Total: len(r.skills), Fit: FitNone,
		Removed: t.gate.count + len(t.removed), Truncated: len(in.Message) > r.opt.ScanBytes,
		router: r, gate: t.gate, removed: t.removed, extra: t.extra,
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
	slices.SortFunc(res.at, func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.total(b, t), r.total(a, t)), cmp.Compare(r.place[a], r.place[b]))
	})
	res.winner = r.winner(res.at, res.Fit, t)
	slices.SortStableFunc(res.at, func(a, b int32) int {
		return cmp.Compare(ordinary(&t.tallies[a]), ordinary(&t.tallies[b]))
	})
	res.Hits = make([]RoutedCatalogEntry, 0, len(res.at))
	for _, at := range res.at {
		ta := &t.tallies[at]
		if r.opt.MaxEntries > 0 && len(res.Hits) >= r.opt.MaxEntries && ta.preload == "" {
			res.Omitted++
			continue
		}
		e := r.skills[at].entry
		e.Score, e.Reasons = r.total(at, t), r.reasons(at, ta, t)
		e.Loaded, e.Preload = ta.loaded, ta.preload != ""
		res.Hits = append(res.Hits, e)
	}
	return res
}

func ordinary(t *tally) int {
	if t.preload != "" {
		return 0
	}
	return 1
}

// total is the score as it is sorted by and shown.
func (r *Router) total(at int32, t *turn) int {
	score := t.tallies[at].score()
	if r.opt.Fallback == Additive {
		score += 100 - r.skills[at].entry.Priority
	}
	return score
}

// winner applies the rule of the clear winner to sorted skills.
func (r *Router) winner(sorted []int32, fit Fit, t *turn) int32 {
	if fit != FitStrong || len(sorted) == 0 {
		return 0
	}
	first := t.tallies[sorted[0]].score()
	second := 0
	if len(sorted) > 1 {
		second = t.tallies[sorted[1]].score()
	}
	if first < winnerScore || first-second < winnerLead {
		return 0
	}
	return sorted[0] + 1
}
