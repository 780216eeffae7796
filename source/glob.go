package source

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deftskills/deft/skill"
)

// scanGlob walks from the static part of a pattern and takes what matches: a
// SKILL.md, or a directory that is a skill or holds skills. Links to directories are
// not followed on the way; the ignore list prunes.
func (s *formSource) scanGlob(ctx context.Context, prev *Listing) (*Listing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := s.o
	base := staticPart(o.Info.Path)
	pattern := strings.TrimPrefix(filepath.ToSlash(o.Info.Path[len(base):]), "/")
	empty := &Listing{Complete: true}
	if !doublestar.ValidatePattern(pattern) {
		empty.Diagnostics = append(empty.Diagnostics, finding("path_glob", o.Info.Path, "pattern %q is not valid", pattern))
		return empty, nil
	}
	if n := braceExpansions(pattern); n > o.Limits.Braces {
		empty.Diagnostics = append(empty.Diagnostics, finding("path_glob", o.Info.Path,
			"braces of the pattern expand to %d; the limit is %d", n, o.Limits.Braces))
		return empty, nil
	}
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		empty.Diagnostics = append(empty.Diagnostics, finding("path_missing", base, "path %q does not exist", base))
		return empty, nil
	}
	d := Dir(base, o).(*dirSource)
	d.o.Info = s.o.Info
	w := &walker{o: &d.o, src: s, ctx: ctx, out: &Listing{Complete: true}, deadline: d.o.Now().Add(o.Limits.Time)}
	w.former.remember(prev)
	t, err := openTree(real)
	if err != nil {
		w.unreadableRoot(base, err)
		return w.out, nil
	}
	defer t.close()
	g := globWalk{w: w, pattern: pattern, taken: map[string]bool{}}
	g.walk(place{t: t, dir: base, real: real}, 0)
	w.follow()
	w.out.Stats.FilesRead += int(w.read.Load())
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.uniqueDirs()
	return w.finish(), nil
}

type globWalk struct {
	w       *walker
	pattern string
	taken   map[string]bool // directories whose skill was taken
}

func (g *globWalk) walk(p place, depth int) {
	w := g.w
	if w.stop() || depth >= w.o.Limits.Glob {
		return
	}
	w.out.Stats.Directories++
	items, cut, err := p.t.list(p.rel, w.o.Limits.NameBytes)
	if err != nil {
		w.note("root_unreadable", p.dir, "directory %q cannot be read: %v", p.dir, cause(err))
		return
	}
	if cut {
		w.out.Complete = false
		w.note("limit_walk", p.dir, "names of %q take more than %d bytes; the rest is not listed", p.dir, w.o.Limits.NameBytes)
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.name, b.name) })
	g.files(p, items)
	for _, it := range items {
		if w.stop() {
			return
		}
		if it.typ != typeDir && it.typ != typeLink || w.ignores(it.name) {
			continue
		}
		c := p.child(it.name)
		match, _ := doublestar.Match(g.pattern, c.rel)
		switch {
		case it.typ == typeLink && match && !strings.EqualFold(it.name, SkillFile):
			c.depth = 0
			w.links = append(w.links, c)
		case it.typ == typeLink:
		case match && !g.taken[c.dir]:
			g.directory(c)
			g.walk(c, depth+1)
		default:
			g.walk(c, depth+1)
		}
	}
}

// files takes the skill file of p where the pattern matches one.
func (g *globWalk) files(p place, items []item) {
	var names []string
	for _, it := range items {
		if it.typ != typeDir && strings.EqualFold(it.name, SkillFile) {
			ok, _ := doublestar.Match(g.pattern, join(p.rel, it.name))
			canonical, _ := doublestar.Match(g.pattern, join(p.rel, SkillFile)) // a variant of the name counts as the name
			if ok || canonical {
				names = append(names, it.name)
			}
		}
	}
	if name, _ := PickSkillFile(names, g.w.o.Format.Dialect); name != "" && !g.taken[p.dir] {
		g.taken[p.dir] = true
		g.skill(p, name)
	}
}

func (g *globWalk) skill(p place, name string) {
	stamp, typ, err := p.t.look(join(p.rel, name))
	if err == nil && typ == typeLink {
		g.w.followFile(p, name)
		return
	}
	g.w.take(p, g.w.load(p, name, stamp, typ, err))
}

// directory takes a matching directory: one skill, or a root of skills.
func (g *globWalk) directory(p place) {
	p.depth = 0
	items, _, err := p.t.list(p.rel, g.w.o.Limits.NameBytes)
	if err != nil {
		return
	}
	var names []string
	for _, it := range items {
		if it.typ != typeDir {
			names = append(names, it.name)
		}
	}
	if name, _ := PickSkillFile(names, g.w.o.Format.Dialect); name != "" {
		g.taken[p.dir] = true
		g.skill(p, name)
		return
	}
	g.w.walk(p)
}

// uniqueDirs keeps one entry for a directory that two matches reached.
func (w *walker) uniqueDirs() {
	seen := map[string]bool{}
	w.out.Entries = slices.DeleteFunc(w.out.Entries, func(e *Entry) bool {
		twice := seen[e.Dir]
		seen[e.Dir] = true
		return twice
	})
	said := map[skill.Diagnostic]bool{}
	w.out.Diagnostics = slices.DeleteFunc(w.out.Diagnostics, func(d skill.Diagnostic) bool {
		twice := said[d]
		said[d] = true
		return twice
	})
}

// braceExpansions counts what the braces of a pattern expand to.
func braceExpansions(pattern string) int {
	total := 1
	var alternatives []int
	for _, r := range pattern {
		switch r {
		case '{':
			alternatives = append(alternatives, 1)
		case ',':
			if n := len(alternatives); n > 0 {
				alternatives[n-1]++
			}
		case '}':
			if n := len(alternatives); n > 0 {
				total *= alternatives[n-1]
				alternatives = alternatives[:n-1]
			}
		}
		if total > 1<<20 {
			return total
		}
	}
	return total
}
