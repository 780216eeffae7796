package source

import (
	"os"
	"path/filepath"
	"slices"
)

// OffPlaces returns built-in roots that the environment turns off, and the roots of
// other agents, as far as they are no roots of the given sources, for Look: a skill
// found only there is missing because of that.
func OffPlaces(e Env, sources []Source) []Place {
	seen := map[string]bool{}
	for _, s := range sources {
		seen[s.Info().Path] = true
	}
	var out []Place
	add := func(p Place) {
		if p.Path != "" && !seen[p.Path] {
			seen[p.Path] = true
			out = append(out, p)
		}
	}
	levels := Levels(e)
	all := e
	all.External, all.Overrides = true, nil
	for _, row := range rootTable {
		if (row.os != "" && row.os != e.os()) || (row.id == "managed" && managedElsewhere(row, e.os())) {
			continue
		}
		for _, o := range all.row(row, levels) {
			add(Place{Path: o.Info.Path, Code: "source_off", Client: row.id})
		}
	}
	if e.DataDir == "" {
		return out
	}
	agents, _ := os.ReadDir(filepath.Join(e.DataDir, "agents")) // absent or unreadable: nothing is known of others
	for _, a := range slices.DeleteFunc(agents, func(a os.DirEntry) bool { return !a.IsDir() || a.Name() == e.agent() }) {
		add(Place{Path: filepath.Join(e.DataDir, "agents", a.Name(), "skills"), Code: "agent_scope", Client: a.Name()})
	}
	return out
}
