package source

import (
	"context"
	"io/fs"
	"slices"

	"github.com/deftskills/deft/skill"
)

// Kind ranks where a source's skills come from; Kinds lists them, strongest first.
type Kind string

// The kinds of sources.
const (
	Managed Kind = "managed"
	DataDef Kind = "data"
	Project Kind = "project"
	Agent   Kind = "agent"
	User    Kind = "user"
	PluginK Kind = "plugin"
	Package Kind = "package"
	Builtin Kind = "builtin"
	MCP     Kind = "mcp"
)

// Two more kinds that dialect minimax tells apart: Kinds does not list them.
const (
	WorkspaceK Kind = "workspace" // project roots of the walk-up
	Global     Kind = "global"    // skills of every agent in the data directory
)

// Trust says how far a source's skills are trusted; see Info.Trust.
type Trust string

// The trusts, strongest first. Pending and Denied skills are withheld from models.
const (
	Trusted   Trust = "trusted"
	Workspace Trust = "workspace"
	Untrusted Trust = "untrusted"
	Remote    Trust = "remote"
	Pending   Trust = "pending"
	Denied    Trust = "denied"
)

// LinkRule says which symbolic links a directory source follows.
type LinkRule string

// The link rules.
const (
	LinksStay  LinkRule = "stay"  // project roots: links stay in the repository or end in another configured root
	LinksLeave LinkRule = "leave" // other kinds: links of folders and of SKILL.md may leave the root
	LinksNone  LinkRule = "none"  // no link is followed
	LinksBound LinkRule = "bound" // links stay in the root itself; a root that is a link holds nothing
)

// Info describes one source. Equal Info, equal behaviour.
type Info struct {
	ID        string // unique among the sources of a registry, e.g. "user-cc", "workspace-deft:/repo"
	Kind      Kind
	Path      string  // the root as configured, absolute; "" where there is none
	Priority  float64 // higher is stronger, within kind and nearness
	Nearness  int     // 0 = nearest level of the walk-up
	Namespace string  // plugin prefix
	Market    string  // where a plugin was installed from, else the folder above it
	Version   string  // of a plugin, information only
	Off       string  // why every skill of the source is disabled, a code of explain; "" = it is not
	Agent     string  // agent scope
	Legacy    bool    // an agent root under a former name of the agent
	Package   string  // path of the touched package below the workspace, slash-separated; "" = not of one
	Client    string  // claude-code, codex, …
	Trust     Trust
	Shell     Policy // for inline commands; see ShellPolicy
	Hooks     Policy // for hooks; see HooksPolicy
	Links     LinkRule
	Origin    string // which line of which configuration made this source
}

// Source yields skills. Implementations are safe for concurrent use, never panic,
// return entries sorted by Location bytewise, and prefetch nothing below a skill.
type Source interface {
	Info() Info
	// Scan lists the source. prev is the former listing or nil; entries whose Stamp
	// did not change may be reused from it. The error is for a cancelled context and
	// programming faults only: everything else is a diagnostic.
	Scan(ctx context.Context, prev *Listing) (*Listing, error)
	// Open opens one file of a skill, confined to it. rel is slash-separated and
	// relative to the skill; "" is SKILL.md, "." the directory.
	Open(ctx context.Context, e *Entry, rel string) (fs.File, error)
}

// Watchable is a Source that notices changes itself; notify may be called from any
// goroutine and returns at once. stop returns when no call will begin any more.
type Watchable interface {
	Watch(ctx context.Context, notify func(Event)) (stop func(), err error)
}

// Event says that a source may list something else now.
type Event struct {
	Path string // what changed, where it has a path
}

// Stamp identifies one state of SKILL.md and its sidecars without reading them.
// The zero Stamp equals nothing, not even itself; compare with Same.
type Stamp struct {
	File     FileStamp     // of SKILL.md
	Sidecars *[2]FileStamp // SKILL.config.json, agents/openai.yaml; nil when both are absent
	// Dir is of the directory, zero where it was too young or cannot prove anything. While
	// it stays, no sidecar has come: files that are absent need no look. Same ignores it.
	Dir  FileStamp
	Racy bool // younger than two seconds at the scan: not to be trusted next time
}

// FileStamp is what the file system says about one file.
type FileStamp struct {
	Dev, Ino         uint64
	Size             int64
	MtimeNS, CtimeNS int64
}

// Same reports whether s and t describe the same, safely old state.
func (s Stamp) Same(t Stamp) bool {
	if s.Racy || s.File == (FileStamp{}) || s.File != t.File {
		return false
	}
	if s.Sidecars == nil || t.Sidecars == nil {
		return s.Sidecars == t.Sidecars
	}
	return *s.Sidecars == *t.Sidecars
}

// Entry is one skill as one source yields it. Its contents never change.
type Entry struct {
	Skill    *skill.Skill
	Source   Info
	From     Source // opens the skill's files
	Location string // address of SKILL.md: file:///…, builtin:///name/SKILL.md, data:///name/SKILL.md
	Dir      string // the entry directory, a link's own path; "" for data skills
	RealDir  string // where Dir leads
	File     string // name of the skill file in Dir: SKILL.md, or the spelling that was found
	RealFile string // where a linked SKILL.md leads; "" when it is no link
	Group    string // group folders between root and skill, information only
	Aliases  []string
	Stamp    Stamp
	Stale    bool     // the last good version of a file that is broken now
	Effects  *Effects // of a skill given in code; nil = none

	inner string // the skill's directory in the file system of an FS source
	tree  string // which file system that is, where several sources may read one
}

// Stats counts what a scan did.
type Stats struct {
	Directories, FilesRead, FilesReused int
}

// Listing is the result of one Scan.
type Listing struct {
	Entries     []*Entry
	Diagnostics []skill.Diagnostic // of the root and of things that are not skills
	Skipped     []Skipped
	Complete    bool // false: a limit was reached or a part could not be read
	Stats       Stats

	// Dirs are the real directories whose names were listed: the root and its group
	// folders. A name that comes or goes there may be a skill.
	Dirs []string
	// Awaited are paths that would change the listing by appearing, or by leading
	// elsewhere: a missing root, a linked one, the target of a dangling link.
	Awaited []string

	folders map[string]names // the names of Dirs, where a later scan may trust them
}

// Equal reports whether two listings say the same of the same skills. Stamps are no
// part of that: a file that was touched says what it said.
func (l *Listing) Equal(o *Listing) bool {
	return l.Complete == o.Complete && slices.EqualFunc(l.Entries, o.Entries, sameEntry) &&
		slices.Equal(l.Diagnostics, o.Diagnostics) && slices.Equal(l.Skipped, o.Skipped)
}

func sameEntry(a, b *Entry) bool {
	return a == b || (a.Skill == b.Skill && a.Source == b.Source && a.Location == b.Location &&
		a.RealDir == b.RealDir && a.RealFile == b.RealFile && a.Group == b.Group && a.Stale == b.Stale && slices.Equal(a.Aliases, b.Aliases))
}

// Clone returns a listing whose entries can be exchanged without changing l.
func (l *Listing) Clone() *Listing {
	c := *l
	c.Entries = slices.Clone(l.Entries)
	return &c
}

// Skipped names a place that looks like a skill but is none, for explain: Code is
// the reason (dangling, link_outside, too_deep, nested, stray, …).
type Skipped struct {
	Name, Path, Code, Message string
}
