package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/fault"
)

// errNotAside is a change that is done but for what was there before, which lies beside
// it still.
var errNotAside = errors.New("what was there could not be put away")

// perform is the change itself. Each step can be done again.
func (i *Installer) perform(ctx context.Context, n intent) (notes []string, err error) {
	if err := n.swap(); err != nil {
		return nil, err
	}
	if err := fault.Err("install.swapped"); err != nil {
		return nil, fmt.Errorf("install %s: %w", n.target(), err)
	}
	for _, l := range n.Drop {
		if err := i.drop(n, l); err != nil {
			return nil, err
		}
	}
	for _, l := range n.Links {
		note, err := i.link(ctx, n, l)
		if err != nil {
			return nil, err
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	for _, at := range slices.Sorted(mapKeys(n.Aside)) {
		notes = append(notes, fmt.Sprintf("install_moved_aside: what was at %s is at %s now", at, n.Aside[at]))
	}
	if err := i.relock(n, n.Entry); err != nil {
		return nil, err
	}
	note, err := i.publish(ctx, n)
	if err != nil {
		return nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	if note, err = i.ledger(ctx, n); err != nil {
		return nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	if err := n.putAside(); err != nil {
		return notes, err
	}
	i.record(ctx, n.Did)
	return notes, nil
}

func (n intent) swap() error {
	err := fault.Err("install.swap")
	if n.Scope.Plugin != "" {
		err = errors.Join(err, fault.Err("plugin.swap"))
	}
	if err != nil {
		return fmt.Errorf("install %s: %w", n.target(), err)
	}
	if n.Stays {
		return nil
	}
	if n.Entry == nil {
		if moved, err := there(n.old()); err != nil || moved {
			return err
		}
		err := atomicfile.Move(n.target(), n.old())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	mine, err := n.made(n.target())
	if err != nil {
		return err
	}
	if !mine {
		return atomicfile.Swap(n.fresh(), n.target(), n.old())
	}
	err = atomicfile.Move(n.fresh(), n.old())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a run before did it
	}
	return err
}

// relock makes the lock file say an entry, nil for none. What this release does not know
// of it stays.
func (i *Installer) relock(n intent, e *Entry) error {
	if err := fault.Err("install.lock"); err != nil {
		return fmt.Errorf("install %s: %w", n.Scope.Lock, err)
	}
	lock, err := ReadLock(n.Scope.Lock, n.Scope.Name == "project")
	if err != nil {
		return err
	}
	undone := e != n.Entry
	have, ok := lock.part(n.Scope)[n.Scope.key(n.Name)]
	if e == nil && !ok && len(n.Took) == 0 {
		return nil
	}
	if n.Entry = e; e != nil {
		next := *e
		next.extra = have.extra
		if ok && reflect.DeepEqual(have, next) && len(n.Took) == 0 {
			return nil
		}
		n.Entry = &next
	}
	lock.record(n, undone)
	return lock.Write(n.Scope.Lock)
}

// putAside keeps what was replaced where a person may look for it, or lets it go.
func (n intent) putAside() error {
	err := fault.Err("install.aside")
	switch {
	case err != nil:
	case n.Kept == "":
		err = removeAll(n.old())
	default:
		err = moveAside(n.old(), n.Kept)
	}
	if err != nil {
		return fmt.Errorf("install: %w, it is at %s: %w", errNotAside, n.old(), err)
	}
	return nil
}

// drop takes an agent's entry away.
func (i *Installer) drop(n intent, l Link) error {
	if err := fault.Err("install.drop"); err != nil {
		return fmt.Errorf("install %s: %w", l.Path, err)
	}
	if err := i.clear(n, l.Path); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	return nil
}

// clear makes room for an entry. What can't be made again is put aside.
func (i *Installer) clear(n intent, at string) error {
	if to, ok := n.Aside[at]; ok {
		if moved, err := there(to); err != nil || !moved {
			return errors.Join(err, moveAside(at, to))
		}
	}
	if entry, err := there(at); err != nil || !entry {
		return err
	}
	if !n.disposable(at) {
		return moveAside(at, i.aside(n.Scope.key(n.Name)))
	}
	return removeAll(at)
}

// link makes an agent's entry for the canonical copy: relative within a work tree, so
// that it holds in every checkout.
func (i *Installer) link(ctx context.Context, n intent, l Link) (note string, err error) {
	if err := fault.Err("install.link"); err != nil {
		return "", fmt.Errorf("install %s: %w", l.Path, err)
	}
	if err := os.MkdirAll(filepath.Dir(l.Path), 0o755); err != nil {
		return "", fmt.Errorf("install: %w", err)
	}
	if n.entered(l.Path) {
		return "", nil
	}
	if err := i.clear(n, l.Path); err != nil {
		return "", fmt.Errorf("install: %w", err)
	}
	if !n.Copy {
		to := n.target()
		if n.Scope.Name == "project" {
			if rel, err := filepath.Rel(filepath.Dir(l.Path), to); err == nil {
				to = rel
			}
		}
		if err = fault.Err("install.symlink"); err == nil {
			err = os.Symlink(to, l.Path)
		}
		switch {
		case err == nil:
			return "", nil
		case !unprivileged(err):
			return "", fmt.Errorf("install %s: %w", l.Path, err)
		}
		note = "install_link_fell_back: no link may be made here; copied to " + l.Path
	}
	return note, i.copyTo(ctx, n, l.Path)
}

// entered reports whether an entry is there already as it is to be.
func (n intent) entered(at string) bool {
	info, err := os.Lstat(at)
	if err != nil || (info.Mode().Type() == fs.ModeSymlink) == n.Copy {
		return false
	}
	if !n.Copy {
		return leadsTo(at, n.target())
	}
	mine, err := n.made(at)
	return err == nil && mine
}

// staged is where a copy for an agent is made.
func (n intent) staged(at string) string {
	return filepath.Join(filepath.Dir(at), filepath.Base(n.fresh()))
}

// copyTo makes an agent's own copy, whole or not at all.
func (i *Installer) copyTo(ctx context.Context, n intent, at string) error {
	tree, err := i.o.Trees.Get(ctx, n.Tree)
	if err != nil {
		return err
	}
	stage := n.staged(at)
	if err := removeAll(stage); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	err = writeTree(ctx, i.o.Blobs, tree, stage)
	if err == nil {
		var src []byte
		if src, err = readSmall(filepath.Join(n.target(), ProvenanceFile)); err == nil {
			err = atomicfile.Write(filepath.Join(stage, ProvenanceFile), src, 0o644)
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil // without a record the copy is a plain skill
		}
	}
	if err == nil {
		err = atomicfile.Move(stage, at)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("install %s: %w", at, err), removeAll(stage))
	}
	return nil
}

// undoLink makes an agent's entry what it was before a change that brought one.
func (i *Installer) undoLink(ctx context.Context, n intent, l Link) error {
	if err := removeAll(n.staged(l.Path)); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	to, aside := n.Aside[l.Path]
	ours := n.entered(l.Path)
	if !n.Copy && !ours {
		copied := n
		copied.Copy = true
		ours = copied.entered(l.Path) // no link could be made
	}
	if ours && (aside || n.Copy || slices.Contains(n.Made, l.Path)) {
		if err := removeAll(l.Path); err != nil {
			return fmt.Errorf("install: %w", err)
		}
	}
	return i.bringBack(ctx, n, l, to, !slices.Contains(n.Made, l.Path))
}

// undoDrop makes an agent's entry that a change took away again.
func (i *Installer) undoDrop(ctx context.Context, n intent, l Link) error {
	return i.bringBack(ctx, n, l, n.Aside[l.Path], true)
}

// bringBack puts an entry that is not there any more back from aside, or makes it anew.
func (i *Installer) bringBack(ctx context.Context, n intent, l Link, aside string, anew bool) error {
	if entry, err := there(l.Path); err != nil || entry {
		return err
	}
	if aside != "" {
		if moved, err := there(aside); err != nil || moved {
			return errors.Join(err, moveAside(aside, l.Path))
		}
	}
	if !anew || n.Before == nil {
		return nil
	}
	_, err := i.link(ctx, n.was(), l)
	return err
}
