package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/internal/lockfile"
	"github.com/deftskills/deft/skill"
)

// intent is a change of one skill, written down before its first step: enough to end it
// or to take it back, whatever stops the process.
//
// The new folder carries the ID in its record. Which of two folders lies at a name is
// told by that alone, since the person may have edited either of them meanwhile.
type intent struct {
	ID     string       `json:"id"`
	Scope  Scope        `json:"scope"`
	Name   string       `json:"name"`
	Kept   string       `json:"kept,omitempty"` // where the folder that was there goes; "" = nowhere
	Tree   skill.Digest `json:"tree"`           // of the new folder, or of the one that goes
	Before *Entry       `json:"before,omitempty"`
	Entry  *Entry       `json:"entry,omitempty"` // of the lock; nil = the skill is taken away
	Links  []Link       `json:"links,omitempty"`
	Drop   []Link       `json:"drop,omitempty"` // links that go
	// Aside says where entries of agents' folders go that are edited copies, or not ours.
	Aside map[string]string `json:"aside,omitempty"`
	Made  []string          `json:"made,omitempty"`  // entries where none was
	Stays bool              `json:"stays,omitempty"` // the folder is of something else
	Copy  bool              `json:"copy,omitempty"`
	// Took says for whom other versions of a plugin were, by their keys, who have this one now.
	Took map[string][]string `json:"took,omitempty"`
	Did  Change              `json:"did"`
}

// journalFile is one file of the journal. Sum guards it: paths of a damaged one would be
// somebody else's.
type journalFile struct {
	Format int             `json:"format"`
	Sum    skill.Digest    `json:"sum"`
	Change json.RawMessage `json:"change"`
}

func (n intent) target() string { return filepath.Join(n.Scope.Skills, n.Name) }

// fresh is where the new folder is made, and old where the one before goes: beside the
// target, since only within one folder names can be exchanged.
func (n intent) fresh() string { return n.beside("new") }
func (n intent) old() string   { return n.beside("old") }

func (n intent) beside(what string) string {
	return filepath.Join(n.Scope.Skills, "."+n.Name+".deft-"+what+"-"+n.ID)
}

// was is the state before, as something to be made again.
func (n intent) was() intent {
	w := n
	w.Entry, w.Links, w.Aside = n.Before, nil, nil
	if n.Before != nil {
		w.Tree, w.Copy = n.Before.Tree, n.Before.Mode == "copy"
	}
	return w
}

