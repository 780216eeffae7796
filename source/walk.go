package source

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ignored names are never opened: version control, dependencies, caches.
var ignored = []string{
	".git", ".hg", ".svn", ".jj", "node_modules", "bower_components", ".venv", "venv",
	"__pycache__", ".cache", ".tox", ".mypy_cache", ".pytest_cache", ".terraform",
}

// place is one directory of the walk: where it is in a tree, and its two paths.
type place struct {
	t         tree
	rel       string // in t
	dir, real string
	group     string
	depth     int
	linked    bool   // reached through a link: its directories may have been visited
	old       *Entry // of the former listing, where that was found already
}

func (p place) child(name string) place {
	p.rel, p.old = join(p.rel, name), nil
	same := p.dir == p.real
	p.dir = p.dir + sep + name
	if same {
		p.real = p.dir
	} else {
		p.real = p.real + sep + name
	}
	p.depth++
	return p
}

const sep = string(filepath.Separator)

func join(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}

// walker is one Scan of one root. Only visit runs in parallel.
type walker struct {
	o        *DirOptions
	src      Source
	ctx      context.Context
	deadline time.Time
	out      *Listing
	former   former

	links   []place
	visited map[[2]uint64]*Entry // nil entry: a group folder; built when the first link needs it
	aliases map[*Entry][]string
	read    atomic.Int64
	gone    string // a directory that was listed and was not there any more when it was read
	stopped bool
	foreign bool     // the root leads out of itself: nothing in it counts
	roots   []string // resolved Boundary and Roots
}

func (w *walker) note(code, file, format string, args ...any) {
	w.out.Diagnostics = append(w.out.Diagnostics, finding(w.code(code), file, format, args...))
}

// skip notes a place that looks like a skill and is none, for explain too.
func (w *walker) skip(code, name, file, format string, args ...any) {
	d := finding(w.code(code), file, format, args...)
	w.out.Diagnostics = append(w.out.Diagnostics, d)
	w.out.Skipped = append(w.out.Skipped, Skipped{Name: name, Path: file, Code: code, Message: d.Message})
}

// steadyRounds bounds how often a walk is done again because what it had listed went
// away before it was read: of a folder that moves, one part would be there and another
// not, which is no state that ever was.
const steadyRounds = 3

func (w *walker) walkRoot(p place) {
	start := *w.out
	for range steadyRounds {
		*w.out, w.gone = start, ""
		w.links, w.visited, w.aliases, w.stopped = nil, nil, nil, false
		if w.o.One {
			w.one(p)
		} else {
			w.walk(p)
		}
		w.follow()
		if w.gone == "" || w.stop() {
			break
		}
	}
	if w.gone != "" {
		w.out.Complete = false
		w.note("root_unreadable", w.gone, "directory %q went away while it was read", w.gone)
	}
	w.out.Stats.FilesRead += int(w.read.Load())
}

// follow walks the links that were met, after everything that is no link: a real
// directory is the entry, a link to it the alias.
func (w *walker) follow() {
	for len(w.links) > 0 && !w.stop() {
		batch := w.links
		w.links = nil
		slices.SortFunc(batch, func(a, b place) int { return strings.Compare(a.dir, b.dir) })
		for _, l := range batch {
			w.followDir(l)
		}
	}
}

func (w *walker) one(p place) {
	v := w.visit(p)
	if v.state == notSkill {
		items, _, err := p.t.list(p.rel, w.o.Limits.NameBytes)
		if err != nil {
			w.unreadableRoot(p.dir, err)
			return
		}
		if w.variant(p, items) {
			return
		}
		w.note("path_missing", p.dir, "directory %q holds no %s", p.dir, SkillFile)
		return
	}
	w.take(p, v)
}

// stop reports whether the walk must end, saying why once.
func (w *walker) stop() bool {
	if w.stopped || w.ctx.Err() != nil {
		return true
	}
	root, l := w.o.Info.Path, w.o.Limits
	switch {
	case len(w.out.Entries) >= l.Skills:
		w.note("limit_root", root, "root %q holds more than %d skills; the rest is not listed", root, l.Skills)
	case w.out.Stats.Directories > cmp.Or(w.rule().dirs, l.Directories):
		w.note("limit_walk", root, "walk of %q passed %d directories; the rest is not listed", root, cmp.Or(w.rule().dirs, l.Directories))
	case w.o.Now().After(w.deadline):
		w.note("limit_walk", root, "walk of %q took longer than %s; the rest is not listed", root, l.Time)
	default:
		return false
	}
	w.stopped, w.out.Complete = true, false
	return true
}

