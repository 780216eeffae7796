package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// Removal is what taking one skill away does.
type Removal struct {
	Name    string
	Links   []Link   // that go
	Left    []string // entries that are not ours, with the reason
	Edited  []string // files that were changed since
	Missing bool     // no record names it
	Needed  []string // skills that stay and need it
	stays   bool     // its folder is of something else: only the record and the links go
	link    bool     // it is a link that a person made: only that goes
	entry   Entry
}

// item is the skill as a plan sees it.
func (r Removal) item(s Scope) *Item {
	return &Item{Name: r.Name, Target: filepath.Join(s.Skills, r.Name), Before: &r.entry}
}

// Tree is what was installed, by the lock; "" for a Missing one.
func (r Removal) Tree() skill.Digest { return r.entry.Tree }

// PlanRemove says what would go. What deft did not put there, or what no longer leads to
// where the record says, is left. Nothing on disk changes.
func (i *Installer) PlanRemove(ctx context.Context, s Scope, agents []Agent, names []string) ([]Removal, error) {
	lock, err := ReadLock(s.Lock, s.Name == "project")
	if err != nil {
		return nil, err
	}
	var out []Removal
	for _, name := range names {
		e, ok := lock.part(s)[s.key(name)]
		r := Removal{Name: name, entry: e, Missing: !ok}
		if !ok {
			r.link = s.isLink(name)
			r.Missing = !r.link
			out = append(out, r)
			continue
		}
		r.Needed = lock.neededBy(name, names)
		n := intent{Scope: s, Name: name}
		switch tree, err := treeAt(ctx, n.target()); {
		case err == nil && tree.Digest() != e.Tree:
			r.Edited = i.changed(ctx, e.Tree, tree)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			r.Edited = []string{err.Error()} // nobody can tell which
		}
		if why := n.foreign(ctx, e); why != "" {
			r.Left, r.stays = append(r.Left, n.target()+": "+why), true
		}
		for _, l := range s.links(agents, name) {
			switch _, err := os.Lstat(l.Path); {
			case err != nil:
			case s.leavesRoot([]Link{l}) != "":
				r.Left = append(r.Left, l.Path+": its folder is a link out of the work tree")
			case i.ours(l.Path, r.item(s)):
				r.Links = append(r.Links, l)
			default:
				r.Left = append(r.Left, l.Path+": it leads elsewhere")
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// foreign says why what is at the target is not what deft put there, "" where it is.
func (n intent) foreign(ctx context.Context, e Entry) string {
	info, err := os.Lstat(n.target())
	if err != nil {
		return ""
	}
	if n.Scope.leavesRoot(nil) != "" {
		return "its folder is a link out of the work tree"
	}
	if !info.IsDir() {
		return "it is no folder any more"
	}
	p, err := ReadProvenance(n.target())
	switch {
	case errors.Is(err, errRecord):
		return err.Error()
	case err == nil && p.Name != n.Scope.key(n.Name) && p.Name != "":
		return "its record is of something else"
	case errors.Is(err, fs.ErrNotExist):
		if tree, err := treeAt(ctx, n.target()); err != nil || tree.Digest() != e.Tree {
			return "it has no record, and other files"
		}
	}
	return ""
}

// Remove takes skills away, and returns what went. Edited ones go where what is replaced
// lies, for a person to find again. Everything is looked at again under the lock: another
// process may have come.
func (i *Installer) Remove(ctx context.Context, s Scope, agents []Agent, list []Removal) (gone []Removal, err error) {
	err = i.locked(ctx, "remove", s, func() error {
		for _, planned := range list {
			now, err := i.PlanRemove(ctx, s, agents, []string{planned.Name})
			if err != nil {
				return err
			}
			r := now[0]
			gone = append(gone, r)
			if r.link {
				if err := i.unlink(ctx, s, r.Name); err != nil {
					return err
				}
				continue
			}
			if r.Missing {
				continue
			}
			n := intent{Scope: s, Name: r.Name, Tree: r.entry.Tree, Before: &r.entry, Drop: r.Links, Stays: r.stays, Copy: r.entry.Mode == "copy"}
			n.Kept = i.keepWhat(ctx, n)
			n.Did = i.change(DidRemove, s, r.Name, r.entry.Tree, "", r.entry.Source)
			if _, err := i.carryOut(ctx, n, nil); err != nil {
				return fmt.Errorf("skill %q: %w", r.Name, err)
			}
		}
		return nil
	})
	return gone, err
}

// Repair restores what verify found missing: files, links and, from the folder itself,
// contents that the store lost.
func (i *Installer) Repair(ctx context.Context, s Scope, agents []Agent, list []Status) error {
	return i.locked(ctx, "verify", s, func() (bad error) {
		lock, err := ReadLock(s.Lock, s.Name == "project")
		if err != nil {
			return err
		}
		for _, st := range list {
			e, ok := lock.Skills[st.Name]
			if !ok {
				continue
			}
			st = i.verify(ctx, s, agents, st.Name, e) // another process may have come
			if out := s.leavesRoot(s.links(chosen(agents, e.Agents), st.Name)); out != "" {
				bad = errors.Join(bad, fmt.Errorf("skill %q: %w: %s is a link out of the work tree", st.Name, ErrOutside, out))
				continue
			}
			if err := i.repair(ctx, s, st, e); err != nil {
				bad = errors.Join(bad, fmt.Errorf("skill %q: %w", st.Name, err))
			}
		}
		return bad
	})
}

func (i *Installer) repair(ctx context.Context, s Scope, st Status, e Entry) error {
	n := intent{ID: id(), Scope: s, Name: st.Name, Tree: e.Tree, Copy: e.Mode == "copy"}
	restored := false
	if st.State == StoreDamaged {
		if err := i.refill(ctx, n); err != nil {
			return err
		}
		restored = true
	} else {
		var err error
		if restored, err = i.restore(ctx, n, st); err != nil {
			return err
		}
	}
	if restored {
		i.record(ctx, i.change(DidRepair, s, st.Name, e.Tree, e.Tree, e.Source))
	}
	return nil
}

// restore puts missing files and links back, and tells whether there were any.
func (i *Installer) restore(ctx context.Context, n intent, st Status) (restored bool, err error) {
	tree, err := i.o.Trees.Get(ctx, n.Tree)
	if err != nil {
		return false, err
	}
	if st.Diff.Any() {
		sweepBelow(n.target(), i.o.Now().Add(-time.Hour))
	}
	if len(st.Diff.Missing) > 0 {
		root, err := os.OpenRoot(n.target())
		if err != nil {
			return false, fmt.Errorf("verify: %w", err)
		}
		defer root.Close()
		for _, f := range tree {
			if !slices.Contains(st.Diff.Missing, f.Path) {
				continue
			}
			if err := writeFile(ctx, i.o.Blobs, root, f); err != nil {
				return restored, err
			}
			restored = true
		}
	}
	for _, l := range st.Links {
		if _, err := os.Lstat(l.Path); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := i.link(ctx, n, l); err != nil {
			return restored, err
		}
		restored = true
	}
	return restored, nil
}

// sweepBelow removes what a process that was killed while it restored files had only begun
// to write.
func sweepBelow(dir string, before time.Time) {
	_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			atomicfile.Sweep(at, before)
		}
		return nil // what can't be read stays for the next time
	})
}

// refill puts a sound folder's contents into the store again.
func (i *Installer) refill(ctx context.Context, n intent) error {
	tree, err := treeAt(ctx, n.target())
	if err != nil {
		return err
	}
	if tree.Digest() != n.Tree {
		return fmt.Errorf("%w: the store has lost what was installed, and the folder was edited", blobs.ErrDamaged)
	}
	root, err := os.OpenRoot(n.target())
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	defer root.Close()
	for _, f := range tree {
		data, err := readFile(root, filepath.FromSlash(f.Path))
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		if _, err := i.o.Blobs.Put(ctx, data); err != nil {
			return err
		}
	}
	_, err = i.o.Trees.Put(ctx, tree)
	return err
}
