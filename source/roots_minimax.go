package source

import (
	"path/filepath"
	"strings"

	"github.com/deftskills/deft/skill"
)

// minimaxTable is the one list of roots of dialect minimax, in their order. <bundle>
// is each directory of Env.Bundled. Rows of a level stand together, nearest level first.
var minimaxTable = [...]rootRow{
	{id: "workspace-minimax", dir: "<ws>/.minimax/skills", kind: WorkspaceK, priority: 65, external: true},
	{id: "workspace-cc", dir: "<ws>/.claude/skills", kind: WorkspaceK, priority: 60, external: true},
	{id: "workspace-agents", dir: "<ws>/.agents/skills", kind: WorkspaceK, priority: 55, external: true},
	{id: "user-cc", dir: "~/.claude/skills", kind: User, priority: 40, external: true},
	{id: "user-codex", dir: "~/.codex/skills", kind: User, priority: 35, external: true},
	{id: "user-agents", dir: "~/.agents/skills", kind: User, priority: 30, external: true},
	{id: "agent-user", dir: "<data>/agents/<agent>/skills", kind: Agent, priority: 100},
	{id: "user-global", dir: "<data>/skills", kind: Global},
	{id: "builtin-seeded", dir: "<data>/.builtin-skills", kind: Builtin, priority: 20},
	{id: "builtin-agent", dir: "<bundle>/agents/<agent>/skills", kind: Builtin, priority: 10},
	{id: "builtin-global", dir: "<bundle>/skills", kind: Builtin},
}

const (
	externalPrefix = "external:" // of ids of folders that other programs own
	legacyPriority = 90          // of an agent's folder under a former name
	levelBonus     = 1000        // one level nearer counts a thousandth of priority
)

// DataDir returns the data directory of the environment's dialect: that of MiniMax
// Code for dialect minimax, else Env.DataDir. "" = there is none.
func DataDir(e Env) string {
	if e.Format.Dialect != skill.MiniMax {
		return e.DataDir
	}
	if dir := e.minimaxVariable(); dir != "" {
		return dir
	}
	if e.Home == "" {
		return ""
	}
	return filepath.Join(e.Home, ".minimax-code")
}

// minimaxVariable is the data directory that a variable names; the placeholder
// {{DATA_DIR}} is replaced only then.
func (e Env) minimaxVariable() string {
	for _, name := range [...]string{"MINIMAX_DATA_DIR", "MAVIS_DATA_DIR"} {
		if dir := e.getenv(name); dir != "" {
			return dir
		}
	}
	return ""
}

// minimaxRoots returns the roots of dialect minimax. A directory counts once for one
// kind and agent; under two kinds it counts twice.
func (e Env) minimaxRoots() []DirOptions {
	e.DataDir = DataDir(e)
	levels := Levels(e)
	var out []DirOptions
	for i, level := range levels {
		for _, row := range minimaxTable {
			if rest, ok := strings.CutPrefix(row.dir, "<ws>/"); ok {
				dir := filepath.Join(level, filepath.FromSlash(rest))
				out = e.minimaxRow(out, row, dir, ":"+level, float64(len(levels)-i)/levelBonus, i)
			}
		}
	}
	for _, row := range minimaxTable {
		for n, dir := range e.minimaxDirs(row) {
			out = e.minimaxRow(out, row, dir, "", 0, n)
		}
	}
	type key struct {
		kind        Kind
		path, agent string
	}
	seen := map[key]bool{}
	var unique []DirOptions
	for _, o := range out {
		k := key{o.Info.Kind, o.Info.Path, o.Info.Agent}
		if !seen[k] {
			seen[k] = true
			unique = append(unique, o)
		}
	}
	return unique
}

// minimaxDirs returns the directories of a row that has no levels, the canonical first.
func (e Env) minimaxDirs(row rootRow) []string {
	if strings.HasPrefix(row.dir, "<ws>/") {
		return nil
	}
	names := []string{e.agent()}
	if strings.Contains(row.dir, "<agent>") {
		if e.NoAgent {
			return nil
		}
		if row.kind == Agent {
			names = append(names, e.Legacy...)
		}
	}
	bundles := []string{""}
	if strings.HasPrefix(row.dir, "<bundle>/") {
		bundles = e.Bundled
	}
	var dirs []string
	for _, bundle := range bundles {
		for _, name := range names {
			dir := row
			dir.dir = strings.Replace(strings.Replace(row.dir, "<bundle>", filepath.ToSlash(bundle), 1), "<agent>", name, 1)
			if d := e.fixed(dir); d != "" {
				dirs = append(dirs, d)
			}
		}
	}
	return dirs
}

// minimaxRow adds one root. n counts levels for rows that have them, directories else.
func (e Env) minimaxRow(out []DirOptions, row rootRow, dir, suffix string, bonus float64, n int) []DirOptions {
	o := e.override(row.id)
	if o.Off || row.external && !e.External {
		return out
	}
	info := Info{ID: row.id + suffix, Kind: row.kind, Priority: row.priority, Path: dir, Origin: "built-in root " + row.id}
	if strings.Contains(row.dir, "<agent>") {
		info.Agent = e.agent()
		info.ID += ":" + e.agent()
	}
	switch {
	case bonus > 0:
		info.Nearness = n
	case row.kind == Agent && n > 0:
		info.ID, info.Legacy, info.Priority = row.id+":"+filepath.Base(filepath.Dir(dir)), true, legacyPriority
	case n > 0:
		info.ID += ":" + dir
	}
	if row.external {
		info.ID = externalPrefix + info.ID
	}
	if o.Priority != nil {
		info.Priority = *o.Priority
	}
	info.Priority += bonus
	if row.kind == WorkspaceK && e.LinksOut {
		info.Links = LinksLeave
	}
	return append(out, e.dirOptions(info))
}
