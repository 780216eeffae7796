package source

import (
	"path/filepath"
	"sync"
)

// former is the previous listing of a source, for the skills that did not change.
type former struct {
	entries []*Entry // nil = there is none
	folders map[string]names

	index sync.Once
	byDir map[string]int // made when the order is no help
}

func (f *former) remember(prev *Listing) {
	if prev != nil {
		f.entries, f.folders = prev.Entries, prev.folders
	}
}

// child returns the place of a directory in p and its former entry. Names are visited
// in nearly the order of the former listing: the entry at the given position is mostly
// the one, and its texts serve again. next is the position for the name that follows.
func (f *former) child(p place, name string, at int) (c place, next int) {
	if at < len(f.entries) {
		if e := f.entries[at]; lies(e.Dir, p.dir, name) {
			c = p
			c.dir, c.old = e.Dir, e
			c.rel = join(p.rel, name)
			c.real = e.Dir
			if p.dir != p.real {
				c.real = p.real + sep + name
			}
			c.depth++
			return c, at + 1
		}
	}
	c = p.child(name)
	if i, known := f.find(c.dir); known {
		c.old, at = f.entries[i], i+1
	}
	return c, at
}

// lies says whether path is the name in dir.
func lies(path, dir, name string) bool {
	n := len(dir)
	return len(path) == n+len(sep)+len(name) && path[n:n+len(sep)] == sep && path[n+len(sep):] == name && path[:n] == dir
}

func (f *former) find(dir string) (i int, known bool) {
	if len(f.entries) == 0 {
		return 0, false
	}
	f.index.Do(func() {
		f.byDir = make(map[string]int, len(f.entries))
		for i, e := range f.entries {
			f.byDir[e.place()] = i
		}
	})
	i, known = f.byDir[dir]
	return i, known
}

// place is the directory by which a walk knows an entry.
func (e *Entry) place() string {
	if e.Dir == "" {
		return sep + filepath.FromSlash(e.inner)
	}
	return e.Dir
}

// known returns the former entry of a place, or nil.
func (w *walker) known(p place) *Entry {
	if p.old != nil {
		return p.old
	}
	if i, ok := w.former.find(p.dir); ok {
		return w.former.entries[i]
	}
	return nil
}
