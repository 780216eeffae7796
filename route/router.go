package route

import (
	"context"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// Router ranks the skills of one Snapshot. It is immutable and safe for concurrent
// use.
type Router struct{}

// Fallback says what breaks ties; see Options.
type Fallback string

// The fallbacks: Tiebreak compares priorities only between equal scores, Additive
// adds 100 - priority to the score.
const (
	Tiebreak Fallback = "tiebreak"
	Additive Fallback = "additive"
)

// Options change the router's rules. The zero value means dialect deft.
type Options struct {
	Dialect     skill.Dialect
	Fallback    Fallback // "" means Tiebreak
	MaxEntries  int      // hits kept after the sort, preloads never cut; 0 means all
	StrictStage bool     // hide skills whose declared stages do not meet a stage of the turn
	// NoImplicitKeywords switches off that a skill without routing keywords answers
	// to its own name.
	NoImplicitKeywords bool
	NoRetrieve         bool      // ignore Retrieved
	RetrieveMax        int       // points of the best retrieved skill, at most 60; 0 means 40
	ScanBytes          int       // bytes of the message that are matched; 0 means 65,536
	Triggers           *Triggers // stage words; nil means the built-in tables
	SignalSources      []string  // sources that a skill without a declaration answers to
}

// Triggers are the words that show a stage.
type Triggers struct{}

// Explanation says how one skill fared in a turn.
type Explanation struct {
	Address, ID string
	Known       bool             // the router saw a skill of that name
	Rank        int              // from 1; 0 without points or removed
	Of          int              // skills ranked
	Hidden      []HiddenEntry    // why it is removed
	Rows        []ExplanationRow // one a signal, with its points or why it has none
	Similar     []string         // close names of an unknown one
}

// ExplanationRow is one signal of the points table.
type ExplanationRow struct {
	Signal string // keywords, stage, asset, signal, co, retrieve, priority, conditions
	Points int
	Detail string
}

// Compile prepares snap's skills for routing. It never fails: bad data is a
// diagnostic, the rest routes.
func Compile(snap *registry.Snapshot, opt Options) (*Router, []skill.Diagnostic) {
	return &Router{}, nil
}

// Route ranks the skills for one turn. The error is the context's, or
// ErrContextInvalid.
func (r *Router) Route(ctx context.Context, in TurnRoutingContext) (Result, error) {
	return Result{Fit: FitNone}, nil
}

// Explain says how the skill of that name, id or address fares in the turn.
func (r *Router) Explain(in TurnRoutingContext, name string) Explanation { return Explanation{} }
