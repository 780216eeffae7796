package deft

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/builtin"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// Options says where an Engine finds skills and what its host brings. Only Workspace
// is required; every zero value is useful. The engine reads nothing of the process:
// what it may know of home and environment stands here.
type Options struct {
	Workspace string        // absolute path of the folder that is worked in
	Home      string        // what "~" means; "" = no roots below a home
	DataDir   string        // deft's own folder; "" = no roots of its own
	Environ   []string      // "NAME=value", as os.Environ returns it
	OS        string        // a Go name; "" = the system this runs on
	Dialect   skill.Dialect // whose rules apply; "" = skill.Deft

	// Sources are more places, in any path form: a directory, a skill, a SKILL.md, a
	// glob, or KIND=PATH. They count as typed by a person, and so as trusted.
	Sources []string
	// Paths returns more path forms for the views of one request, asked once a request; FS
	// the file system that their path forms are read from, nil = the local disk. Where FS
	// returns nil a view is an error, registry.ErrNoFilesystem, never the disk.
	Paths func(ctx context.Context, c registry.RequestContext) ([]string, error)
	FS    func(ctx context.Context, c registry.RequestContext) (fs.FS, error)
	// CheckFileTimes notices edits in place in dialect mastra, as every other dialect does.
	CheckFileTimes bool
	// MaxViews is how many views are kept; 0 = 16, less is an error.
	MaxViews    int
	OnlySources bool     // no other roots, and no built-in skills
	Clients     []string // other agents whose folders are read too
	NoExternal  bool     // leave out the folders that other agents own
	NoWalkUp    bool     // project roots of Workspace itself only
	Ceilings    []string // absolute directories where the walk-up ends, themselves left out
	Depth       int      // group folders below a root, 1 to 16; 0 = 6
	Ignore      []string // names of directories that are skipped too
	NoBuiltin   bool     // leave out the skills that come with the program
	Roots       map[string]source.Override
	Agent       string // whose folders count; blank = the dialect's default name
	// MiniMax is what only dialect minimax asks for.
	MiniMax MiniMaxOptions
	// Host is what built-in skills may need of the program; nil = everything is there.
	Host *builtin.Host
	// Seed writes the built-in skills to the data directory's .builtin-skills when
	// anything differs; what a person changed there is moved to its backup first. Only
	// dialect minimax reads that folder: others have the skills in the program.
	Seed    bool
	Plugins []source.RegisteredPlugin // for whom the installed plugins are there
	// Registered returns such plugins too; it is asked at every refresh. nil = none.
	Registered func(ctx context.Context) []source.RegisteredPlugin
	// Project says what becomes of skills in project folders: withheld (the default),
	// trusted, or refused.
	Project registry.ProjectTrust
	// State gives what persons decided: switches, profiles, trusted folders, grants. It
	// is asked at every refresh. One that is a registry.Versioned is asked at every turn
	// whether something changed, so that what another process decides counts from the next
	// turn on. nil = nobody decided anything.
	State   registry.Decider
	Data    []source.Definition // skills given in code
	More    []source.Source     // any other sources
	Builtin fs.FS               // the skills that come with the program; nil = builtin.FS()

	// CacheDir is a folder for what makes the next start fast: the engine keeps an index of
	// large roots in it and reads no unchanged SKILL.md again. Whatever is there may be
	// deleted at any time. "" = nothing is kept.
	CacheDir string
	// Cooldown is how long a turn takes the last look at the folders for recent; 0 = 30
	// seconds, below 0 = turns never look. Blocking makes a turn wait for a look that is due.
	Cooldown time.Duration
	Blocking bool
	// Report is told each finding once a content version of its file; see registry.Config.
	Report func(skill.Diagnostic)

	QuietCopies bool           // leave out the copies_differ warning
	Search      search.Options // parameters of the index
	// Route changes how requests are routed; nil = route.DialectOptions of Dialect.
	Route *route.Options

	Counter catalog.Counter // counts tokens; nil = o200k_base
	Budget  catalog.Budget  // of the catalog; zero = the dialect's rule
	// CatalogMode is where skills are listed; "" = by what fits. catalog.ModeSearch lists
	// none: the model searches before it begins.
	CatalogMode catalog.Mode
	Style       toolset.Style  // how a model starts skills; "" = one at a time
	Tools       []toolset.Tool // the host's own tools, beside those for skills and files
	// Providers bring tools that come and go, such as those of other servers. They are asked
	// when a turn begins, all at once; nothing is asked of them before that.
	Providers []toolset.Provider
	// MaxTools is how many tools a model is shown; the rest is found with tool_search. 0 = 40.
	MaxTools int
	// SkillTools says how the tools for skills show themselves: names, on-demand loading, a
	// runner of scripts. Dialect, Style, Searcher and Tier are the engine's own.
	SkillTools toolset.Options
	// Hooks are the host's own, which come before those of skills; see command.ParseHooks.
	// Those of type command run where Commands.Hooks says so.
	Hooks []command.Hook
	// PluginHooks gives the hooks of plugins that a person agreed to, each with the plugin as
	// its Skill; it is asked as each turn begins. They count as those of a skill. nil = none.
	PluginHooks func(ctx context.Context) []command.Hook
	// PluginStands is asked before each command of such a hook whether the plugin is what was
	// agreed to still; nil = no command of one is run.
	PluginStands func(ctx context.Context, plugin command.SkillRef) bool
	NoFiles      bool // leave out the tools that read and write the workspace

	// AgentTexts gives kinds of agents that the host keeps; they come before those of files.
	// nil = there are none. See Engine.Agents.
	AgentTexts func(ctx context.Context) ([]AgentText, error)

	// Memories keeps the notes of models for later sessions in this workspace; nil = each
	// session has notes of its own, which end with it.
	Memories toolset.Memories

	// Web has models fetch pages of the web; nil = there is no tool for it. Dialect is the
	// engine's own.
	Web *toolset.WebOptions

	// Commands says how what skills want to have run is confined; zero = nothing runs.
	Commands Commands

	// Rules is what the layers of configuration say of tools: what is allowed, asked and
	// denied. Rules for Skill(NAME) say who may start a skill.
	Rules gate.RuleSet

	// Secrets gives the values of the variables that State says are bound to skills; nil =
	// none can be had.
	Secrets Secrets

	// Trees returns the files of a skill as a person saw them when the tree of that digest
	// was granted, to tell later what changed; nil = nobody keeps them.
	Trees func(tree skill.Digest) (skill.Tree, bool)

	// Preference gives a person's preferences by key; asked when a session opens, for its
	// placement: "placement", in dialect minara "computer.backend". nil = there are none.
	Preference func(key string) string
	// Backends are other machines on which tools of sessions run, by name; see
	// SessionOptions.Placement.
	Backends map[string]Backend

	// Scenarios are situations that a person wrote down; off by default.
	Scenarios ScenarioOptions

	// Log is told what happens beside what a caller is told anyway, with the keys category,
	// event, trace_id and session; see LogJSON. nil = nothing is logged.
	Log slog.Handler
	// Observe says to whom turns show how they go; zero = to nobody.
	Observe agent.Observe

	Record gate.Sink // keeps every decision of the gate; nil = they are not kept
	// Grants is consent that a person gave in advance, Confirms keeps the gate's questions;
	// nil = there are those alone that come up, for as long as a session lasts.
	Grants   gate.GrantStore
	Confirms gate.ConfirmStore
	// History keeps what becomes of turns, skills and tool calls; nil = it is not kept.
	History agent.Recorder
	// Uses is told after each turn what it made of the skills, to be counted; an error is
	// logged and fails nothing. nil = nobody counts.
	Uses func(ctx context.Context, uses []agent.Use) error

	// Places are directories that are no sources and that Explain looks at too.
	Places []source.Place
	// Diagnostics are findings about the options themselves, such as those of a
	// configuration file. Every Snapshot holds them.
	Diagnostics []skill.Diagnostic
	Clock       func() time.Time // nil = time.Now
	Rand        io.Reader        // nil = crypto/rand
}

