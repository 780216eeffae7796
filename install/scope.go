package install

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/source"
)

// Scope is one place that skills are installed in, with its lock file.
type Scope struct {
	Name   string // project, user or deft
	Root   string // what relative paths of its records are relative to
	Skills string // the folder of the canonical copies
	Lock   string
	// Minara has skills called by their id, and a record as that system writes it beside ours.
	Minara bool
	// MiniMax holds names to that system's form and keeps its ledger; Agent is whose folder it
	// is, "" = of all.
	MiniMax bool
	Agent   string
	// Plugin, NAME@MARKET, says that the folder holds the versions of this plugin.
	Plugin string
	Public string // a lock file of other installers, brought along where it is there; "" = none
}

// Project is the scope of a work tree.
func Project(root string) Scope {
	return Scope{Name: "project", Root: root, Skills: filepath.Join(root, ".agents", "skills"), Lock: filepath.Join(root, LockFile), Public: filepath.Join(root, publicProject)}
}

// User is the scope of a person: data is deft's data directory, public the folder of the
// lock file of other installers.
func User(home, data, public string) Scope {
	return Scope{
		Name: "user", Root: home, Skills: filepath.Join(home, ".agents", "skills"), Lock: filepath.Join(data, LockFile),
		Public: filepath.Join(public, publicUser),
	}
}

// Own is the scope of skills for deft alone.
func Own(data string) Scope {
	return Scope{Name: "deft", Root: data, Skills: filepath.Join(data, "skills"), Lock: filepath.Join(data, "own-"+LockFile)}
}

// External is the scope of dialect minara: packages below external/ID.
func External(data string) Scope {
	return Scope{Name: "external", Root: data, Skills: filepath.Join(data, "external"), Lock: filepath.Join(data, "external-"+LockFile), Minara: true}
}

// Agent is a client into whose folders skills are linked.
type Agent struct {
	ID      string
	Project string // relative to a work tree; "" = it has none
	User    string // relative to the home, or absolute
}

// Agents lists the clients that the table of clients has as targets, by id. expand turns
// "~" and variables into a path, "" where a variable is not set.
func Agents(expand func(dir string) string) []Agent {
	var out []Agent
	for _, row := range source.ClientDirs() {
		if row.Notes != "install target" {
			continue
		}
		i := slices.IndexFunc(out, func(a Agent) bool { return a.ID == row.Client })
		if i < 0 {
			i = len(out)
			out = append(out, Agent{ID: row.Client})
		}
		dir := strings.TrimSuffix(row.Dir, "/")
		switch row.Scope {
		case "project":
			out[i].Project = dir
		case "user":
			out[i].User = expand(dir)
		}
	}
	slices.SortFunc(out, func(a, b Agent) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// links are the entries of a skill in the folders of agents, each once. A folder that is
// the scope's own, or leads to it, has the skill already.
func (s Scope) links(agents []Agent, name string) (out []Link) {
	seen := map[string]bool{resolved(s.Skills): true}
	for _, a := range agents {
		dir := a.dir(s)
		if real := resolved(dir); dir != "" && !seen[real] {
			seen[real] = true
			out = append(out, Link{a.ID, filepath.Join(dir, name)})
		}
	}
	return out
}

// resolved is a path without links, as far as it exists.
func resolved(at string) string {
	if real, err := filepath.EvalSymlinks(at); err == nil {
		return real
	}
	if up := filepath.Dir(at); up != at {
		return filepath.Join(resolved(up), filepath.Base(at))
	}
	return at
}

// leavesRoot names a folder that a link in a work tree leads out of it, "" for none. A
// work tree comes with a clone: it must not choose where in the home something is written.
func (s Scope) leavesRoot(links []Link) string {
	if s.Name != "project" {
		return ""
	}
	for _, at := range append([]Link{{Path: filepath.Join(s.Skills, "x")}}, links...) {
		if dir := filepath.Dir(at.Path); s.without(dir) {
			return dir
		}
	}
	return ""
}

// without reports whether a folder lies out of the root, whatever its name says.
func (s Scope) without(dir string) bool {
	rel, err := filepath.Rel(resolved(s.Root), resolved(dir))
	return err != nil || !filepath.IsLocal(rel)
}

// dir is where an agent keeps the skills of a scope, "" where it keeps none.
func (a Agent) dir(s Scope) string {
	if s.Name == "project" {
		if a.Project == "" {
			return ""
		}
		return filepath.Join(s.Root, filepath.FromSlash(a.Project))
	}
	return a.User
}
