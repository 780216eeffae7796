package evals

import (
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/skill"
)

// RoutingOptions say what to measure and with which parameters.
type RoutingOptions struct {
	Corpus   []string           // tar, tar.gz or directories; empty: Snapshot
	Snapshot *registry.Snapshot // the skills of the machine, used without Corpus
	Queries  string             // JSON lines
	Equiv    string             // "" for none
	Trigger  string             // "" for none
	Mode     string             // bm25 (also ""), text, route, or with Search.Embedder vector or hybrid
	TopK     int                // 0 means 50
	// Grow fills the corpus with near-copies and foreign skills up to so many; 0 means
	// not at all. A near-copy counts as what it is a copy of.
	Grow     int
	Search   search.Options
	Route    route.Options
	Misses   bool // fill Report.Misses
	NoTiming bool // leave every time at 0
}

// Report is what Routing found. Shares are 0 to 1. Equal input gives an equal
// Report except times.
type Report struct {
	Set         string             `json:"set"`
	Pool        string             `json:"pool"`
	Mode        string             `json:"mode"`
	Params      map[string]float64 `json:"params"`
	Skills      int                `json:"skills"`
	Queries     int                `json:"queries"`
	Figures                        // over all queries with gold, strict
	Lenient     Figures            `json:"lenient"`
	Groups      []Group            `json:"groups"`
	Abstain     Abstain            `json:"abstain"`
	AUROC       float64            `json:"auroc"`
	Trigger     *TriggerFigures    `json:"trigger"`
	P50US       int64              `json:"p50_us"`
	P99US       int64              `json:"p99_us"`
	PerSecond   float64            `json:"queries_per_second"`
	IndexMS     int64              `json:"index_ms"`
	BytesPer    int64              `json:"bytes_per_skill"`
	Misses      []Miss             `json:"misses,omitempty"`
	Diagnostics []skill.Diagnostic `json:"diagnostics"` // eval_bad_case and unusable skills
	BadCases    int                `json:"bad_cases"`
}

// Figures are the shares of queries whose skill was found.
type Figures struct {
	N        int     `json:"n"`
	Hit1     float64 `json:"hit1"`
	Hit5     float64 `json:"hit5"`
	MRR10    float64 `json:"mrr10"`
	Recall10 float64 `json:"recall10"`
	Hit50    float64 `json:"hit50"`
}

// Group is the figures of one group of queries, such as {"lang", "zh"}.
type Group struct {
	By    string `json:"by"` // source, kind or lang
	Value string `json:"value"`
	Figures
	Lenient Figures `json:"lenient"`
}

// Abstain counts refusals of the clear-winner rule over authored single-gold and
// negative queries. Precision is the share of refusals that were right, Recall the
// share of negatives that were refused.
type Abstain struct {
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	Negatives int     `json:"negatives"`
	Refused   int     `json:"negatives_refused"`
	Positives int     `json:"positives"`
	Wrongly   int     `json:"positives_refused"`
	Right     int     `json:"winners_right"` // of the positives not refused
}

// TriggerFigures are the rates at which the named skill comes first, or among the
// first five, for requests that should and should not start it.
type TriggerFigures struct {
	Should     int     `json:"should"`
	ShouldTop1 float64 `json:"should_top1"`
	ShouldTop5 float64 `json:"should_top5"`
	Not        int     `json:"should_not"`
	NotTop1    float64 `json:"should_not_top1"`
	NotTop5    float64 `json:"should_not_top5"`
}

// Miss is a query whose first hit is no gold.
type Miss struct {
	ID    string   `json:"id"`
	Query string   `json:"query"`
	Gold  []string `json:"gold"`
	Rank  int      `json:"rank"` // of the first gold; 0 = not found
	Top   []string `json:"top"`  // the first five
}