func (o Options) withDefaults() (Options, error) {
	if o.Workspace == "" {
		return o, errors.New("options: workspace is empty")
	}
	if !filepath.IsAbs(o.Workspace) {
		return o, fmt.Errorf("options: workspace %q is not absolute", o.Workspace)
	}
	o.Workspace = filepath.Clean(o.Workspace)
	if o.OS == "" {
		o.OS = runtime.GOOS
	}
	if o.Dialect == "" {
		o.Dialect = skill.Deft
	}
	if o.Route == nil {
		rules := route.DialectOptions(o.Dialect)
		o.Route = &rules
	}
	if o.Builtin == nil {
		o.Builtin = builtin.FS()
	}
	if o.Counter == nil {
		o.Counter = catalog.O200k()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Depth < 0 || o.Depth > maxDepth {
		return o, fmt.Errorf("options: depth %d is not between 1 and %d", o.Depth, maxDepth)
	}
	return o, nil
}

// maxDepth bounds how many group folders lie between a root and a skill.
const maxDepth = 16

// sourceEnv is what the making of sources may know.
func (o Options) sourceEnv() source.Env {
	env := source.Env{
		CheckFileTimes: o.CheckFileTimes, Workspace: o.Workspace, Home: o.Home, DataDir: o.DataDir, Getenv: o.getenv, OS: o.OS,
		External: !o.NoExternal, NoWalkUp: o.NoWalkUp, Clients: o.Clients, Overrides: o.Roots, Plugins: o.Plugins,
		Agent: o.Agent, Legacy: o.MiniMax.LegacyAgents, NoAgent: o.MiniMax.NoAgentFolders,
		LinksOut: o.MiniMax.LinksOutside, Bundled: o.MiniMax.Bundled,
		Format: source.Format{Dialect: o.Dialect, DataDir: o.DataDir}, Now: o.Clock,
		Ceilings: o.Ceilings, Ignore: o.Ignore,
	}
	env.Limits.Depth = o.Depth
	return env
}

// indexDir is where the registry keeps its index.
func (o Options) indexDir() string {
	if o.CacheDir == "" || buildStamp() == "" {
		return ""
	}
	return filepath.Join(o.CacheDir, "index")
}

// searchDir is where the search keeps its index.
func (o Options) searchDir() string { return filepath.Join(o.CacheDir, "search") }

// buildStamp tells this program from one that was built of other code and may read
// headers otherwise; "" where that cannot be told.
func buildStamp() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	st, err := os.Stat(name)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", runtime.Version(), st.Size(), st.ModTime().UnixNano())
}

