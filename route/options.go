package route

import (
	_ "embed" // dialects.json
	"encoding/json"

	"github.com/deftskills/deft/skill"
)

// Fallback says what the priority does; see Options.
type Fallback string

// The fallbacks: Tiebreak compares priorities only between equal scores, Additive
// adds 100 - priority to the score.
const (
	Tiebreak Fallback = "tiebreak"
	Additive Fallback = "additive"
)

// Options change the router's rules. The zero value means dialect deft; DialectOptions
// has the others.
type Options struct {
	Fallback Fallback // "" means Tiebreak
	// MaxEntries bounds what Result.All yields, preloads never cut; 0 means all, and
	// 100,000 is the most.
	MaxEntries  int
	StrictStage bool // hide skills whose declared stages do not meet a stage of the turn
	// ScoreOrder leaves preloaded skills where their points put them; else they come
	// first.
	ScoreOrder bool
	// NoConditions leaves conditions to the registry, for dialects that know none.
	NoConditions bool
	// NoImplicitKeywords switches off that a skill without routing keywords answers
	// to its own name.
	NoImplicitKeywords bool
	NoRetrieve         bool      // ignore Retrieved
	RetrieveMax        int       // points of the best retrieved skill, at most 60; 0 means 40
	ScanBytes          int       // bytes of the message that are matched, 1 KiB to 1 MiB; 0 means 64 KiB
	Triggers           *Triggers // stage words; nil means DefaultTriggers
	SignalSources      []string  // sources that a skill without a declaration answers to
}

func (o Options) withDefaults() Options {
	o.MaxEntries = min(max(o.MaxEntries, 0), 100_000)
	if o.RetrieveMax == 0 {
		o.RetrieveMax = maxRetrieve
	}
	o.RetrieveMax = min(max(o.RetrieveMax, 0), 60)
	if o.ScanBytes == 0 {
		o.ScanBytes = 64 << 10
	}
	o.ScanBytes = min(max(o.ScanBytes, 1<<10), 1<<20)
	if o.Triggers == nil {
		o.Triggers = DefaultTriggers()
	}
	return o
}

//go:embed dialects.json
var dialectFile string

// dialectRow is how one dialect differs from deft.
type dialectRow struct {
	Triggers         string `json:"triggers"` // a folder of triggers/; "" = triggers itself
	ScoreOrder       bool   `json:"score_order"`
	NoConditions     bool   `json:"no_conditions"`
	ExplicitKeywords bool   `json:"explicit_keywords"`
	NoRetrieve       bool   `json:"no_retrieve"`
}

// DialectOptions returns the rules of a dialect; those of deft for one that
// dialects.json doesn't name.
func DialectOptions(d skill.Dialect) Options {
	var rows map[skill.Dialect]dialectRow
	if err := json.Unmarshal([]byte(dialectFile), &rows); err != nil {
		panic(err) // built in, and a test reads it
	}
	row := rows[d]
	o := Options{
		ScoreOrder: row.ScoreOrder, NoConditions: row.NoConditions,
		NoImplicitKeywords: row.ExplicitKeywords, NoRetrieve: row.NoRetrieve,
	}
	if row.Triggers != "" {
		o.Triggers = builtinTriggers("triggers/" + row.Triggers + "/")
	}
	return o
}
