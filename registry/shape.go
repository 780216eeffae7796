package registry

import (
	"time"

	"github.com/deftskills/deft/skill"
)

// Shape is a Snapshot in the JSON form that hosts of dialect minimax read. It holds no
// contents of skills.
type Shape struct {
	Version     uint64             `json:"version"`
	GeneratedAt time.Time          `json:"generatedAt"`
	Roots       []ShapeRoot        `json:"roots"`
	Entries     []ShapeEntry       `json:"entries"` // sorted by location
	Winners     map[string]string  `json:"winners"` // location by name
	Losers      []ShapeLoser       `json:"losers"`
	Diagnostics []skill.Diagnostic `json:"diagnostics"` // of roots, then of each entry
	Metrics     ShapeMetrics       `json:"metrics"`
}

// ShapeRoot is one searched root.
type ShapeRoot struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Path string `json:"path"`
}

// ShapeEntry is one skill: what it is and what became of it.
type ShapeEntry struct {
	Name        string  `json:"name"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	Location    string  `json:"locationUri"`
	Directory   string  `json:"directory"`      // where a link leads
	Entry       string  `json:"entryDirectory"` // the link itself
	Kind        string  `json:"kind"`
	Priority    float64 `json:"priority"`
	State       State   `json:"state"`
	Reason      string  `json:"reason,omitempty"`
	Winner      string  `json:"winnerUri"` // its own location for a winner
}

// ShapeLoser is one shadowed skill.
type ShapeLoser struct {
	Name     string `json:"name"`
	Location string `json:"locationUri"`
	Winner   string `json:"winnerUri"`
	Reason   string `json:"reason"`
}

// ShapeMetrics counts one refresh.
type ShapeMetrics struct {
	RootsScanned int `json:"rootsScanned"`
	FilesSeen    int `json:"filesSeen"`
	FilesRead    int `json:"filesRead"`
	FilesReused  int `json:"filesReused"`
	Diagnostics  int `json:"diagnostics"`
	Entries      int `json:"entries"`
	Winners      int `json:"winners"`
	Losers       int `json:"losers"`
}

// Shape returns the Snapshot in the form of dialect minimax.
func (s *Snapshot) Shape() Shape {
	out := Shape{
		Version: s.Version, GeneratedAt: s.Generated, Winners: map[string]string{},
		Roots: []ShapeRoot{}, Entries: []ShapeEntry{}, Losers: []ShapeLoser{},
		Diagnostics: append([]skill.Diagnostic{}, s.Diagnostics...),
	}
	for _, r := range s.sources {
		out.Roots = append(out.Roots, ShapeRoot{r.ID, string(r.Kind), r.Path})
	}
	for _, r := range s.Winners {
		out.Winners[r.Address] = r.Location
	}
	for _, r := range s.All {
		e := ShapeEntry{
			Name: r.Skill.Name, Title: r.Skill.Title, Description: r.Skill.Description, Location: r.Location,
			Directory: r.RealDir, Entry: r.Dir, Kind: string(r.Source.Kind), Priority: r.Source.Priority,
			State: r.State, Winner: r.Location,
		}
		if len(r.Reasons) > 0 {
			e.Reason = r.Reasons[0].Message
		}
		if r.Winner != nil {
			e.Winner = r.Winner.Location
			out.Losers = append(out.Losers, ShapeLoser{r.Skill.Name, r.Location, r.Winner.Location, e.Reason})
		}
		out.Entries = append(out.Entries, e)
		out.Diagnostics = append(out.Diagnostics, r.Skill.Diagnostics...)
	}
	m := s.Metrics
	out.Metrics = ShapeMetrics{
		RootsScanned: m.Sources, FilesSeen: m.FilesRead + m.FilesReused, FilesRead: m.FilesRead, FilesReused: m.FilesReused,
		Diagnostics: len(out.Diagnostics), Entries: len(out.Entries), Winners: len(out.Winners), Losers: len(out.Losers),
	}
	return out
}
