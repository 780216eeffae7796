package catalog

import (
	"strings"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// Format is the shape of a block. The zero value means the dialect's own.
type Format string

// The formats.
const (
	List     Format = "list"     // one "- name: description" a line
	XML      Format = "xml"      // elements
	JSON     Format = "json"     // a heading and an array of objects
	Markdown Format = "markdown" // a heading and a list with sources and places
	Codex    Format = "codex"    // a heading and a list with the places of files
	Minara   Format = "minara"   // one "id: description" a line, nothing around it
)

// Mode says where the skills are listed. The zero value means ModeAuto.
type Mode string

// The modes.
const (
	ModeAuto   Mode = "auto"   // ModeStable while all names fit, else ModeRouted where routing is on, else ModeSearch
	ModeStable Mode = "stable" // all skills in the stable block, routed hints in the tail
	ModeRouted Mode = "routed" // a count in the stable block, the best skills in the tail
	ModeSearch Mode = "search" // no list at all: the model searches before it begins
)

// Unit is what a budget counts. The zero value means Tokens.
type Unit string

// The units.
const (
	Tokens Unit = "tokens" // by the Renderer's counter
	Chars  Unit = "chars"  // code points
	Bytes  Unit = "bytes"
)

// Counter counts tokens; implementations are safe for concurrent use.
type Counter = tokens.Counter

// O200k returns the exact counter of the o200k_base encoding. Its tables are
// compiled in and loaded by the first count.
func O200k() Counter { return tokens.O200k() }

// Estimate returns a counter without tables: a third of the bytes, rounded up.
func Estimate() Counter { return tokens.Estimate() }

// Input is one question to a Renderer. Only Snapshot is required.
type Input struct {
	Snapshot *registry.Snapshot
	View     View
	Dialect  skill.Dialect // "" = deft
	Format   Format        // "" = the dialect's
	Mode     Mode          // "" = ModeAuto
	Budget   Budget
	Rank     Rank      // whose description goes last; fixed when a session starts
	Tools    ToolNames // what the model can call

	Routing      bool     // the session routes requests: the tail's room is kept free
	Routed       []Routed // this turn's result, best first
	Fit          string   // the router's word on this turn: strong, weak or none; "" = not asked
	TopK         int      // entries of the tail in mode routed; 0 = 24
	ActiveTokens int      // tokens of the skills that are active now, for the report

	// Locations are places as the host shows them, by address, in formats that show
	// places; what is missing there stands as it is.
	Locations map[string]string
	// Incomplete says that some place could not be read or was cut short: the guidance
	// tells the model of dialect deft that there may be more skills.
	Incomplete bool
	// NoAliases says that the host finds no skill by its place; the guidance of dialect
	// mastra then says so.
	NoAliases bool
}

// View says who asks, as values. The zero value sees every skill that a model may.
type View struct {
	Skills        []string          // the agent's selection by name or id; nil = all, empty = none
	HideUntrusted bool              // leave skills of untrusted origin out instead of marking them
	Unmet         map[string]string // addresses whose conditions fail now, and the names of these conditions
	Touched       map[string]bool   // addresses whose paths matched a touched file; nil = not tracked, all pass
	Flags         map[string]bool   // beta flags; nil = as the registry judged
	Servers       []string          // configured MCP servers
	NameOnly      []string          // addresses that are listed without description
	Negative      []string          // addresses that this turn's request rules out by a word; dialect minara hides them
}

// Budget bounds the stable block and the tail together. The zero value is the
// dialect's rule: in deft and minimax 2 % of the window, at most 5,000 tokens; in
// claude-code 1 % of the window in characters; in codex 2 % of the window, 8,000
// characters where that is unknown; none in the others.
type Budget struct {
	Window   int     // the model's context in tokens; 0 or less = unknown
	Limit    int     // exact bound in Unit; more than 0 wins over the rule
	Unit     Unit    // "" = Tokens, or the rule's own
	Fraction float64 // of the window; 0 = the rule's
	Max      int     // the rule's upper bound in tokens; 0 = the rule's
}

// Rank orders skills by how late they lose their description, by address. Take it
// when a session starts, not per turn: a change of it changes the stable block.
type Rank struct {
	Protected []string // first of all
	Recent    []string // used lately, last use first; 20 count
	Pinned    []string // preloaded or first routed; 20 count
}

// ToolNames are the names under which the model finds the tools; "" = not exposed.
// Texts name only what is exposed. Search may be a name that the tool would have:
// Catalog.NeedsSearch then says whether to expose it.
type ToolNames struct{ Skill, Read, Search string }

// Routed is one routed skill as the router judged it.
type Routed struct {
	Address string // registry.Record.Address
	Name    string // for reports; the block shows the catalog's own name
	Score   float64
	Reasons []string
}

// Block is a part of a prompt.
type Block struct {
	Text   string
	Tokens int // by the Renderer's counter, whatever the budget's unit
}

// Catalog is what a model is shown. Guidance and Stable belong at the start of the
// prompt and stay the same while Key does; Tail belongs at its end.
type Catalog struct {
	Guidance, Stable, Tail Block
	Report                 Report
	Key                    string // SHA-256 of all that decides Guidance and Stable, hex

	plan    *plan
	setting string // all that decides the Key but the skills
}

// Prefix returns the stable part of the prompt: guidance and block; when no skill is
// visible nothing, whatever Stable holds. In dialect mastra it is the block alone, and
// the advice to search first, which needs no skill.
func (c Catalog) Prefix() string {
	switch {
	case c.Report.visible() == 0:
		return c.Guidance.Text
	case c.apart():
		return c.Stable.Text
	}
	return strings.Join(filled(c.Guidance.Text, c.Stable.Text), "\n\n")
}

// Aside returns the guidance where it is a system message of its own, after the
// block: in dialect mastra. "" elsewhere.
func (c Catalog) Aside() string {
	if c.Report.visible() > 0 && c.apart() {
		return c.Guidance.Text
	}
	return ""
}

func (c Catalog) apart() bool { return c.Report.Dialect == skill.Mastra && c.Stable.Text != "" }

// NeedsSearch reports whether the model must be given the tool tools.Search: the
// catalog names it, or lists more skills than a reader takes in at once. It is the
// same for every turn of a Key.
func (c Catalog) NeedsSearch(tools ToolNames) bool {
	if tools.Search == "" {
		return false
	}
	return c.Report.visible() > limits.CatalogMany || c.Report.Shown < c.Report.visible() || c.Report.Full < c.Report.Shown
}

func filled(parts ...string) []string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}
