package registry

import (
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// State is what became of one entry in arbitration.
type State string

// The states.
const (
	Available State = "available"
	Disabled  State = "disabled"
	Hidden    State = "hidden"
	Shadowed  State = "shadowed"
	Untrusted State = "untrusted"
	Unmet     State = "unmet"
	Invalid   State = "invalid"
)

// Reason explains a state: a code of the explain list, a sentence, and what to do.
// Path, Line and By are what the sentence is about, for those who make one of their own.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
	Path    string `json:"path,omitempty"` // the file or folder that it is about
	Line    int    `json:"line,omitempty"` // 1-based; 0 where there is none
	By      string `json:"by,omitempty"`   // what decided: the winner's path, a rule's place, names of conditions
}

// Record is one entry with its verdict. Records are immutable once a Snapshot holds them.
type Record struct {
	*source.Entry
	State   State
	Reasons []Reason  // primary first
	Winner  *Record   // of a shadowed record
	Losers  []*Record // of a winner, strongest first
	Barred  string    // the rule that keeps models from it; "" = none
	Address string    // unique in the Snapshot: the name, or name@source where the name is another's
}

// Metrics counts what a refresh did.
type Metrics struct {
	Sources     int   `json:"sources"`
	Skills      int   `json:"skills"`
	FilesRead   int   `json:"files_read"`
	FilesReused int   `json:"files_reused"`
	ElapsedMS   int64 `json:"elapsed_ms"`
}

// Snapshot is the immutable result of arbitration. It is replaced as a whole and
// safe for concurrent use.
type Snapshot struct {
	Version     uint64
	Generated   time.Time
	Winners     []*Record // one a name, and every name@source that is usable; sorted by name, then address
	All         []*Record // winners, losers, withheld and invalid ones, sorted by location
	Diagnostics []skill.Diagnostic
	Skipped     []source.Skipped
	Metrics     Metrics
	Complete    bool

	lookup  *index
	sources []Root
}

// Root is one source as it was searched.
type Root struct {
	ID, Path string
	Kind     source.Kind
	Trust    source.Trust
	Skills   int           // entries found, invalid ones included
	Complete bool          // false: not everything below was listed
	Took     time.Duration // of the last scan
}

// Roots returns the searched sources in the order of search.
func (s *Snapshot) Roots() []Root { return append([]Root(nil), s.sources...) }

// ForModel reports whether a model may see and start the skill: it is available
// and not manual-only. Listing, searching, routing and loading on a model's behalf
// all use this one rule.
func (r *Record) ForModel() bool {
	return r.State == Available && !r.Skill.Meta.DisableModelInvocation && r.Barred == ""
}