// walk lists one directory that is no skill (or is the root) and everything below.
func (w *walker) walk(p place) {
	w.out.Stats.Directories++
	items, cut, err := w.list(p)
	if p.depth > 0 && errors.Is(err, fs.ErrNotExist) {
		w.gone = p.dir
		return
	}
	if err != nil {
		w.note("root_unreadable", p.dir, "directory %q cannot be read: %v", p.dir, cause(err))
		if p.depth == 0 {
			w.out.Complete = false
		}
		return
	}
	if cut {
		w.out.Complete = false
		w.note("limit_walk", p.dir, "names of %q take more than %d bytes; the rest is not listed", p.dir, w.o.Limits.NameBytes)
	}
	w.out.Dirs = append(w.out.Dirs, p.real)
	if p.depth == 0 {
		if !w.rule().strayOK {
			w.stray(p, items)
		}
	} else if w.variant(p, items) {
		return
	}
	w.children(p, w.directories(p, items))
}

// directories returns the names to visit: ignored ones are noted, links kept for later.
func (w *walker) directories(p place, items []item) []string {
	names := make([]string, 0, len(items))
	for _, it := range items {
		switch {
		case it.typ != typeDir && it.typ != typeLink:
		case w.ignores(it.name):
			w.out.Skipped = append(w.out.Skipped, Skipped{
				Name: strings.Clone(it.name), Path: filepath.Join(p.dir, it.name), Code: "ignored_directory",
				Message: "directory is on the ignore list and never opened",
			})
		case it.typ == typeLink:
			w.links = append(w.links, p.child(it.name))
		default:
			names = append(names, it.name)
		}
	}
	return names
}

// ignores says whether a directory is never opened.
func (w *walker) ignores(name string) bool {
	r := w.rule()
	return !r.all && slices.Contains(ignored, name) || r.dotless && strings.HasPrefix(name, ".") || slices.Contains(w.o.Ignore, name)
}

// children visits the directories of p. SKILL.md files are opened first, many at
// once; only then are the directories without one listed, in order.
func (w *walker) children(p place, names []string) {
	if p.depth >= w.o.Limits.Depth {
		w.probe(p, names)
		return
	}
	if room := w.o.Limits.Skills - len(w.out.Entries); len(names) > room {
		// More names than skills may be taken: in steps, so that the limit bounds the work.
		w.children(p, names[:max(room, 0)])
		if w.stop() {
			return
		}
		if room <= 0 {
			return
		}
		w.children(p, names[room:])
		return
	}
	found := w.visitAll(p, names)
	w.out.Stats.Directories += len(names)
	for i, v := range found {
		if w.stop() {
			return
		}
		if v.entry != nil && !p.linked && !w.foreign {
			w.keep(v) // most are: no need to say where it was
			continue
		}
		c := p.child(names[i])
		if v.state != notSkill {
			w.take(c, v)
			continue
		}
		w.out.Stats.Directories-- // walk counts it
		if w.rule().flat {
			w.deeper(c)
			continue
		}
		if p.linked && w.seen(c) {
			continue
		}
		c.group = p.group
		w.walk(grouped(c))
	}
}

// grouped moves a directory's own name into the group of what is below it.
func grouped(p place) place {
	p.group = join(p.group, filepath.Base(p.dir))
	return p
}

func (w *walker) visitAll(p place, names []string) []visit {
	found := make([]visit, len(names))
	share := 16
	_, remote := p.t.(fsTree) // each step may be a call over a network
	if remote {
		share = 1
	}
	workers := min(w.o.Limits.Parallel, (len(names)+share-1)/share)
	if workers < 2 {
		w.visitSome(p, names, found, 0)
		return found
	}
	var next atomic.Int64
	var group sync.WaitGroup
	var work func(alone bool)
	var many func()
	work = func(alone bool) {
		for w.ctx.Err() == nil {
			i := int(next.Add(int64(share))) - share
			if i >= len(names) {
				return
			}
			end, start := min(i+share, len(names)), w.o.Now()
			w.visitSome(p, names[i:end], found[i:end], i)
			if alone && w.o.Now().Sub(start) > time.Duration(end-i)*waited {
				alone = false
				many()
			}
		}
	}
	many = func() {
		for range workers - 1 {
			group.Go(func() { work(false) })
		}
	}
	if remote {
		many()
	}
	work(!remote)
	group.Wait()
	return found
}

