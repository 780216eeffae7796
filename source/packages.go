package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/skill"
)

// Touched is one directory between a touched file and the workspace that has project
// roots of its own.
type Touched struct {
	Rel     string   // below the workspace, slash-separated
	Dir     string   // absolute
	Sources []Source // its project roots that exist, in table order; pending until somebody decides
}

// Below returns the path of a file relative to the workspace, slash-separated; ok is
// false for one that does not lie below it.
func Below(e Env, file string) (rel string, ok bool) {
	if e.Workspace == "" || strings.IndexByte(file, 0) >= 0 {
		return "", false
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(e.Workspace, file)
	}
	rel, err := filepath.Rel(filepath.Clean(e.Workspace), filepath.Clean(file))
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// TouchedBy returns the directories between a file below the workspace and the
// workspace itself that have project roots, the nearest to the workspace first.
// Directories of the ignore list and those that a link leads out of the workspace are
// left out with all below them. Dialect minimax knows no such roots.
func TouchedBy(e Env, rel string) []Touched {
	if e.Format.Dialect == skill.MiniMax {
		return nil
	}
	w := filepath.Clean(e.Workspace)
	real := resolved(w)
	var out []Touched
	dir, at := w, ""
	for _, name := range strings.Split(rel, "/") {
		dir, at = dir+sep+name, join(at, name)
		if slices.Contains(ignored, name) || slices.Contains(e.Ignore, name) {
			break
		}
		st, err := os.Stat(dir)
		if err != nil || !st.IsDir() || !within(resolved(dir), real) {
			break
		}
		if sources := e.packageRoots(dir, at); len(sources) > 0 {
			out = append(out, Touched{Rel: at, Dir: dir, Sources: sources})
		}
	}
	return out
}

// packageRoots returns the project roots of one directory that exist.
func (e Env) packageRoots(dir, rel string) []Source {
	boundary := Repository(e, dir)
	var out []Source
	for _, row := range rootTable {
		if !strings.HasPrefix(row.dir, "<ws>/") || row.external && !e.External {
			continue
		}
		for _, o := range e.row(row, []string{dir}) {
			if _, err := os.Stat(o.Info.Path); err != nil {
				continue
			}
			o.Info.Package, o.Boundary = rel, boundary
			out = append(out, Dir(o.Info.Path, o))
		}
	}
	return out
}

// AtPackage returns a source of a touched package with another nearness.
func AtPackage(src Source, nearness int) Source {
	return changed(src, func(i *Info) { i.Nearness = nearness })
}
