package source

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/skill"
)

// clientsTSV lists where the known clients read and write skills: client, scope,
// directory, notes. A row whose notes begin with "read" is a reading place.
//
//go:embed clients.tsv
var clientsTSV string

// ClientDir is one row of the list of clients.
type ClientDir struct {
	Client, Scope, Dir, Notes string
}

// ClientDirs returns the list of the directories of the known clients.
func ClientDirs() []ClientDir {
	var out []ClientDir
	for i, line := range strings.Split(strings.TrimRight(clientsTSV, "\n"), "\n") {
		f := strings.Split(line, "\t")
		if i > 0 && len(f) == 4 {
			out = append(out, ClientDir{f[0], f[1], f[2], f[3]})
		}
	}
	return out
}

// reads says whether a row is a reading place that a path alone describes.
func (c ClientDir) reads() bool {
	return strings.HasPrefix(c.Notes, "read") && (c.Scope == "project" || c.Scope == "user") &&
		!strings.ContainsAny(c.Dir, "<>*[]%:,() ")
}

// places returns the directories of a row: one a level for a project's, one for a user's.
func (c ClientDir) places(e Env, levels []string) []string {
	dir := strings.TrimSuffix(strings.ReplaceAll(c.Dir, `\`, "/"), "/")
	if c.Scope == "project" {
		var out []string
		for _, l := range levels {
			out = append(out, filepath.Join(l, filepath.FromSlash(dir)))
		}
		return out
	}
	if rest, ok := strings.CutPrefix(dir, "$XDG_CONFIG_HOME"); ok && e.getenv("XDG_CONFIG_HOME") == "" {
		dir = "~/.config" + rest
	}
	dir, unknown := e.expandStart(dir)
	if unknown != "" || !filepath.IsAbs(filepath.FromSlash(dir)) {
		return nil
	}
	return []string{filepath.Clean(filepath.FromSlash(dir))}
}

// clientRoots returns the roots of the clients that the environment names.
func (e Env) clientRoots(levels []string) ([]DirOptions, []skill.Diagnostic) {
	if len(e.Clients) == 0 {
		return nil, nil
	}
	var out []DirOptions
	known := map[string]bool{}
	for _, c := range ClientDirs() {
		known[c.Client] = true
		if !slices.Contains(e.Clients, c.Client) || !c.reads() {
			continue
		}
		for i, dir := range c.places(e, levels) {
			info := Info{
				ID: "client:" + c.Client + ":" + dir, Kind: User, Priority: clientUserPriority,
				Client: c.Client, Path: dir, Origin: "client " + c.Client,
			}
			if c.Scope == "project" {
				info.Kind, info.Priority, info.Nearness = Project, clientProjectPriority, i
			}
			out = append(out, e.dirOptions(info))
		}
	}
	var diags []skill.Diagnostic
	for _, c := range e.Clients {
		if !known[c] {
			diags = append(diags, finding("client_unknown", c, "client %q is not in the list of known clients", c))
		}
	}
	return out, diags
}

// ClientPlaces returns the reading places of every known client that are no roots
// of the given sources, for Look: a skill found only there is elsewhere.
func ClientPlaces(e Env, sources []Source) []Place {
	seen := map[string]bool{}
	for _, s := range sources {
		seen[s.Info().Path] = true
	}
	var out []Place
	levels := Levels(e)
	for _, c := range ClientDirs() {
		if !c.reads() {
			continue
		}
		for _, dir := range c.places(e, levels) {
			if !seen[dir] {
				seen[dir] = true
				out = append(out, Place{Path: dir, Code: "elsewhere", Client: c.Client})
			}
		}
	}
	return out
}