// waited is how long a file takes at least that a disk or a network has to bring; one in
// memory takes a third. Many readers wait at once for a disk, but over files in memory
// they cost a seventh more processor time than one: they get in each other's way and in
// that of the collector.
const waited = 60 * time.Microsecond

// visitSome visits names one after another; at is where the first of them may stand in
// the former listing.
func (w *walker) visitSome(p place, names []string, found []visit, at int) {
	for i, n := range names {
		var c place
		c, at = w.former.child(p, n, at)
		found[i] = w.visit(c)
	}
}

// take keeps what visit found.
func (w *walker) take(p place, v visit) {
	switch v.state {
	case isSkill, reused:
		if w.foreign {
			w.skip("link_outside", filepath.Base(p.dir), p.dir, "root is a link to %q: what lies there is outside of it", filepath.Dir(p.real))
			return
		}
		if p.linked && !w.rule().twins && w.seen(p) {
			return
		}
		w.keep(v)
	case isLink:
		w.followFile(p, SkillFile)
	case failed:
		w.out.Diagnostics = append(w.out.Diagnostics, *v.finding)
		w.out.Skipped = append(w.out.Skipped, Skipped{Name: filepath.Base(p.dir), Path: v.finding.File, Code: v.finding.Code, Message: v.finding.Message})
	}
}

func (w *walker) keep(v visit) {
	if v.state == reused {
		w.out.Stats.FilesReused++
	}
	w.out.Entries = append(w.out.Entries, v.entry)
	if w.visited != nil {
		if id, _, err := dirID(v.entry.RealDir); err == nil {
			w.visited[id] = v.entry
		}
	}
}

// variant takes a skill whose file has another spelling than SKILL.md.
func (w *walker) variant(p place, items []item) bool {
	var names []string
	for _, it := range items {
		if it.typ != typeDir && strings.EqualFold(it.name, SkillFile) {
			names = append(names, it.name)
		}
	}
	name, _ := PickSkillFile(names, w.o.Format.Dialect)
	if name == "" {
		return false
	}
	p.group = parentGroup(p)
	stamp, typ, err := p.t.look(join(p.rel, name))
	if err == nil && typ == typeLink {
		w.followFile(p, name)
		return true
	}
	w.take(p, w.load(p, name, stamp, typ, err))
	return true
}

// parentGroup undoes grouped: a skill's own directory is no group.
func parentGroup(p place) string {
	if i := strings.LastIndexByte(p.group, '/'); i >= 0 {
		return p.group[:i]
	}
	return ""
}

// stray reports a skill file that lies in the root itself.
func (w *walker) stray(p place, items []item) {
	for _, it := range items {
		if it.typ != typeDir && strings.EqualFold(it.name, SkillFile) {
			file := filepath.Join(p.dir, it.name)
			d := finding("root_skill_file", file, "%s lies in the root itself and is not read as a skill", it.name)
			w.out.Diagnostics = append(w.out.Diagnostics, d)
			w.out.Skipped = append(w.out.Skipped, Skipped{Name: filepath.Base(p.dir), Path: file, Code: "stray", Message: d.Message})
			return
		}
	}
}

// probe looks for skills below the depth limit by name only: no file is opened.
func (w *walker) probe(p place, names []string) {
	budget := w.o.Limits.ProbeDirs
	queue := make([]place, 0, len(names))
	for _, n := range names {
		queue = append(queue, p.child(n))
	}
	cut := false
	for len(queue) > 0 && !cut {
		c := queue[0]
		queue = queue[1:]
		if budget--; budget < 0 || c.depth > w.o.Limits.ProbeDepth {
			cut = true
			break
		}
		items, _, err := c.t.list(c.rel, w.o.Limits.NameBytes)
		if err != nil {
			continue
		}
		slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.name, b.name) })
		if w.tooDeep(c, items) {
			continue
		}
		for _, it := range items {
			if it.typ == typeDir && !slices.Contains(ignored, it.name) {
				queue = append(queue, c.child(it.name))
			}
		}
	}
	if cut {
		w.note("too_deep", p.dir, "directories of %q are deeper than %d levels and were not searched to the end", p.dir, w.o.Limits.Depth)
	}
}

func (w *walker) tooDeep(c place, items []item) bool {
	for _, it := range items {
		if it.typ != typeDir && strings.EqualFold(it.name, SkillFile) {
			w.skip("too_deep", filepath.Base(c.dir), filepath.Join(c.dir, it.name),
				"skill is %d levels below its root; the limit is %d", c.depth, w.o.Limits.Depth)
			return true
		}
	}
	return false
}
