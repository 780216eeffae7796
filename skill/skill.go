package skill

// Dialect names the system whose rules apply. The zero value means Deft.
type Dialect string

// The dialects, by the name that flags, configuration and JSON use.
const (
	Deft        Dialect = "deft"
	MiniMax     Dialect = "minimax"
	Minara      Dialect = "minara"
	Blade       Dialect = "blade"
	Mastra      Dialect = "mastra"
	AgentSkills Dialect = "agentskills"
	ClaudeCode  Dialect = "claude-code"
	Codex       Dialect = "codex"
)

// Dialects returns every dialect in the order of the documentation.
func Dialects() []Dialect {
	return []Dialect{Deft, MiniMax, Minara, Blade, Mastra, AgentSkills, ClaudeCode, Codex}
}

// ID is the identity that activate_skills, routing and co_activate use: the id
// declared below metadata, else the name.
type ID string

// Span is a half-open byte range [Start, End) in a file.
type Span struct{ Start, End int64 }

// Skill is one parsed SKILL.md. It is immutable once Parse has returned it and
// safe for concurrent use. The body's bytes are not kept; Body says where they are.
type Skill struct {
	Name        string // NFC of the trimmed header name, else the directory's
	Key         string // full case fold of NFKC(Name): the identity for arbitration, lookup and switches
	Handle      string // Key in the form people type: letters, marks, digits, "-" and ":" only
	Title       string // shown title: title, else the first level-1 heading, else Name
	Description string // trimmed header description, else the first prose paragraph

	Meta  Meta // everything else the header and its sidecars say
	Valid bool // false: listed as invalid, never offered, never loaded

	Header      Span   // bytes between the fences; empty without a header
	Body        Span   // bytes after the header
	File        Digest // over the raw bytes of SKILL.md
	Digest      Digest // File, or with sidecars a digest over the digests of all of them
	Size        int64  // bytes of SKILL.md
	Diagnostics []Diagnostic

	header     string            // the header's text with LF line ends; Raw reads it again
	headerLine int               // the file's line of its first byte
	from       Dialect           // the dialect that Parse was asked for
	sides      map[string]Origin // fields that a sidecar wrote; nil without sidecars
}

// ID returns the skill id: metadata id, else Name.
func (s *Skill) ID() ID {
	if s.Meta.ID != "" {
		return s.Meta.ID
	}
	return ID(s.Name)
}

// Origin says where a value of Meta was written.
type Origin struct {
	File string // "SKILL.md" or a sidecar's name
	Key  string // the key as spelt there, dotted below a map
	Line int    // 1-based; 0 where the file has no lines
}

// ToolList is a list of tool patterns that knows whether it was declared:
// an empty declared list differs from an absent one.
type ToolList struct {
	Declared bool
	Entries  []string
}

// Argument is one declared argument of a skill.
type Argument struct {
	Name, Description string
	Required          bool
	Default           string
}

// Routing holds what a skill tells the router about itself.
type Routing struct {
	Keywords, NegativeKeywords, Stages, AssetClasses, SignalSources []string
	CoActivate                                                      []string // ids
}

// Conditions are hard gates; see Unmet. An empty list passes.
type Conditions struct {
	RequiresEnv, RequiresTools, RequiresToolsets []string
	FallbackForTools, FallbackForToolsets        []string
	RequiresBins, AnyBins                        []string
	RequiresMCP, RequiresSkills                  []string
	Platforms                                    []string // Go names after folding: darwin, linux, windows, …
	Always                                       bool     // skips all of these but Platforms
	Dependencies                                 *Group   // nil: none
}

// Group is one node of a dependency tree: every atom and group of All holds, and
// for each list of Any at least one does.
type Group struct {
	All []Atom
	Any [][]Atom
}

// Atom is one thing a skill depends on. Exactly one of the kinds is set, or Group
// for a nested group.
type Atom struct {
	Skill, Tool, Bin, Env, MCP, OS string
	Version, Source                string // of Skill and Bin
	Group                          *Group
}

// Meta is the typed superset of every header that deft reads. Zero values are the
// defaults except where a field says otherwise. Lists and pointers are nil when the
// header says nothing.
type Meta struct {
	ID       ID     // "" = the name
	Priority uint8  // 0–100, default 50; lower is stronger
	Kind     string // builtin | external, information only

	DisplayName                           string
	WhenToUse                             string
	License, Compatibility, Version       string
	RequiresBeta                          string
	ArgumentHint                          string
	Scope, Model, Effort                  string // scope: "", "turn" or "session"
	Context, Agent                        string // context: "", "inline" or "fork"
	OnError                               string // "", "placeholder" or "abort"
	DisableModelInvocation, Retired       bool
	UserInvocable, Listed, DefaultEnabled bool // default true
	Background                            bool // default true
	OneShot                               bool
	AllowedTools, DisallowedTools         ToolList
	Arguments                             []Argument
	Paths, Tags, ModeSlugs                []string
	ToolNames                             []string // tools that the skill brings
	Secrets                               []string // metadata.requires-env: variables its own commands may be given
	Routing                               *Routing
	Conditions                            *Conditions
	DisplayNames, Descriptions            map[string]string // by BCP 47 tag
	Group                                 string            // category of a foreign block, information only
	HasShell, HasHooks                    bool              // the header has these keys; Raw holds them
	Internal                              bool              // metadata.internal
}
