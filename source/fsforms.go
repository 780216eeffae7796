package source

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deftskills/deft/skill"
)

// ExpandFS is Expand for path forms that are read from fsys and from nowhere else: what
// is missing there is missing, whatever lies on the disk. Forms are slash-separated and
// relative to the root of fsys; "." is the root. Locations are project:///path/SKILL.md.
func ExpandFS(ctx context.Context, fsys fs.FS, forms []string, e Env) ([]Source, []skill.Diagnostic) {
	var out []Source
	var diags []skill.Diagnostic
	seen := map[string]bool{}
	id := SameFS(fsys)
	tree := "fs:" + hex.EncodeToString(id[:])
	for _, form := range forms {
		p, refused := formIn(fsys, form, e)
		if refused != nil {
			diags = append(diags, *refused)
			continue
		}
		info := Info{Kind: Project, Trust: Trusted, Priority: formPriority, Origin: "source " + form, ID: "source:" + p, Path: p}
		if e.Format.Dialect == skill.Blade {
			info.Priority = 0 // the weight of the kind
		}
		if kind := kindOfPath(p, e.Format.Dialect); kind != "" {
			info.Kind, info.Priority, info.ID = kind, 0, string(kind)+":"+p
			info.Trust = DefaultTrust(kind)
		}
		if seen[info.ID] {
			continue
		}
		seen[info.ID] = true
		o := e.dirOptions(info)
		src := FS(fsys, o).(*fsSource)
		src.tree = tree
		out = append(out, &fsForm{fsSource: src, path: p})
	}
	return out, diags
}

