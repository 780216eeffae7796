package source

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
)

// Env is what places depend on. Nothing is taken from the process: two values in
// one process never see each other's skills.
type Env struct {
	Workspace string // absolute working directory; "" = no project roots
	Home      string // "" = no user roots below the home directory
	DataDir   string // deft's data directory; "" = none of its roots
	Getenv    func(string) string
	OS        string // a Go name; "" = the system this runs on
	Agent     string // agent name; blank = main, in dialect minimax mavis

	External  bool                // read the roots of other clients
	NoWalkUp  bool                // project roots of Workspace only
	Ceilings  []string            // directories where the walk-up ends, themselves left out
	Clients   []string            // further clients whose reading places are roots
	Overrides map[string]Override // by id of the root table, without the path; a plugin that is off stays listed
	Plugins   []RegisteredPlugin  // for whom the installed plugins are there
	NoPlugins bool                // leave the installed plugins out of Roots; see PluginRoots

	// The four that only dialect minimax knows.
	Legacy   []string // former names of the agent, whose folders still count
	NoAgent  bool     // leave out the folders of the agent
	Bundled  []string // directories of programs that hold skills and agents/NAME/skills
	LinksOut bool     // links of project roots may leave them

	// CheckFileTimes notices edits of a SKILL.md by its times in dialect mastra, which else
	// looks at names only; the other dialects always do.
	CheckFileTimes bool

	Project bool     // the forms come from a project's settings: no variables, nothing outside the repository
	Ignore  []string // names skipped beside the built-in list

	Format Format
	Limits limits.Scan
	Now    func() time.Time // nil = time.Now
}

// Override changes one row of the root table.
type Override struct {
	Off      bool
	Priority *float64 // nil = the table's
}

func (e Env) os() string {
	if e.OS == "" {
		return runtime.GOOS
	}
	return e.OS
}

func (e Env) agent() string {
	switch name := strings.TrimSpace(e.Agent); {
	case name != "":
		return name
	case e.Format.Dialect == skill.MiniMax:
		return "mavis"
	}
	return "main"
}

func (e Env) getenv(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// mastraGlob is how many components below its base a glob of dialect mastra reaches.
const mastraGlob = 4

// dirOptions returns what every directory source of this environment shares.
func (e Env) dirOptions(i Info) DirOptions {
	f := e.Format
	if f.Dialect == skill.MiniMax {
		f.DataDir = e.minimaxVariable()
	} else if f.DataDir == "" {
		f.DataDir = e.DataDir
	}
	l := e.Limits
	if f.Dialect == skill.Mastra && l.Glob == 0 {
		l.Glob = mastraGlob
	}
	return DirOptions{Info: i, Format: f, Limits: l, Now: e.Now, Ignore: e.Ignore, NamesOnly: f.Dialect == skill.Mastra && !e.CheckFileTimes}
}

// Levels returns the directories whose project roots count for a workspace, nearest
// first: the workspace and its parents up to the first one that holds .git. Without
// a repository it is the workspace alone. The home directory and the ceilings end
// the walk and are not collected, unless the workspace is the home directory; dialect
// minimax knows neither.
func Levels(e Env) []string {
	if strings.TrimSpace(e.Workspace) == "" {
		return nil
	}
	w := filepath.Clean(e.Workspace)
	if e.NoWalkUp {
		return []string{w}
	}
	stops := map[string]bool{}
	for _, c := range append([]string{e.Home}, e.Ceilings...) {
		if c != "" && e.Format.Dialect != skill.MiniMax {
			stops[filepath.Clean(c)] = true
		}
	}
	var levels []string
	for dir := w; len(levels) < e.Limits.WithDefaults().WalkUp; {
		if stops[dir] && dir != w {
			break
		}
		levels = append(levels, dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return levels
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return []string{w}
}

// Repository returns where links of project roots must stay and what a folder's
// trust is bound to: the repository of a directory, or the directory itself.
func Repository(e Env, dir string) string {
	e.Workspace, e.NoWalkUp = dir, false
	levels := Levels(e)
	if len(levels) == 0 {
		return dir
	}
	return levels[len(levels)-1]
}

// expandStart replaces ~, $VAR and ${VAR} at the start of a form.
func (e Env) expandStart(form string) (expanded, unknown string) {
	switch {
	case form == "~" || strings.HasPrefix(form, "~/") || strings.HasPrefix(form, `~\`):
		if e.Home == "" {
			return "", "~"
		}
		return e.Home + form[1:], ""
	case strings.HasPrefix(form, "${"):
		name, rest, ok := strings.Cut(form[2:], "}")
		if v := e.getenv(name); ok && v != "" {
			return v + rest, ""
		}
		return "", "${" + name + "}"
	case strings.HasPrefix(form, "$"):
		end := 1
		for end < len(form) && (form[end] == '_' || form[end] >= '0' && form[end] <= '9' ||
			form[end]|0x20 >= 'a' && form[end]|0x20 <= 'z') {
			end++
		}
		if v := e.getenv(form[1:end]); v != "" {
			return v + form[end:], ""
		}
		return "", form[:end]
	}
	return form, ""
}
