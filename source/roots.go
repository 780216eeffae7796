package source

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/skill"
)

// rootRow is one built-in root. In dir, <ws> is each level of the walk-up, <data>
// the data directory, <agent> the agent's name, ~ the home directory; the first of
// vars that is set replaces base, the part of dir before its last segment.
type rootRow struct {
	id, dir  string
	kind     Kind
	priority float64
	client   string
	vars     []string
	external bool          // belongs to another client
	os       string        // only there; "" = everywhere
	dialect  skill.Dialect // only in it; "" = in all
}

// rootTable is the one list of built-in roots, in the order of configuration.
var rootTable = [...]rootRow{
	{id: "managed", dir: "/Library/Application Support/deft/skills", kind: Managed, os: "darwin"},
	{id: "managed", dir: "deft/skills", vars: []string{"ProgramData"}, kind: Managed, os: "windows"},
	{id: "managed", dir: "/etc/deft/skills", kind: Managed},
	{id: "workspace-deft", dir: "<ws>/.deft/skills", kind: Project, priority: 70},
	{id: "workspace-minimax", dir: "<ws>/.minimax/skills", kind: Project, priority: 65, client: "minimax", external: true},
	{id: "workspace-cc", dir: "<ws>/.claude/skills", kind: Project, priority: 60, client: "claude-code", external: true},
	{id: "workspace-agents", dir: "<ws>/.agents/skills", kind: Project, priority: 55, external: true},
	{id: "workspace-codex", dir: "<ws>/.codex/skills", kind: Project, priority: 50, client: "codex", external: true},
	{id: "agent-user", dir: "<data>/agents/<agent>/skills", kind: Agent, priority: 100},
	{id: "user-external", dir: "<data>/external", kind: User, priority: 52, dialect: skill.Minara},
	{id: "user-deft", dir: "<data>/skills", kind: User, priority: 50},
	{id: "user-cc", dir: "~/.claude/skills", vars: []string{"CLAUDE_CONFIG_DIR"}, kind: User, priority: 40, client: "claude-code", external: true},
	{id: "user-codex", dir: "~/.codex/skills", vars: []string{"CODEX_HOME"}, kind: User, priority: 35, client: "codex", external: true},
	{id: "user-agents", dir: "~/.agents/skills", kind: User, priority: 30, external: true},
	{id: "user-minimax", dir: "~/.minimax-code/skills", vars: []string{"MINIMAX_DATA_DIR", "MAVIS_DATA_DIR"}, kind: User, priority: 25, client: "minimax", external: true},
}

// Priorities of the reading places of clients that Env.Clients names.
const (
	clientProjectPriority = 20
	clientUserPriority    = 10
)

// overrideAliases are former ids of rows; the new id wins.
var overrideAliases = map[string]string{"user-cc": "user-claude", "workspace-cc": "workspace-claude"}

// Roots returns the built-in roots of an environment in table order, those of
// Env.Clients and the installed plugins after them. A project root that is really a
// user, agent or managed root counts as that one; a directory that two rows of one
// kind name counts once.
// Roots that do not exist are returned too: they may appear later.
func Roots(ctx context.Context, e Env) ([]Source, []skill.Diagnostic) {
	if e.Format.Dialect == skill.MiniMax {
		var out []Source
		for _, o := range e.minimaxRoots() {
			out = append(out, Dir(o.Info.Path, o))
		}
		plugins, diags := e.pluginRoots()
		return append(out, plugins...), diags
	}
	if own := implicit[e.Format.Dialect]; own != nil {
		return own(e), nil
	}
	levels := Levels(e)
	var roots []DirOptions
	for _, row := range rootTable {
		if (row.os != "" && row.os != e.os()) || row.dialect != "" && row.dialect != e.Format.Dialect || (row.external && !e.External) || (row.id == "managed" && managedElsewhere(row, e.os())) {
			continue
		}
		roots = append(roots, e.row(row, levels)...)
	}
	clientRoots, diags := e.clientRoots(levels)
	roots = mergeRoots(append(roots, clientRoots...))
	var all []string
	for _, r := range roots {
		// A root of the project stays in the repository by itself, or counts for no link:
		// else every root that leads outside would allow itself.
		if r.Info.Kind != Project {
			all = append(all, r.Info.Path)
		}
	}
	out := make([]Source, len(roots))
	for i, r := range roots {
		if r.Info.Kind == Project {
			r.Roots, r.Boundary = all, levels[len(levels)-1]
		}
		out[i] = Dir(r.Info.Path, r)
	}
	plugins, more := e.pluginRoots()
	return append(out, plugins...), append(diags, more...)
}

