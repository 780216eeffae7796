package toolset

import (
	"context"
	"encoding/json"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
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

// OnDemand says whether skills are looked for and loaded by tools of their own, without
// a list of them in the prompt. Only dialect mastra knows it.
type OnDemand string

// The ways of loading on demand.
const (
	OnDemandOnly   OnDemand = "only"   // in place of the tools that go with a list
	OnDemandBeside OnDemand = "beside" // beside them, where the host asks for the list too
)

// The names of the skill tools before any prefix or renaming.
const (
	NameSkill        = "skill"
	NameLoadSkill    = "load_skill" // of dialect mastra on demand
	NameSkillRead    = "skill_read"
	NameActivate     = "activate_skills"
	NameDeactivate   = "deactivate_skill"
	NameSkillSearch  = "skill_search"
	NameSearchSkills = "search_skills" // of dialect mastra on demand
	NameSkillRun     = "skill_run"
	NameToolSearch   = "tool_search"
	NameToolInvoke   = "tool_invoke"
)

// Options configures the skill tools. The zero value is useful.
type Options struct {
	Dialect  skill.Dialect     // "" = deft
	Prefix   string            // put before every name, for hosts that share a name space
	Names    map[string]string // other names for single tools; wins over Prefix
	Style    Style             // "" = StyleSkill; only where the dialect has both
	Search   SearchMode        // "" = SearchAuto
	OnDemand OnDemand          // "" = not
	TopK     int               // hits of a search where the call names no number; 0 = 5
	MinScore float64           // of search_skills: hits below it are left out
	// Enum puts the names of the skills into the schema of skill, at most 200 and only while
	// all are listed. Each change of them then voids the provider's cache of the prompt.
	Enum bool
	// Strict refuses arguments that a tool does not know, instead of leaving them aside.
	Strict bool
	// Inline puts the texts of a replacing set into the result too, in dialect minara.
	Inline bool
	// HostFiles says that the host has tools which read the files of skills wherever they
	// lie; the dialects of the open standard then go without a reader of their own.
	HostFiles bool
	// Fork has a sub-agent carry a forked skill out and returns its answer; Session.Child
	// gives the options of its session. nil = the host reads the Fork of the result and
	// answers by its own means.
	Fork     func(ctx context.Context, s *session.Session, f session.Fork) (string, error)
	Searcher Searcher     // nil = skill_search does not exist
	Scripts  ScriptRunner // nil = the host runs no scripts: skill_run does not exist
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

// SearchName is the name that the tool for looking for skills has or would have; a
// catalog is rendered with it before it is known whether the tool is shown. "" = there
// is none.
func (o Options) SearchName() string {
	if name := o.Name(NameSkillSearch); name != "" {
		return name
	}
	return o.Name(NameSearchSkills)
}

// LoaderName is the tool that starts what was found.
func (o Options) LoaderName() string {
	for _, base := range [...]string{NameSkill, NameLoadSkill, NameActivate} {
		if name := o.Name(base); name != "" {
			return name
		}
	}
	return ""
}

// View is what exposure depends on.
type View struct {
	Snapshot        *registry.Snapshot
	CatalogMentions bool // the rendered catalog sends the model to skill_search
	Active          int  // active skills now
	Scripts         bool // an active skill whose code counts has a script
	Deferred        bool // there are tools that the model is not shown by themselves
}

// moments say when a tool is shown in a turn.
var moments = map[string]func(o Options, v View, visible int, readable bool) bool{
	"always":   func(Options, View, int, bool) bool { return true },
	"visible":  func(_ Options, _ View, visible int, _ bool) bool { return visible > 0 },
	"readable": func(_ Options, v View, _ int, readable bool) bool { return readable || v.Active > 0 },
	"no_host_files": func(o Options, v View, _ int, readable bool) bool {
		return !o.HostFiles && (readable || v.Active > 0)
	},
	"search": func(o Options, v View, visible int, _ bool) bool {
		return visible > 0 && (o.Search == SearchAlways || v.CatalogMentions || visible > searchAbove)
	},
	"option":   func(o Options, _ View, visible int, _ bool) bool { return visible > 0 && o.Search == SearchAlways },
	"active":   func(_ Options, v View, _ int, _ bool) bool { return v.Active > 0 },
	"script":   func(_ Options, v View, _ int, _ bool) bool { return v.Scripts },
	"deferred": func(_ Options, v View, _ int, _ bool) bool { return v.Deferred },
}

// Exposed returns the names of the skill tools that a model is shown, in the order
// of Skills. It is a function of its arguments: compute it once a turn; only tools
// that are Passing follow the turn from step to step.
func Exposed(o Options, v View) []string {
	visible, readable := survey(v.Snapshot)
	var out []string
	for _, k := range kinds {
		if f, ok := o.face(k.base); ok && moments[f.When](o, v, visible, readable) {
			out = append(out, o.name(k.base, f))
		}
	}
	return out
}

// Now is what the presence of some tools depends on within a turn.
type Now struct {
	Active   []session.Activation
	Deferred bool // there are tools that the model is not shown by themselves
}

// Passing is a tool that comes and goes from step to step.
type Passing interface {
	// Present reports whether the tool exists now.
	Present(n Now) bool
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

// maxEnum is how many names the schema of skill takes.
const maxEnum = 200

// ListInTool reports whether the list of skills belongs into the description of the tool
// that loads them: the prompt then has none.
func (o Options) ListInTool() bool { return o.faces()[NameSkill].Lists }

// Dress returns what a model is shown of a tool in a turn: for the one that loads skills,
// with the list in its description or the names in its schema where the options want
// it. list is the rendered list; listed says that it names every skill.
func (o Options) Dress(s Spec, snap *registry.Snapshot, list string, listed bool) Spec {
	f, ok := o.face(NameSkill)
	if !ok || s.Name != o.name(NameSkill, f) {
		return s
	}
	if f.Lists && list != "" {
		s.Description += "\n\n" + list
	}
	var names []string
	for _, r := range snap.Winners {
		if r.ForModel() {
			names = append(names, r.Address)
		}
	}
	if o.Enum && listed && len(names) > 0 && len(names) <= maxEnum {
		s.Input = withEnum(s.Input, names)
	}
	return s
}

// withEnum bounds the first required property of a schema to names.
func withEnum(schema json.RawMessage, names []string) json.RawMessage {
	var doc map[string]any
	if json.Unmarshal(schema, &doc) != nil {
		return schema
	}
	props, _ := doc["properties"].(map[string]any)
	required, _ := doc["required"].([]any)
	if len(required) == 0 {
		return schema
	}
	key, _ := required[0].(string)
	prop, ok := props[key].(map[string]any)
	if !ok {
		return schema
	}
	prop["enum"] = names
	out, err := json.Marshal(doc)
	if err != nil {
		return schema
	}
	return out
}