// formIn cleans a form, or says why it names nothing in a file system.
func formIn(fsys fs.FS, form string, e Env) (p string, refused *skill.Diagnostic) {
	refuse := func(format string, args ...any) (string, *skill.Diagnostic) {
		d := finding("path_missing", form, format, args...)
		return "", &d
	}
	p = form
	if e.os() == "windows" {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	if p == "" || strings.IndexByte(p, 0) >= 0 {
		return refuse("path is empty or holds a NUL")
	}
	absolute := path.IsAbs(p) || filepath.IsAbs(p)
	p = path.Clean(p)
	if !absolute && (isGlob(p) || fs.ValidPath(p)) && p != ".." && !strings.HasPrefix(p, "../") {
		return p, nil
	}
	if rel := strings.TrimLeft(p, "/"); absolute && fs.ValidPath(rel) {
		if _, err := fs.Stat(fsys, rel); err == nil {
			return refuse("Cannot access skills path %q (did you mean to use the relative path %q?)", form, rel)
		}
	}
	return refuse("Cannot access skills path %q", form)
}

// kindOfPath returns the kind that the segments of a path give it, "" for none. Names
// are compared whole.
func kindOfPath(p string, d skill.Dialect) Kind {
	segments := strings.Split(filepath.ToSlash(p), "/")
	for i, seg := range segments {
		switch {
		case seg == "node_modules" || seg == "vendor" && d != skill.Mastra:
			return Package
		case d == skill.Mastra && seg == ".mastra" && i+1 < len(segments) && segments[i+1] == "skills":
			return Managed
		}
	}
	return ""
}

// fsForm reads one path form of a file system; what it is, is judged at each scan.
type fsForm struct {
	*fsSource
	path string
}

func (s *fsForm) with(change func(*Info)) Source {
	return &fsForm{s.fsSource.with(change).(*fsSource), s.path}
}

// Scan judges the form and reads what it names. See Source.
func (s *fsForm) Scan(ctx context.Context, prev *Listing) (*Listing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := s.o
	w := &walker{o: &o, src: s, ctx: ctx, out: &Listing{Complete: true}, deadline: o.Now().Add(o.Limits.Time)}
	w.former.remember(prev)
	var err error
	if isGlob(s.path) {
		err = s.glob(w)
	} else {
		err = s.plain(w)
	}
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.finish(w), nil
}

func (s *fsForm) plain(w *walker) error {
	rel := s.path
	st, err := fs.Stat(s.fsys, rel)
	switch {
	case errors.Is(err, ErrContract):
		return fmt.Errorf("source %q: %w", s.o.Info.ID, err)
	case errors.Is(err, fs.ErrNotExist):
		w.out.Diagnostics = append(w.out.Diagnostics, missingForm(rel, s.o.Format.Dialect))
		return nil
	case err != nil:
		w.unreadableRoot(rel, err)
		return nil
	case !st.IsDir():
		if base := path.Base(rel); base != SkillFile && (w.rule().exact || !strings.EqualFold(base, SkillFile)) {
			w.note("path_missing", rel, "path %q is neither a directory nor a %s", rel, SkillFile)
			return nil
		}
		w.o.One, rel = true, path.Dir(rel)
	default:
		w.o.One = s.holdsSkill(w, rel)
	}
	w.walkRoot(placeIn(s.fsys, rel))
	return nil
}

func (s *fsForm) holdsSkill(w *walker, rel string) bool {
	items, _, err := fsTree{s.fsys}.list(placeIn(s.fsys, rel).rel, w.o.Limits.NameBytes)
	var names []string
	for _, it := range items {
		if it.typ != typeDir {
			names = append(names, it.name)
		}
	}
	picked, _ := PickSkillFile(names, w.o.Format.Dialect)
	return err == nil && picked != ""
}

func (s *fsForm) glob(w *walker) error {
	base := "."
	if i := strings.LastIndexByte(s.path[:strings.IndexAny(s.path, globMeta)], '/'); i > 0 {
		base = s.path[:i]
	}
	if !doublestar.ValidatePattern(s.path) || braceExpansions(s.path) > w.o.Limits.Braces {
		w.note("path_glob", s.path, "pattern %q is not valid or its braces expand to more than %d", s.path, w.o.Limits.Braces)
		return nil
	}
	_, err := fs.Stat(s.fsys, base)
	switch {
	case errors.Is(err, ErrContract):
		return fmt.Errorf("source %q: %w", s.o.Info.ID, err)
	case err != nil:
		w.note("path_missing", base, "path %q does not exist", base)
		return nil
	}
	g := globWalk{w: w, pattern: s.path, taken: map[string]bool{}}
	g.walk(placeIn(s.fsys, base), 0)
	w.out.Stats.FilesRead += int(w.read.Load())
	w.uniqueDirs()
	return nil
}

// placeIn is a directory of a file system. Its paths begin with a slash.
func placeIn(fsys fs.FS, rel string) place {
	if rel == "." {
		return place{t: fsTree{fsys}}
	}
	dir := sep + filepath.FromSlash(rel)
	return place{t: fsTree{fsys}, rel: rel, dir: dir, real: dir}
}

// finish gives the entries of a walk over a file system their addresses: they have no
// directory on the disk.
func (s *fsSource) finish(w *walker) *Listing {
	for i, e := range w.out.Entries {
		if e.inner != "" { // taken over from the former listing
			continue
		}
		c := *e
		c.tree = s.tree
		c.inner = strings.TrimPrefix(filepath.ToSlash(c.Dir), "/")
		c.Location = string(s.o.Info.Kind) + ":///" + escapePath(c.inner) + "/" + escapePath(c.File)
		if id, ok := s.versions[c.inner]; ok {
			c.Location = "version:///" + escapePath(c.inner+"@"+id) + "/" + escapePath(c.File)
		}
		c.Dir, c.RealDir = "", ""
		w.out.Entries[i] = &c
	}
	w.out.Dirs, w.out.Awaited = nil, nil // nothing of the disk to watch
	sortEntries(w.out.Entries)
	return w.out
}

// Path returns where the skill lies, slash-separated and without its file: on the disk
// its directory, in a file system the path below its root, and inline/NAME for a skill
// given in code.
func (e *Entry) Path() string {
	switch {
	case e.Dir != "":
		return filepath.ToSlash(e.Dir)
	case strings.HasPrefix(e.Location, "data:"):
		return "inline/" + e.inner
	}
	return e.inner
}

// Tree returns which file system a skill of path forms lies in, and where; "" for one on
// the disk or in a tree of its own.
func (e *Entry) Tree() (tree, dir string) { return e.tree, e.inner }

// Paths returns every path of the skill: Path and the aliases, sorted.
func (e *Entry) Paths() []string {
	out := append([]string{e.Path()}, e.Aliases...)
	slices.Sort(out)
	return slices.Compact(out)
}
