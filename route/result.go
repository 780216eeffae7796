package route

import (
	"iter"
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

	winner bool
	router *Router
	hidden []HiddenEntry
	out    []bool
}

// ClearWinner returns the one skill that may be activated without a person or a
// model asking for it: the fit is strong, and the first is far enough ahead of the
// second; see thresholds.go. Preloads do not count.
func (r Result) ClearWinner() (RoutedCatalogEntry, bool) {
	return RoutedCatalogEntry{}, false
}

// Abstain reports that there is no clear winner: nothing may be loaded by itself.
func (r Result) Abstain() bool { return !r.winner }

// All yields Hits, then every other skill that was not removed, by priority and id.
func (r Result) All() iter.Seq[RoutedCatalogEntry] {
	return func(yield func(RoutedCatalogEntry) bool) {}
}

// Hidden yields the removed skills by id; one with several reasons has several.
func (r Result) Hidden() iter.Seq[HiddenEntry] {
	return func(yield func(HiddenEntry) bool) {}
}