// locked runs f as the only process that installs, after unfinished changes were ended.
func (i *Installer) locked(ctx context.Context, verb string, s Scope, f func() error) (err error) {
	if err := i.ready(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(i.o.State, 0o700); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	lock, err := lockfile.Exclusive(ctx, filepath.Join(i.o.State, lockName), lockfile.Options{Verb: verb, Wait: i.o.LockWait, Now: i.o.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return i.alone(ctx, verb, s, i.o.LockWait, func() error {
		if err := i.recover(ctx, s); err != nil {
			return err
		}
		i.sweep(s)
		return f()
	})
}

const lockName = "install.lock"

// alone runs f as the only one who changes a work tree, which other persons, with state
// directories of their own, may share. The file of that lock goes with it: it would be a
// change of the work tree.
func (i *Installer) alone(ctx context.Context, verb string, s Scope, wait time.Duration, f func() error) (err error) {
	if root, _ := there(s.Root); s.Name != "project" || !root {
		return f()
	}
	release, err := s.lock(ctx, lockfile.Options{Verb: verb, Wait: wait, Now: i.o.Now, Mode: 0o644})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	return f()
}

func (s Scope) lock(ctx context.Context, o lockfile.Options) (release func() error, err error) {
	dir := filepath.Join(s.Root, ".deft")
	if s.without(dir) {
		return nil, fmt.Errorf("%w: %s is a link out of the work tree", ErrOutside, dir)
	}
	at := filepath.Join(dir, "lock")
	stale, _ := there(at) // of a process that was killed
	for try := 0; ; try++ {
		made := os.Mkdir(dir, 0o755)
		if made != nil && !errors.Is(made, fs.ErrExist) {
			return nil, fmt.Errorf("install: %w", made)
		}
		lock, err := lockfile.Exclusive(ctx, at, o)
		if err == nil {
			return func() error {
				err := lock.Remove()
				if made == nil || stale {
					_ = os.Remove(dir) // unless something is in it
				}
				return err
			}, nil
		}
		// Whoever had it before may have removed the folder just now.
		if !errors.Is(err, fs.ErrNotExist) || try == tries {
			return nil, fmt.Errorf("install: %w", err)
		}
	}
}

// tries is how often a lock's folder is made again.
const tries = 100

// steady runs f while no process of this state directory changes anything, after
// unfinished changes were ended. Where the state can't be written nobody changes it.
func (i *Installer) steady(ctx context.Context, s Scope, f func() error) (err error) {
	if len(i.Unfinished()) > 0 {
		if err := i.locked(ctx, "verify", s, func() error { return nil }); err != nil && !readOnly(err) {
			return err
		}
	}
	lock, err := lockfile.Shared(ctx, filepath.Join(i.o.State, lockName), lockfile.Options{Wait: i.o.LockWait, Now: i.o.Now})
	switch {
	case err == nil:
		if left, _ := there(filepath.Join(s.Root, ".deft", "lock")); left {
			_ = i.alone(ctx, "verify", s, -1, func() error { return nil }) // a process was killed, or is at it
		}
		defer func() { err = errors.Join(err, lock.Release()) }()
	case !errors.Is(err, fs.ErrNotExist) && !readOnly(err):
		return err
	}
	return f()
}

// Unfinished names the journals of changes that a process has begun and not ended. The
// next change of anything ends them, and so does Verify.
func (i *Installer) Unfinished() []string {
	list, _ := filepath.Glob(filepath.Join(i.o.State, "journal", "*.json")) // the pattern is well-formed
	return list
}

// sweep removes what a process that was killed had only begun to write: folders of
// another state directory, and temporary files, an hour old.
func (i *Installer) sweep(s Scope) {
	before := i.o.Now().Add(-time.Hour)
	for _, dir := range []string{s.Skills, filepath.Dir(s.Lock), filepath.Dir(s.Public), filepath.Join(i.o.State, "journal"), i.o.Trees.Path} {
		if filepath.IsAbs(dir) {
			atomicfile.Sweep(dir, before)
		}
	}
	if b, ok := i.o.Blobs.(interface{ Sweep(time.Time) }); ok {
		b.Sweep(before)
	}
	i.forgetReplaced()
	entries, _ := os.ReadDir(s.Skills) // a folder that can't be read fails where it is written
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") || !strings.Contains(e.Name(), ".deft-new-") {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			_ = removeAll(filepath.Join(s.Skills, e.Name()))
		}
	}
}

// carryOut writes down what is about to happen, stages the new folder, and does it. It
// can stop anywhere: recover ends it or takes it back.
func (i *Installer) carryOut(ctx context.Context, n intent, prov *Provenance) ([]string, error) {
	n.ID = id()
	if prov != nil {
		prov.ID = n.ID
	}
	i.entries(&n)
	at, err := i.begin(n)
	if err != nil {
		return nil, err
	}
	if n.Entry != nil {
		if err := i.stage(ctx, n.fresh(), n.Tree, prov); err != nil {
			return nil, errors.Join(err, i.settle(context.WithoutCancel(ctx), at, n))
		}
	}
	// From here it goes on to its end, or back: nobody's Ctrl-C leaves it between.
	ctx = context.WithoutCancel(ctx)
	notes, err := i.perform(ctx, n)
	if err != nil {
		return notes, errors.Join(err, i.takeBack(ctx, at, n, err))
	}
	return notes, i.end(at)
}

// entries looks at what is in agents' folders now.
func (i *Installer) entries(n *intent) {
	for k, l := range append(append([]Link{}, n.Links...), n.Drop...) {
		_, err := os.Lstat(l.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && k < len(n.Links):
			n.Made = append(n.Made, l.Path)
		case err == nil && !n.disposable(l.Path):
			if n.Aside == nil {
				n.Aside = map[string]string{}
			}
			n.Aside[l.Path] = i.aside(n.Scope.key(n.Name))
		}
	}
}

// disposable reports whether an entry is a link to the skill, or a copy of it that nobody
// has edited: one that can be made again.
func (n intent) disposable(at string) bool {
	info, err := os.Lstat(at)
	if err != nil {
		return false
	}
	if info.Mode().Type() == fs.ModeSymlink {
		return leadsTo(at, n.target())
	}
	p, err := ReadProvenance(at)
	if err != nil || p.Name != n.Scope.key(n.Name) {
		return false
	}
	tree, err := treeAt(context.Background(), at)
	return err == nil && tree.Digest() == p.Tree
}

func (i *Installer) begin(n intent) (at string, err error) {
	change, err := json.Marshal(n)
	if err != nil {
		return "", fmt.Errorf("install: %w", err)
	}
	src, err := json.Marshal(journalFile{1, skill.FileDigest(change), change})
	if err != nil {
		return "", fmt.Errorf("install: %w", err)
	}
	journal := filepath.Join(i.o.State, "journal")
	at = filepath.Join(journal, n.ID+".json")
	if err := os.MkdirAll(journal, 0o700); err != nil {
		return "", fmt.Errorf("install: %w", err)
	}
	if err := fault.Err("journal.write"); err != nil {
		return "", fmt.Errorf("install %s: %w", at, err)
	}
	return at, atomicfile.Write(at, src, 0o600)
}

func (i *Installer) end(at string) error {
	if err := fault.Err("journal.clear"); err != nil {
		return fmt.Errorf("install %s: %w", at, err)
	}
	if err := os.Remove(at); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	return atomicfile.SyncDir(filepath.Dir(at))
}

// recover ends what earlier processes left. The lock is held. What can't be ended stops
// the place that it is of, and no other: that may be a disk which is not there today.
func (i *Installer) recover(ctx context.Context, s Scope) error {
	for _, at := range i.Unfinished() {
		n, err := readIntent(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		settle := func() error { return i.settle(context.WithoutCancel(ctx), at, n) }
		if n.Scope.Skills != s.Skills {
			_ = i.alone(ctx, "recover", n.Scope, -1, settle) // it is tried again where it matters
			continue
		}
		if err := settle(); err != nil {
			return fmt.Errorf("skill %q: a change that was stopped can't be ended: %w", n.Name, err)
		}
	}
	return nil
}

func readIntent(at string) (n intent, err error) {
	src, err := readSmall(at)
	if err != nil {
		return n, fmt.Errorf("install: %w", err)
	}
	var j journalFile
	if err := json.Unmarshal(src, &j); err != nil || j.Format != 1 || skill.FileDigest(j.Change) != j.Sum || json.Unmarshal(j.Change, &n) != nil {
		return n, fmt.Errorf("%w: %s tells of a change that can't be read; once the skills are in order, it can be removed", ErrLockDamaged, at)
	}
	return n, nil
}

// settle ends a change whose new folder is in its place, and takes every other back.
func (i *Installer) settle(ctx context.Context, at string, n intent) error {
	if root, err := there(n.Scope.Root); err != nil || !root {
		// A disk that is not there today may come back; a work tree that was removed does not.
		if info, infoErr := os.Stat(at); err == nil && infoErr == nil && i.o.Now().Sub(info.ModTime()) > 30*24*time.Hour {
			return i.end(at)
		}
		return err
	}
	forward, err := i.landed(ctx, n)
	if err != nil {
		return err
	}
	if forward {
		n.Did.Again = true
		if _, err = i.perform(ctx, n); err == nil {
			return i.end(at)
		}
	}
	return i.takeBack(ctx, at, n, err)
}

// takeBack makes the state before again after an error. What only could not be put aside
// is done in every other way, and the next change tries it again.
func (i *Installer) takeBack(ctx context.Context, at string, n intent, why error) error {
	if errors.Is(why, errNotAside) {
		return nil
	}
	if err := i.undo(ctx, n); err != nil {
		return err
	}
	return i.end(at)
}

// landed reports whether the new state is at the target, whole.
func (i *Installer) landed(ctx context.Context, n intent) (bool, error) {
	if n.Entry == nil {
		moved, err := there(n.old())
		if err != nil || moved || n.Stays {
			return true, err
		}
		still, err := there(n.target())
		return !still, err
	}
	if mine, err := n.made(n.target()); err != nil || !mine {
		return false, err
	}
	// A disk that lost its power may have the name, and not all of what is below.
	tree, err := treeAt(ctx, n.target())
	return err == nil && tree.Digest() == n.Tree, nil
}

// made reports whether a folder is the one that this change made.
func (n intent) made(at string) (bool, error) {
	p, err := ReadProvenance(at)
	switch {
	case err == nil:
		return p.ID == n.ID, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errRecord), errors.Is(err, errNotDir):
		return false, nil
	}
	return false, err
}

// undo makes the state before again. Each step can be done again.
func (i *Installer) undo(ctx context.Context, n intent) error {
	if err := i.undoFolder(ctx, n); err != nil {
		return err
	}
	for _, l := range n.Links {
		if err := i.undoLink(ctx, n, l); err != nil {
			return err
		}
	}
	for _, l := range n.Drop {
		if err := i.undoDrop(ctx, n, l); err != nil {
			return err
		}
	}
	if err := i.relock(n, n.Before); err != nil {
		return err
	}
	_, err := i.ledger(ctx, n) // what can't be read is told as a change is made
	return err
}

func (i *Installer) undoFolder(ctx context.Context, n intent) error {
	mine, err := n.made(n.target())
	if err != nil {
		return err
	}
	was := n.old()
	if fresh, err := there(n.fresh()); err != nil {
		return err
	} else if fresh && mine { // after an exchange, before the old folder got its name
		was = n.fresh()
	}
	kept, err := there(was)
	if err != nil {
		return err
	}
	back := n.beside("undo")
	still, err := there(n.target())
	switch {
	case err != nil:
	case mine && kept:
		err = atomicfile.Swap(was, n.target(), back)
	case mine:
		err = atomicfile.Move(n.target(), back)
	case kept && !still:
		err = atomicfile.Move(was, n.target())
	}
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	for _, at := range []string{n.fresh(), n.old(), back} {
		if err := i.dispose(ctx, n, at); err != nil {
			return fmt.Errorf("install: %w", err)
		}
	}
	return nil
}

// dispose removes a folder that a change made. One that was edited meanwhile, or is of
// somebody else, is kept aside.
func (i *Installer) dispose(ctx context.Context, n intent, at string) error {
	entry, err := there(at)
	if err != nil || !entry {
		return err
	}
	mine, err := n.made(at)
	if err != nil {
		return err
	}
	tree, err := treeAt(ctx, at)
	if whole := err == nil && tree.Digest() == n.Tree; mine && !whole || !mine && at != n.fresh() {
		return moveAside(at, i.aside(n.Scope.key(n.Name)))
	}
	return removeAll(at)
}

// there reports whether something has a name.
func there(at string) (bool, error) {
	_, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		return false, nil
	}
	return err == nil, err
}
