package toolset

import (
	"context"
	"slices"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// Style says how a model starts skills.
type Style string

// The styles.
const (
	StyleSkill Style = "skill" // one at a time, its text as the result; the default
	StyleSet   Style = "set"   // a replacing set, its texts in the prompt
	StyleBoth  Style = "both"
)

// SearchMode says when skill_search is shown.
type SearchMode string

// The search modes.
const (
	SearchAuto   SearchMode = "auto" // when the catalog mentions it, or for more than 20 skills; the default
	SearchAlways SearchMode = "always"
	SearchNever  SearchMode = "never"
)

// searchAbove is how many skills a model still overlooks in a list.
const searchAbove = 20

// The names of the skill tools before any prefix or renaming.
const (
	NameSkill       = "skill"
	NameSkillRead   = "skill_read"
	NameSkillSearch = "skill_search"
	NameActivate    = "activate_skills"
	NameDeactivate  = "deactivate_skill"
)

// Options configures the skill tools. The zero value is useful.
type Options struct {
	Prefix   string            // put before every name, for hosts that share a name space
	Names    map[string]string // other names for single tools; wins over Prefix
	Style    Style             // "" = StyleSkill
	Search   SearchMode        // "" = SearchAuto
	Searcher Searcher          // nil = skill_search does not exist
	// Tier tells the tier of another registered tool, for texts that name it.
	Tier func(tool string) (gate.Tier, bool)
}

// Searcher finds skills by what they hold. topK is 1 to 20; names are addresses,
// none = all; only what a model may see is found.
type Searcher interface {
	Search(ctx context.Context, snap *registry.Snapshot, query string, names []string, topK int) (Found, error)
}

// Found is the answer of a Searcher.
type Found struct {
	Hits     []Hit
	Searched int    // skills that were looked through
	Degraded string // "" or why the answer may be incomplete
}

// Hit is one skill that a search found, best first.
type Hit struct {
	Address, Description string
	File                 string // relative to the skill
	StartLine, EndLine   int    // 0 = unknown
	Score                int64
	Strength             string // strong, normal, weak
	Snippet              string
}

// name is the exposed name of a skill tool.
func (o Options) name(base string) string {
	if n := o.Names[base]; n != "" {
		return n
	}
	return o.Prefix + base
}

// SearchName is the name that skill_search has or would have; a catalog is rendered
// with it before it is known whether the tool is shown.
func (o Options) SearchName() string { return o.name(NameSkillSearch) }

// Skills returns every skill tool that the options allow, for the table of the gate
// and for hosts that show all of them. Exposed says which of them a turn shows.
func Skills(o Options) []Tool {
	all := []Tool{&skillTool{o}, &readTool{o}, &activateTool{o}, &deactivateTool{o}}
	if o.Searcher != nil {
		all = append(all, &searchTool{o})
	}
	return slices.DeleteFunc(all, func(t Tool) bool { return !o.allows(t.Spec().Name) })
}

// allows reports whether the options let a tool exist at all.
func (o Options) allows(name string) bool {
	switch name {
	case o.name(NameSkill):
		return o.Style != StyleSet
	case o.name(NameActivate):
		return o.Style == StyleSet || o.Style == StyleBoth
	case o.name(NameSkillSearch):
		return o.Searcher != nil && o.Search != SearchNever
	}
	return true
}

// View is what exposure depends on.
type View struct {
	Snapshot        *registry.Snapshot
	CatalogMentions bool // the rendered catalog sends the model to skill_search
	Active          int  // active skills now
}

// Exposed returns the names of the skill tools that a model is shown, in the order
// of Skills. It is a function of its arguments: compute it once a turn; only
// deactivate_skill follows the active skills from step to step.
func Exposed(o Options, v View) []string {
	visible, readable := survey(v.Snapshot)
	if visible == 0 && v.Active == 0 {
		return nil
	}
	shown := map[string]bool{
		o.name(NameSkill):      visible > 0,
		o.name(NameActivate):   visible > 0,
		o.name(NameSkillRead):  readable || v.Active > 0,
		o.name(NameDeactivate): v.Active > 0,
		o.name(NameSkillSearch): visible > 0 &&
			(o.Search == SearchAlways || v.CatalogMentions || visible > searchAbove),
	}
	var out []string
	for _, t := range Skills(o) {
		if name := t.Spec().Name; shown[name] {
			out = append(out, name)
		}
	}
	return out
}

// survey counts the skills that a model may start and tells whether any of them can
// have files.
func survey(snap *registry.Snapshot) (visible int, readable bool) {
	if snap == nil {
		return 0, false
	}
	for _, r := range snap.Winners {
		if r.ForModel() {
			visible++
			readable = readable || r.Source.Kind != source.DataDef || r.Skill != nil && hasReferences(r)
		}
	}
	return visible, readable
}

// hasReferences reports whether a skill given in code brings files of its own.
func hasReferences(r *registry.Record) bool {
	files, err := source.Resources(context.Background(), r.Entry)
	return err == nil && len(files) > 0
}
