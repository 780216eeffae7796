// Package limits holds every bound that deft puts on input, in one place.
//
// What belongs here: numbers with a unit and the diagnostic code that names them
// when they are reached. What does not: behaviour. A host may lower any of them
// by configuration; only host code may raise one. Zero in an options struct means
// the default of this package.
package limits

import "time"

// Skill bounds what one SKILL.md and its directory may cost. The zero value of
// each field means the default of DefaultSkill.
type Skill struct {
	File        int64 // bytes of SKILL.md
	Header      int   // bytes between the fences
	Nodes       int   // nodes of the header's tree
	Depth       int   // nesting of the header's tree
	Sidecar     int64 // bytes of SKILL.config.json and agents/openai.yaml, each
	Tools       int   // entries of a tool list
	List        int   // entries of any other list
	Name        int   // code points; longer names load with a warning
	Description int   // code points; longer ones load with a warning
	Compat      int   // code points of compatibility
	Diagnostics int   // diagnostics kept for one file
	Recovered   int   // header lines re-read as raw text
	TreeFiles   int   // files of a skill directory that are digested or packed
	TreeBytes   int64 // bytes of a skill directory
	TreeFile    int64 // bytes of one file in it
	TreeDepth   int   // directory levels in it
}

// DefaultSkill returns the bounds of the format.
func DefaultSkill() Skill {
	return Skill{
		File: 1 << 20, Header: 64 << 10, Nodes: 1000, Depth: 16, Sidecar: 64 << 10,
		Tools: 256, List: 1000, Name: 64, Description: 1024, Compat: 500,
		Diagnostics: 100, Recovered: 16,
		TreeFiles: 2000, TreeBytes: 64 << 20, TreeFile: 16 << 20, TreeDepth: 16,
	}
}

// WithDefaults returns s with every zero field replaced by the default.
func (s Skill) WithDefaults() Skill {
	d := DefaultSkill()
	pick(&s.File, d.File)
	pick(&s.Header, d.Header)
	pick(&s.Nodes, d.Nodes)
	pick(&s.Depth, d.Depth)
	pick(&s.Sidecar, d.Sidecar)
	pick(&s.Tools, d.Tools)
	pick(&s.List, d.List)
	pick(&s.Name, d.Name)
	pick(&s.Description, d.Description)
	pick(&s.Compat, d.Compat)
	pick(&s.Diagnostics, d.Diagnostics)
	pick(&s.Recovered, d.Recovered)
	pick(&s.TreeFiles, d.TreeFiles)
	pick(&s.TreeBytes, d.TreeBytes)
	pick(&s.TreeFile, d.TreeFile)
	pick(&s.TreeDepth, d.TreeDepth)
	return s
}

// Scan bounds one walk of one root.
type Scan struct {
	Skills      int           // skills a root
	Directories int           // directories a root
	Depth       int           // group folders below a root; a child is depth 1
	Glob        int           // components below a glob's base, the match included
	Time        time.Duration // a walk
	NameBytes   int64         // names of one directory
	Parallel    int           // reads at once
	ProbeDirs   int           // directories looked at below the depth limit, names only
	ProbeDepth  int           // levels of that look
	WalkUp      int           // levels from the workspace up
	Braces      int           // expansions of one glob
}

// DefaultScan returns the bounds of a walk over folders.
func DefaultScan() Scan {
	return Scan{
		Skills: 100_000, Directories: 200_000, Depth: 6, Glob: 16, Time: 60 * time.Second,
		NameBytes: 4 << 20, Parallel: 8, ProbeDirs: 256, ProbeDepth: 24, WalkUp: 64, Braces: 64,
	}
}

// WithDefaults returns s with every zero field replaced by the default.
func (s Scan) WithDefaults() Scan {
	d := DefaultScan()
	pick(&s.Skills, d.Skills)
	pick(&s.Directories, d.Directories)
	pick(&s.Depth, d.Depth)
	pick(&s.Glob, d.Glob)
	pick(&s.Time, d.Time)
	pick(&s.NameBytes, d.NameBytes)
	pick(&s.Parallel, d.Parallel)
	pick(&s.ProbeDirs, d.ProbeDirs)
	pick(&s.ProbeDepth, d.ProbeDepth)
	pick(&s.WalkUp, d.WalkUp)
	pick(&s.Braces, d.Braces)
	return s
}

// Plugin bounds the manifest of a plugin.
type Plugin struct {
	Manifest int64 // bytes of plugin.json
	Depth    int   // nesting of its values
	Paths    int   // paths of skills in it
	Name     int   // code points of the prefix that it gives its skills
}

// DefaultPlugin returns bounds that are far above every plugin seen in the wild.
func DefaultPlugin() Plugin { return Plugin{Manifest: 256 << 10, Depth: 32, Paths: 64, Name: 64} }

// Views is how many views a registry keeps: one a request in flight and those that were
// asked for last. A busy server opens more and keeps these.
const Views = 16

// Session bounds what one conversation may hold active.
type Session struct {
	Active      int // active skills
	Patches     int // patches of both layers
	SetSkills   int // skills of one replacing set
	SetTokens   int // tokens of one replacing set
	PromptBytes int // prompt appends in all
	ArgsUser    int // bytes of arguments from a person or host
	ArgsModel   int // bytes of arguments from a model
	Packages    int // touched packages whose skills are looked for
	Discovered  int // deferred tools that were found and are shown
}

// DefaultSession returns the bounds of one session.
func DefaultSession() Session {
	return Session{
		Active: 20, Patches: 200, SetSkills: 8, SetTokens: 20_000, PromptBytes: 64 << 10,
		ArgsUser: 64 << 10, ArgsModel: 16 << 10, Packages: 64, Discovered: 256,
	}
}

// WithDefaults returns s with every zero field replaced by the default.
func (s Session) WithDefaults() Session {
	d := DefaultSession()
	pick(&s.Active, d.Active)
	pick(&s.Patches, d.Patches)
	pick(&s.SetSkills, d.SetSkills)
	pick(&s.SetTokens, d.SetTokens)
	pick(&s.PromptBytes, d.PromptBytes)
	pick(&s.ArgsUser, d.ArgsUser)
	pick(&s.ArgsModel, d.ArgsModel)
	pick(&s.Packages, d.Packages)
	pick(&s.Discovered, d.Discovered)
	return s
}

func pick[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}