func (o Options) getenv(name string) string {
	for _, v := range slices.Backward(o.Environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// sources makes every source of the options, in the order of search: what a person
// typed, what the host gives, the roots of this machine, and the built-in skills.
func (o Options) sources(ctx context.Context, env source.Env) ([]source.Source, []skill.Diagnostic) {
	out, diags := source.Expand(ctx, o.Sources, env)
	if len(o.Data) > 0 {
		out = append(out, source.Data(o.Data, source.DataOptions{Format: env.Format}))
	}
	out = append(out, o.More...)
	if o.OnlySources {
		return source.Distinct(out), diags
	}
	roots, more := source.Roots(ctx, env)
	out = append(out, roots...)
	if !o.NoBuiltin {
		out = append(out, o.builtins(env)...)
	}
	return source.Distinct(out), append(diags, more...)
}

// arrivals returns what makes the sources of installed plugins, beside others, at every
// refresh; nil where no plugin counts.
func (o Options) arrivals(env source.Env, others []source.Source) func(context.Context) registry.Arrivals {
	if o.OnlySources {
		return nil
	}
	return func(ctx context.Context) (a registry.Arrivals) {
		if o.Registered != nil {
			env.Plugins = slices.Concat(o.Plugins, o.Registered(ctx))
		}
		var awaited string
		a.Sources, a.Diagnostics, a.Dirs, awaited = source.PluginRoots(env, others)
		if awaited != "" {
			a.Awaited = []string{awaited}
		}
		return a
	}
}

// environment is what the conditions of skills are judged against.
func (o Options) environment(tools []toolset.Tool) skill.Environment {
	var vars, names, sets []string
	for _, v := range o.Environ {
		if name, value, _ := strings.Cut(v, "="); value != "" {
			vars = append(vars, name)
		}
	}
	for _, t := range tools {
		spec := t.Spec()
		names = append(names, spec.Name)
		if spec.Toolset != "" {
			sets = append(sets, spec.Toolset)
		}
	}
	return skill.Environment{
		Vars: skill.NewNameSet(vars...), Tools: o.provided(names, toolset.Provider.Knows), Toolsets: o.provided(sets, isSetOf),
		Servers: o.provided(nil, isNamed), Bins: bins{path: o.getenv("PATH"), ext: o.getenv("PATHEXT")}, OS: o.OS,
	}
}

// bins are the programs on a search path, looked up when asked for.
type bins struct{ path, ext string }

// Has reports whether a program of that name is on the search path.
func (b bins) Has(name string) bool {
	if name == "" || strings.ContainsAny(name, `/\`) {
		return false
	}
	endings := append([]string{""}, filepath.SplitList(strings.ToLower(b.ext))...)
	for _, dir := range filepath.SplitList(b.path) {
		for _, end := range endings {
			info, err := os.Stat(filepath.Join(dir, name+end))
			if err == nil && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || b.ext != "") {
				return true
			}
		}
	}
	return false
}

// Digest identifies the search path, not what is on it: programs that come and go are
// seen by the next Snapshot.
func (b bins) Digest() [32]byte { return sha256.Sum256([]byte(b.path + "\x00" + b.ext)) }