func managedElsewhere(row rootRow, os string) bool {
	return row.os == "" && (os == "darwin" || os == "windows")
}

// row returns the directories of one row: one a level, or one.
func (e Env) row(row rootRow, levels []string) []DirOptions {
	info := Info{ID: row.id, Kind: row.kind, Priority: row.priority, Client: row.client, Origin: "built-in root " + row.id}
	o := e.override(row.id)
	if o.Off {
		return nil
	}
	if o.Priority != nil {
		info.Priority = *o.Priority
	}
	if rest, ok := strings.CutPrefix(row.dir, "<ws>/"); ok {
		return e.perLevel(info, rest, levels)
	}
	dir := e.fixed(row)
	if dir == "" {
		return nil
	}
	if row.kind == Agent {
		info.ID, info.Agent = row.id+":"+e.agent(), e.agent()
	}
	info.Path = dir
	return []DirOptions{e.dirOptions(info)}
}

// override returns what changes a row, under its former id too.
func (e Env) override(id string) Override {
	o, set := e.Overrides[id]
	if !set {
		o = e.Overrides[overrideAliases[id]]
	}
	return o
}

func (e Env) perLevel(info Info, rest string, levels []string) []DirOptions {
	var out []DirOptions
	for i, level := range levels {
		at := info
		at.ID, at.Nearness = info.ID+":"+level, i
		at.Path = filepath.Join(level, filepath.FromSlash(rest))
		out = append(out, e.dirOptions(at))
	}
	return out
}

// fixed returns the directory of a row that has one, "" where it has none.
func (e Env) fixed(row rootRow) string {
	base, last, _ := cutLast(row.dir)
	for _, v := range row.vars {
		if set := e.getenv(v); set != "" {
			if row.os != "" { // the variable stands before the whole of dir
				return filepath.Join(set, filepath.FromSlash(row.dir))
			}
			base = set
			break
		}
	}
	dir := base + "/" + last
	for _, r := range [...][2]string{{"<data>", e.DataDir}, {"~", e.Home}, {"<agent>", e.agent()}} {
		if !strings.Contains(dir, r[0]) {
			continue
		}
		if r[1] == "" {
			return ""
		}
		dir = strings.Replace(dir, r[0], r[1], 1)
	}
	if !filepath.IsAbs(filepath.FromSlash(dir)) {
		return ""
	}
	return filepath.Clean(filepath.FromSlash(dir))
}

func cutLast(p string) (base, last string, ok bool) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p, false
	}
	return p[:i], p[i+1:], true
}

// mergeRoots keeps one source for one real directory: a project root that another
// kind of root reaches is that root, and equal kinds count once. The other path
// becomes an alias.
func mergeRoots(roots []DirOptions) []DirOptions {
	strong := map[string]int{} // real path → index of the root that is not of a project
	reals := make([]string, len(roots))
	for i, r := range roots {
		reals[i] = r.Info.Path
		if real, err := filepath.EvalSymlinks(r.Info.Path); err == nil {
			reals[i] = real
		}
		if _, taken := strong[reals[i]]; !taken && r.Info.Kind != Project {
			strong[reals[i]] = i
		}
	}
	type key struct {
		kind        Kind
		real, agent string
	}
	first := map[key]int{}
	drop := make([]bool, len(roots))
	for i, r := range roots {
		k := key{r.Info.Kind, reals[i], r.Info.Agent}
		keep, twice := first[k]
		if s, ok := strong[reals[i]]; ok && r.Info.Kind == Project {
			keep, twice = s, true
		}
		if !twice {
			first[k] = i
			continue
		}
		drop[i] = true
		if a := r.Info.Path; a != roots[keep].Info.Path && !slices.Contains(roots[keep].Aliases, a) {
			roots[keep].Aliases = append(roots[keep].Aliases, a)
		}
	}
	var out []DirOptions
	for i, r := range roots {
		if !drop[i] {
			out = append(out, r)
		}
	}
	return out
}

// implicit are the dialects whose roots are no table: mastra reads configured paths
// alone, blade the skills folder of the workspace itself.
var implicit = map[skill.Dialect]func(Env) []Source{
	skill.Mastra: func(Env) []Source { return nil },
	skill.Blade: func(e Env) []Source {
		if e.Workspace == "" {
			return nil
		}
		dir := filepath.Join(e.Workspace, "skills")
		return []Source{Dir(dir, e.dirOptions(Info{ID: "project", Kind: Project, Path: dir, Origin: "built-in root project"}))}
	},
}
