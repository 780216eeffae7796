package search

import "github.com/deftskills/deft/skill"

// Mode says how a query is answered.
type Mode string

// The modes. Auto means BM25 while the index has no embedder; Vector and Hybrid
// need one. Text looks for the words themselves, without statistics.
const (
	Auto   Mode = "auto"
	BM25   Mode = "bm25"
	Vector Mode = "vector"
	Hybrid Mode = "hybrid"
	Text   Mode = "text"
)

// Filter narrows a query. Empty lists let everything through.
type Filter struct {
	Names   []string // skill names, folded
	Kinds   []string // source.Kind values
	Sources []string // source ids
	Trusts  []string // source.Trust values
	Fields  []Field  // only these fields count
	// NoReferences leaves the files below references/ out of the score.
	NoReferences bool
}

// Query is one question. The zero value of each field but Text is useful.
type Query struct {
	Text     string // words; "a phrase" must occur, -word must not
	Scope    string // "" is the default scope
	View     *View
	TopK     int // hits wanted, 1 to 100; 0 means 5
	Filter   Filter
	Mode     Mode  // "" means Auto
	MinScore int64 // hits below it are left out
	Explain  bool  // fill Hit.Explain
	// Plain takes Text as a message: quotes and dashes mean nothing. For routing.
	Plain bool
	// Bare leaves Hit.Matches empty, so that no file is read: for callers that need
	// only the order.
	Bare bool
}

// Strength says how much a hit's evidence is worth. Nothing is loaded by it.
type Strength string

// The strengths.
const (
	Strong Strength = "strong"
	Normal Strength = "normal"
	Weak   Strength = "weak"
)

// Result is the answer to a Query. Equal index and query give an equal Result.
type Result struct {
	Hits        []Hit
	Total       int // skills in the view that match at all
	Searched    int // skills in the view
	Mode        Mode
	Degraded    string // "" or why the answer may be incomplete
	Diagnostics []skill.Diagnostic
	Generation  uint64 // of the index; grows with every change
}

// Hit is one skill that matches.
type Hit struct {
	Address     string // registry.Record.Address
	Skill       skill.ID
	Name        string
	Source      string // source.Info.ID
	Location    string
	Description string
	// Score is comparable within one result only. By words it is in 1/1,024 of a BM25
	// point; Text: 0 to 1,024; Vector: the cosine in 1/1,024; Hybrid: the sum of the
	// reciprocal ranks in 1/1,048,576, or weighted in 1/1,024.
	Score    int64
	Coverage int // 0–100: share of the idf of the query's 12 heaviest known terms that the skill holds
	Share    int // 0–100: how much of the best possible answer to the query this is
	Evidence int // 100: as much as one word that no other skill has; grows with every word
	Cosine   int // 1,000 where the vectors of query and skill point the same way; 0 without vectors
	Strength Strength
	Matches  []Match // best first, at most 3
	Explain  []TermScore
}

// Match is a place that shows why the skill was found. StartLine and EndLine count
// lines of the file from 1, the header included; both are 0 where the file could
// not be read as it was indexed, which Stale says.
type Match struct {
	File      string // relative to the skill: SKILL.md, references/x.md
	StartLine int
	EndLine   int
	Snippet   string // printable, one line, at most 200 grapheme clusters
	Terms     []string
	Stale     bool
}

// TermScore is one term's part in a score. Contributions sum to Hit.Score. One without
// fields is of a term that a long query has beyond those that count.
type TermScore struct {
	Term         string
	IDF          float64
	Count        int // in the query
	TF           map[string]int
	Contribution int64
}
