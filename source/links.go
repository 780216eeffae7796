package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// mayLead says whether a link of this source may lead to a resolved path.
func (w *walker) mayLead(real string) bool {
	switch w.o.Info.Links {
	case LinksLeave:
		return true
	case LinksStay:
		return w.allowed(real)
	case LinksBound:
		return within(real, boundOf(w.o.Info.Path))
	}
	return false
}

// boundOf resolves a root but for its last component: where the root would lie if it
// were no link.
func boundOf(root string) string {
	parent, err := filepath.EvalSymlinks(filepath.Dir(root))
	if err != nil {
		return root
	}
	return filepath.Join(parent, filepath.Base(root))
}

// allowed says whether a resolved path lies in the boundary or in another
// configured root.
func (w *walker) allowed(real string) bool {
	if w.roots == nil {
		boundary := w.o.Boundary
		if boundary == "" {
			boundary = w.o.Info.Path
		}
		w.roots = []string{}
		for _, r := range append([]string{boundary}, w.o.Roots...) {
			if r, err := filepath.EvalSymlinks(r); err == nil {
				w.roots = append(w.roots, r)
			}
		}
	}
	for _, r := range w.roots {
		if within(real, r) {
			return true
		}
	}
	return false
}

// within says whether a cleaned path is dir or lies below it.
func within(path, dir string) bool {
	if path == dir {
		return true
	}
	if !strings.HasSuffix(dir, sep) {
		dir += sep
	}
	return strings.HasPrefix(path, dir)
}

// resolve follows a link to its end and judges the target; ok is false when the
// walk must not go there, which has been said already.
func (w *walker) resolve(link string) (real string, ok bool) {
	name := filepath.Base(link)
	if name == SkillFile {
		name = filepath.Base(filepath.Dir(link))
	}
	real, err := filepath.EvalSymlinks(link)
	switch {
	case err == nil && w.mayLead(real):
		return real, true
	case err == nil && w.o.Info.Links == LinksNone:
		w.skip("link_outside", name, link, "link to %q is not followed: this source follows none", real)
	case err == nil:
		w.skip("link_outside", name, link, "link leads to %q, which is neither in the project nor in another configured root", real)
	case errors.Is(err, fs.ErrNotExist):
		w.await(link)
		w.skip("dangling", name, link, "link leads to %q, which does not exist", readLink(link))
	case isLoop(err) || strings.Contains(err.Error(), "too many links"):
		w.skip("link_cycle", name, link, "link to %q leads back to itself", readLink(link))
	default:
		w.skip("dangling", name, link, "link to %q cannot be followed: %v", readLink(link), cause(err))
	}
	return "", false
}

// await remembers where a dangling link leads.
func (w *walker) await(link string) {
	target := readLink(link)
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(link), target)
	}
	if w.mayLead(filepath.Clean(target)) {
		w.out.Awaited = append(w.out.Awaited, filepath.Clean(target))
	}
}

// followDir walks a linked child or group folder. p is the link's own place.
func (w *walker) followDir(p place) {
	if w.rule().noLinks {
		w.skip("link_outside", filepath.Base(p.dir), p.dir, "linked directory is not followed: this dialect follows none")
		return
	}
	real, ok := w.resolve(p.dir)
	if !ok {
		return
	}
	id, isDir, err := dirID(real)
	if err != nil {
		w.skip("dangling", filepath.Base(p.dir), p.dir, "link to %q cannot be followed: %v", real, cause(err))
		return
	}
	if !isDir {
		w.note("link_not_directory", p.dir, "link leads to %q, which is no directory", real)
		return
	}
	if !w.rule().twins {
		w.buildVisited()
	}
	if e, seen := w.visited[id]; seen {
		w.alias(e, p.dir)
		return
	}
	t, err := openTree(real)
	if err != nil {
		w.note("root_unreadable", p.dir, "directory %q cannot be read: %v", real, cause(err))
		return
	}
	defer t.close()
	p.t, p.rel, p.real, p.linked = t, "", real, true
	v := w.visit(p)
	switch deep := p.depth > w.o.Limits.Depth; {
	case deep && v.state != notSkill:
		w.skip("too_deep", filepath.Base(p.dir), p.dir, "skill is %d levels below its root; the limit is %d", p.depth, w.o.Limits.Depth)
	case deep:
	case v.state != notSkill:
		w.take(p, v)
	case w.rule().flat:
		w.deeper(p)
	default:
		w.visited[id] = nil
		w.walk(grouped(p))
	}
}

// followFile takes a skill whose SKILL.md is a link. Its directory stays the folder
// that holds the link.
func (w *walker) followFile(p place, file string) {
	link := filepath.Join(p.dir, file)
	if w.rule().noFile {
		w.skip("link_file", filepath.Base(p.dir), link, "%s is a link to %q; this dialect reads none", file, readLink(link))
		return
	}
	real, ok := w.resolve(link)
	if !ok {
		return
	}
	f, err := openRegular(real)
	if err != nil {
		w.take(p, w.broken(p, file, finding("file_special", link, "link leads to %q: %v", real, cause(err))))
		return
	}
	defer f.Close()
	_, before, _, err := readFile(f, real, nil, 0)
	if err != nil {
		w.take(p, w.broken(p, file, finding("file_special", link, "link leads to %q: %v", real, cause(err))))
		return
	}
	v := w.parse(p, file, real, before, func(buf []byte, max int64) ([]byte, FileStamp, error) {
		if _, err := f.Seek(0, 0); err != nil {
			return nil, FileStamp{}, err
		}
		src, _, after, err := readFile(f, real, buf, max)
		return src, after, err
	})
	w.take(p, v)
}

// buildVisited remembers every directory so far by identity; before the first link
// none can be met twice.
func (w *walker) buildVisited() {
	if w.visited != nil {
		return
	}
	w.visited = map[[2]uint64]*Entry{}
	w.aliases = map[*Entry][]string{}
	for _, g := range w.out.Dirs {
		if id, _, err := dirID(g); err == nil {
			w.visited[id] = nil
		}
	}
	for _, e := range w.out.Entries {
		if id, _, err := dirID(e.RealDir); err == nil {
			w.visited[id] = e
		}
	}
}

// seen reports whether a directory below a link was visited before, as an alias if so.
func (w *walker) seen(p place) bool {
	id, _, err := dirID(p.real)
	if err != nil {
		return true
	}
	e, seen := w.visited[id]
	if seen {
		w.alias(e, p.dir)
		return true
	}
	w.visited[id] = nil
	return false
}

func (w *walker) alias(e *Entry, dir string) {
	if e != nil {
		w.aliases[e] = append(w.aliases[e], dir)
	}
}

func readLink(link string) string {
	target, err := os.Readlink(link)
	if err != nil {
		return link
	}
	return target
}
