package catalog

import (
	"slices"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// dialect is how one system lists its skills. Rows of the table below are all that
// tells dialects apart, with the concessions that they name.
type dialect struct {
	format   Format
	modes    []Mode   // the accepted ones; the first is what ModeAuto means without routing
	filters  []string // names of filters, in the order in which reasons are looked for
	names    func(*registry.Record) string
	escaped  bool                   // fields are escaped as deft does; else only block tags in them are
	marked   bool                   // a list says where a skill of doubtful or foreign origin comes from
	hinted   bool                   // the argument hint stands behind the name
	empty    bool                   // without skills the block stands there empty
	blind    bool                   // the advice to search first needs no skill
	inTree   bool                   // a place is where the skill lies in its source, not on the disk
	collated bool                   // in the order of the root locale, not bytewise
	caps     caps                   // how much of a skill's own words
	rule     rule                   // the budget; the zero rule is none
	concede  func(offer) outcome    // nil = step by step: names, then longer and longer descriptions
	kinds    map[source.Kind]string // what the source is called; "" holds the word for all others; nil = the kind
	tail     tailKind
	telling  bool   // what changed or could not be read is told; else the block is written anew
	guidance string // "" = none; deft or mastra
	// protected are names that stand first and keep their whole description.
	protected []string
}

// caps bounds what an entry shows of a skill's own words; 0 = no bound.
type caps struct {
	description int    // code points
	whenToUse   bool   // is appended to the description
	joined      int    // code points of both
	name        int    // code points; a longer name is not shown
	mark        string // ends what was cut here
	units       int    // UTF-16 code units of all of it, the mark included; wins over the others
}

// rule is a dialect's budget: a share of the window, at most max.
type rule struct {
	fraction float64 // of the window's tokens
	max      int     // in unit; 0 = no bound
	unknown  int     // where the window is not known; 0 = max
	unit     Unit    // of max and unknown
	// unitUnknown is the unit of unknown where that is another one.
	unitUnknown Unit
}

// tailKind says what belongs to the end of a turn's prompt.
type tailKind int

const (
	noTail    tailKind = iota
	hintsTail          // a few names with reasons, or the best skills in mode routed
	fullTail           // every routed skill with description and reasons
)

var (
	// basic is what every dialect keeps from its models: what does not load, and what
	// only a person may start, would be refused when a model asks for it.
	basic = []string{"invalid", "denied", "disabled", "pending", "manual"}
	whole = []string{
		"invalid", "denied", "disabled", "pending", "manual", "untrusted", "unlisted", "unmet", "paths",
		"agent_scope", "beta", "mcp_duplicate", "name_too_long",
	}
	share     = rule{fraction: 0.02, max: limits.CatalogBudget, unit: Tokens}
	deftCaps  = caps{description: limits.CatalogDescription, whenToUse: true, joined: limits.CatalogShown, name: limits.CatalogName, mark: "…"}
	plainOnly = []Mode{ModeStable}
)

func byAddress(r *registry.Record) string { return r.Address }
func byName(r *registry.Record) string    { return r.Skill.Name }
func byID(r *registry.Record) string      { return string(r.Skill.ID()) }

// dialects is the table. Sources: the open standard's reference, and what the other
// systems were seen to do.
var dialects = map[skill.Dialect]*dialect{
	skill.Deft: {
		format: List, modes: []Mode{ModeStable, ModeRouted, ModeSearch}, filters: whole, names: byAddress,
		escaped: true, marked: true, caps: deftCaps, rule: share, tail: hintsTail, telling: true, guidance: "deft",
	},
	skill.MiniMax: {
		format: List, modes: plainOnly, filters: basic, names: byAddress,
		collated: true, caps: caps{description: limits.CatalogDescription}, rule: share, concede: concedeTiers,
		protected: []string{"mcode-tools-master", "minimax-code-product"},
	},
	skill.Mastra: {
		format: XML, modes: []Mode{ModeStable, ModeSearch}, filters: basic, names: byName,
		empty: true, blind: true, inTree: true, collated: true, guidance: "mastra",
		kinds: map[source.Kind]string{source.Managed: "managed", source.Package: "external", "": "local"},
	},
	skill.Minara: {
		format: Minara, modes: []Mode{ModeStable, ModeRouted}, filters: append(slices.Clone(basic), "unmet", "negative_keyword"), names: byID,
		tail: fullTail, guidance: "deft",
	},
	skill.Blade: {
		format: List, modes: plainOnly, filters: append(slices.Clone(basic), "unmet", "paths"), names: byAddress,
		hinted: true, empty: true, caps: caps{whenToUse: true, units: 100, mark: "..."},
	},
	skill.AgentSkills: {
		format: XML, modes: plainOnly, filters: basic, names: byAddress,
		escaped: true, marked: true, empty: true, caps: deftCaps, guidance: "deft",
	},
	skill.ClaudeCode: {
		format: List, modes: plainOnly, filters: append(slices.Clone(basic), "paths"), names: byAddress,
		caps: caps{whenToUse: true, joined: limits.CatalogShown, mark: "…"}, concede: concedeWhole,
		rule: rule{fraction: 0.01, unknown: 8000, unit: Chars},
	},
	skill.Codex: {
		format: Codex, modes: plainOnly, filters: basic, names: byName,
		concede: concedeEvenly, rule: rule{fraction: 0.02, unknown: 8000, unit: Tokens, unitUnknown: Chars},
	},
}

// ProcessorID and ProcessorName are what hosts of dialect mastra call the part of a
// prompt that a Catalog is.
const (
	ProcessorID   = "skills-processor"
	ProcessorName = "Skills Processor"
)

// accepted lists what an option may be, for messages.
func (d *dialect) accepted() []Mode { return append([]Mode{ModeAuto}, d.modes...) }

func dialectNames() []skill.Dialect {
	var out []skill.Dialect
	for _, d := range skill.Dialects() {
		if dialects[d] != nil {
			out = append(out, d)
		}
	}
	return out
}

func (d *dialect) protects(r *registry.Record) bool {
	return len(d.protected) > 0 && slices.Contains(d.protected, r.Skill.Name)
}
