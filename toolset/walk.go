package toolset

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

const (
	maxHits  = 1000    // hits of glob and grep that are shown
	maxVisit = 200_000 // files and folders that one call looks at
)

// walk calls visit for the files below start that no ignore file leaves out, in
// order of their names. Links, .git and folders that no tool may read are not
// entered; visit asks refuses for the files that it wants to show, since asking for
// every file would cost more than the walk. complete is false where the limit ended it.
func (w *workspace) walk(ctx context.Context, fsys fs.FS, start string, visit func(rel string) error) (complete bool, err error) {
	rules := ignores{}
	for dir := start; ; dir = path.Dir(dir) {
		rules.load(fsys, dir)
		if dir == "." {
			break
		}
	}
	seen := 0
	err = fs.WalkDir(fsys, start, func(rel string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if rel == start {
				return err
			}
			return nil // one folder that cannot be read must not hide the others
		}
		if seen++; seen > maxVisit {
			return fs.SkipAll
		}
		if rel != start && (d.Name() == ".git" || rules.match(rel, d.IsDir())) || d.IsDir() && w.refuses(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			if rel != start {
				rules.load(fsys, rel)
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return visit(rel)
	})
	return seen <= maxVisit, err
}

// refuses reports whether no tool may read the file.
func (w *workspace) refuses(rel string) bool {
	return w.denied != nil && w.denied(filepath.Join(w.dir, filepath.FromSlash(rel)))
}

// more is the last line of an answer that is not complete.
func more(hits int, complete bool) string {
	var b strings.Builder
	if n := hits - maxHits; n > 0 {
		b.WriteString("\n… ")
		b.WriteString(plural(n, "more"))
	}
	if !complete {
		b.WriteString("\n[the search ended early: too many files; name a narrower folder]")
	}
	return b.String()
}
