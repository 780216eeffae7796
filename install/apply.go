package install

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/internal/lockfile"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// Answers are a person's, for the questions of a plan.
type Answers struct {
	// Accept answers one question; nil = every answer is no.
	Accept func(ctx context.Context, it Item, ask Reason) (bool, error)
}

// Done is what became of one skill.
type Done struct {
	Item
	Written bool
	Notes   []string
}

// Apply carries a plan out, each skill as a whole or not at all, and is the only way in
// which an install writes. Under the lock it looks again at what it is about to replace.
func (i *Installer) Apply(ctx context.Context, p *Plan, a Answers) ([]Done, error) {
	var ready []Item
	out := make([]Done, 0, len(p.Items))
	for _, it := range p.Items {
		if it.Refused == nil {
			if err := a.answer(ctx, &it); err != nil {
				return nil, err
			}
		}
		if it.Refused != nil {
			out = append(out, Done{Item: it})
			continue
		}
		ready = append(ready, it)
	}
	if len(ready) == 0 {
		return out, nil
	}
	err := i.locked(ctx, "add", p.choice.Scope, func() error {
		for _, it := range ready {
			done, err := i.apply(ctx, p, it)
			if err != nil {
				return fmt.Errorf("skill %q: %w", it.Name, err)
			}
			out = append(out, done)
		}
		return nil
	})
	return out, err
}

func (a Answers) answer(ctx context.Context, it *Item) error {
	for _, ask := range it.Asks {
		ok := false
		if a.Accept != nil {
			var err error
			if ok, err = a.Accept(ctx, *it, ask); err != nil {
				return err
			}
		}
		if !ok {
			it.Refused = &Reason{ask.Code, ask.Message}
			return nil
		}
	}
	return nil
}

// locked runs f as the only process that installs, after unfinished changes were ended.
func (i *Installer) locked(ctx context.Context, verb string, s Scope, f func() error) (err error) {
	if err := i.ready(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(i.o.State, 0o700); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	lock, err := lockfile.Exclusive(ctx, filepath.Join(i.o.State, "install.lock"), lockfile.Options{Verb: verb, Now: i.o.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := i.recover(ctx); err != nil {
		return err
	}
	i.sweep(s.Skills)
	return f()
}

// sweep removes what a process that was killed had only begun to stage.
func (i *Installer) sweep(dir string) {
	entries, _ := os.ReadDir(dir) // a folder that can't be read fails where it is written
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") || !strings.Contains(e.Name(), ".deft-new-") {
			continue
		}
		if info, err := e.Info(); err == nil && i.o.Now().Sub(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// intent is a change that has begun: enough to end it, or to take it back.
type intent struct {
	Format int          `json:"format"`
	Scope  Scope        `json:"scope"`
	Name   string       `json:"name"`
	Fresh  string       `json:"fresh"` // beside the target; "" when the skill is taken away
	Old    string       `json:"old"`
	Kept   string       `json:"kept"` // where what was there goes; "" = nowhere
	Tree   skill.Digest `json:"tree"`
	Entry  *Entry       `json:"entry"` // of the lock; nil = the skill is taken away
	Links  []Link       `json:"links"`
	Drop   []Link       `json:"drop"`            // links that go
	Stays  bool         `json:"stays,omitempty"` // the folder is of something else
	Copy   bool         `json:"copy"`
	Did    Change       `json:"did"`
}

func (n intent) target() string { return filepath.Join(n.Scope.Skills, n.Name) }

func (i *Installer) apply(ctx context.Context, p *Plan, it Item) (Done, error) {
	// Between plan and lock another process may have come: what is at the target is looked
	// at again. The bytes that licence and scanner saw are those in memory.
	it.Links, it.Asks = nil, nil
	for _, step := range []check{i.name, i.place} {
		why, err := step(ctx, &Fetched{Origin: p.Origin}, &it, p.choice)
		if err != nil {
			return Done{}, err
		}
		if why != nil {
			it.Refused = why
			return Done{Item: it}, nil
		}
	}
	if err := i.keep(ctx, it); err != nil {
		return Done{}, err
	}
	entry := i.entry(p, it)
	if it.Action == Same && i.stands(entry, it, p.choice.Copy) {
		return Done{Item: it}, nil
	}
	n := intent{Format: 1, Scope: p.choice.Scope, Name: it.Name, Tree: it.Digest, Entry: &entry, Links: it.Links, Copy: p.choice.Copy}
	// What a person made or edited is kept aside; what the store has need not be.
	if was, err := treeAt(ctx, it.Target); err == nil && (it.Before == nil || was.Digest() != it.Before.Tree) {
		n.Kept = i.aside(p.choice.Scope.key(it.Name))
	}
	prov := i.provenance(p, it, entry)
	n.Did = i.did(p.choice, it, entry)
	notes, err := i.carryOut(ctx, n, &prov)
	return Done{Item: it, Written: err == nil, Notes: notes}, err
}

// did is how the install of a skill is recorded.
func (i *Installer) did(c Choice, it Item, e Entry) Change {
	var from skill.Digest
	if it.Before != nil {
		from = it.Before.Tree
	}
	did := i.change(cmp.Or(c.action, DidInstall), c.Scope, it.Name, from, e.Tree, e.Source)
	did.Licence, did.Pin, did.Accepted = e.Licence, e.Pin, c.Accept
	return did
}

// stands reports whether nothing would change: the record is this very one, and every
// link is there.
func (i *Installer) stands(e Entry, it Item, copies bool) bool {
	if it.Before == nil || copies || !reflect.DeepEqual(e, *it.Before) {
		return false
	}
	return !slices.ContainsFunc(it.Links, func(l Link) bool { return !i.ours(l.Path, &it) })
}

// keep puts the contents into the store, from which everything else is made.
func (i *Installer) keep(ctx context.Context, it Item) error {
	for _, p := range []Package{it.Package, it.own()} {
		for _, f := range p.Files {
			if _, err := i.o.Blobs.Put(ctx, f.Data); err != nil {
				return err
			}
		}
		if _, err := i.o.Trees.Put(ctx, p.Tree); err != nil {
			return err
		}
	}
	return nil
}

func (i *Installer) entry(p *Plan, it Item) Entry {
	e := Entry{Source: p.Origin, Tree: it.own().Digest, Licence: it.Licence.SPDX, Pin: p.choice.Pin, Mode: "link"}
	e.Source.Subpath = it.Dir
	if p.choice.Copy {
		e.Mode = "copy"
	}
	for _, f := range it.own().Tree {
		if f.Exec {
			e.Exec = append(e.Exec, f.Path)
		}
	}
	for _, l := range it.Links {
		e.Agents = append(e.Agents, l.Agent)
	}
	e.For = p.choice.For
	if it.Before != nil {
		e.extra, e.Off = it.Before.extra, it.Before.Off
		e.For = slices.Compact(slices.Sorted(slices.Values(slices.Concat(e.For, it.Before.For))))
	}
	return e
}

func (i *Installer) provenance(p *Plan, it Item, e Entry) Provenance {
	prov := Provenance{
		Format: provenanceFormat, ID: id(), Name: p.choice.Scope.key(it.Name), Source: e.Source, Tree: e.Tree, Files: len(it.own().Files),
		Licence: it.Licence, At: i.o.Now().UTC(), Installer: i.o.Program, Mode: e.Mode,
	}
	prov.minara = p.choice.Scope.Minara
	if was, err := ReadProvenance(it.Target); err == nil {
		prov.History = was.after(prov.Tree)
	}
	if i.o.Scanner != nil {
		prov.Scan = &ScanSummary{Rules: it.Scan.Rules, Blocking: it.Scan.Blocking, Complete: it.Scan.Complete, Accepted: p.choice.Accept}
	}
	return prov
}

func id() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// aside is a place for what is replaced.
func (i *Installer) aside(name string) string {
	name = strings.ReplaceAll(name, "/", "-") // of a plugin's version
	return filepath.Join(i.o.State, "replaced", name+"-"+i.o.Now().UTC().Format("20060102T150405")+"-"+id())
}

// carryOut stages the new folder, writes down what is about to happen, and does it. It
// can stop anywhere: recover ends it or takes it back.
func (i *Installer) carryOut(ctx context.Context, n intent, prov *Provenance) ([]string, error) {
	mark := id()
	n.Old = filepath.Join(n.Scope.Skills, "."+n.Name+".deft-old-"+mark)
	if n.Entry != nil {
		n.Fresh = filepath.Join(n.Scope.Skills, "."+n.Name+".deft-new-"+mark)
		if err := i.stage(ctx, n.Fresh, n.Tree, prov); err != nil {
			return nil, errors.Join(err, os.RemoveAll(n.Fresh))
		}
	}
	src, err := json.Marshal(n)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("install: %w", err), os.RemoveAll(n.Fresh))
	}
	journal := filepath.Join(i.o.State, "journal")
	if err := os.MkdirAll(journal, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("install: %w", err), os.RemoveAll(n.Fresh))
	}
	at := filepath.Join(journal, mark+".json")
	if err := atomicfile.Write(at, src, 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(n.Fresh))
	}
	notes, err := i.perform(ctx, n)
	if err != nil {
		return notes, errors.Join(err, i.settle(ctx, at, n))
	}
	return notes, os.Remove(at)
}

// stage builds a tree from the store beside its target, and reads it again.
func (i *Installer) stage(ctx context.Context, dir string, digest skill.Digest, prov *Provenance) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	if err := fault.Err("install.stage"); err != nil {
		return fmt.Errorf("install %s: %w", dir, err)
	}
	tree, err := i.o.Trees.Get(ctx, digest)
	if err != nil {
		return err
	}
	if err := writeTree(ctx, i.o.Blobs, tree, dir); err != nil {
		return err
	}
	if prov != nil {
		src, err := json.MarshalIndent(prov, "", "  ")
		if err != nil {
			return fmt.Errorf("install: %w", err)
		}
		if err := atomicfile.Write(filepath.Join(dir, ProvenanceFile), append(src, '\n'), 0o644); err != nil {
			return err
		}
	}
	if prov != nil && prov.minara {
		src, err := prov.minaraRecord()
		if err != nil {
			return err
		}
		if err := atomicfile.Write(filepath.Join(dir, minaraFile), src, 0o644); err != nil {
			return err
		}
	}
	got, err := treeAt(ctx, dir)
	if err != nil {
		return err
	}
	if got.Digest() != digest {
		return fmt.Errorf("install %s: the folder that was written has the digest %s, not %s", dir, got.Digest(), digest)
	}
	return nil
}

// writeTree writes the files of a tree below a folder that is not there yet.
func writeTree(ctx context.Context, b blobs.Store, tree skill.Tree, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	defer root.Close()
	for _, f := range tree {
		if err := writeFile(ctx, b, root, f); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(ctx context.Context, b blobs.Store, root *os.Root, f skill.FileEntry) error {
	data, err := b.Get(ctx, f.Blob)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	name := filepath.FromSlash(f.Path)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	perm := fs.FileMode(0o644)
	if f.Exec {
		perm = 0o755
	}
	if err := atomicfile.WriteIn(root, name, data, perm); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	return nil
}

// perform is the change itself. Each step can be done again.
func (i *Installer) perform(ctx context.Context, n intent) (notes []string, err error) {
	if err := i.swap(ctx, n); err != nil {
		return nil, err
	}
	for _, l := range n.Drop {
		if err := os.RemoveAll(l.Path); err != nil { // a link is removed, not followed
			return nil, fmt.Errorf("install: %w", err)
		}
	}
	for _, l := range n.Links {
		if err := fault.Err("install.link"); err != nil {
			return nil, fmt.Errorf("install %s: %w", l.Path, err)
		}
		note, err := i.link(ctx, n, l)
		if err != nil {
			return nil, err
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	if err := fault.Err("install.lock"); err != nil {
		return nil, fmt.Errorf("install %s: %w", n.Scope.Lock, err)
	}
	lock, err := ReadLock(n.Scope.Lock, n.Scope.Name == "project")
	if err != nil {
		return nil, err
	}
	lock.record(n)
	if err := lock.Write(n.Scope.Lock); err != nil {
		return nil, err
	}
	note, err := i.publish(ctx, n)
	if err != nil {
		return nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	if err := i.putAside(n); err != nil {
		return notes, err
	}
	i.record(ctx, n.Did)
	return notes, nil
}

func (i *Installer) swap(ctx context.Context, n intent) error {
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
		err := atomicfile.Move(n.target(), n.Old)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if _, err := os.Lstat(n.Fresh); errors.Is(err, fs.ErrNotExist) {
		if tree, err := treeAt(ctx, n.target()); err == nil && tree.Digest() == n.Tree {
			return nil // a run before did it
		}
	}
	return atomicfile.Swap(n.Fresh, n.target(), n.Old)
}

// putAside keeps what was replaced where a person may look for it, or lets it go.
func (i *Installer) putAside(n intent) error {
	if _, err := os.Lstat(n.Old); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if n.Kept == "" {
		return os.RemoveAll(n.Old)
	}
	if err := os.MkdirAll(filepath.Dir(n.Kept), 0o700); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	if err := atomicfile.Move(n.Old, n.Kept); err == nil {
		return nil
	}
	// Another file system: copied, then removed.
	if err := os.CopyFS(n.Kept, os.DirFS(n.Old)); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	return os.RemoveAll(n.Old)
}

// link makes an agent's entry for the canonical copy: relative within a work tree, so
// that it holds in every checkout.
func (i *Installer) link(ctx context.Context, n intent, l Link) (note string, err error) {
	if err := os.MkdirAll(filepath.Dir(l.Path), 0o755); err != nil {
		return "", fmt.Errorf("install: %w", err)
	}
	if info, err := os.Lstat(l.Path); err == nil {
		if info.Mode().Type() == fs.ModeSymlink && leadsTo(l.Path, n.target()) && !n.Copy {
			return "", nil
		}
		if err := os.RemoveAll(l.Path); err != nil {
			return "", fmt.Errorf("install: %w", err)
		}
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
			return "", fmt.Errorf("install: %w", err)
		}
		note = "install_link_fell_back: no link may be made here; copied to " + l.Path
	}
	tree, err := i.o.Trees.Get(ctx, n.Tree)
	if err != nil {
		return "", err
	}
	if err := writeTree(ctx, i.o.Blobs, tree, l.Path); err != nil {
		return "", err
	}
	src, err := os.ReadFile(filepath.Join(n.target(), ProvenanceFile))
	if err != nil {
		return note, nil //nolint:nilerr // without a record the copy is a plain skill
	}
	return note, atomicfile.Write(filepath.Join(l.Path, ProvenanceFile), src, 0o644)
}

// notHeld is what Windows says to a person without the privilege to make links.
const notHeld = syscall.Errno(1314)

// unprivileged reports whether a link failed for want of a right to make one. Every other
// cause, such as a full disk, would stop a copy too, and is told.
func unprivileged(err error) bool {
	return errors.Is(err, syscall.EPERM) || runtime.GOOS == "windows" && errors.Is(err, notHeld)
}

// recover ends what an earlier process left. The lock is held.
func (i *Installer) recover(ctx context.Context) error {
	list, err := filepath.Glob(filepath.Join(i.o.State, "journal", "*.json"))
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	for _, at := range list {
		src, err := os.ReadFile(at)
		if err != nil {
			return fmt.Errorf("install: %w", err)
		}
		var n intent
		if err := json.Unmarshal(src, &n); err != nil || n.Format != 1 {
			return fmt.Errorf("%w: %s tells of a change that can't be read", ErrLockDamaged, at)
		}
		if err := i.settle(ctx, at, n); err != nil {
			return err
		}
	}
	return nil
}

// settle ends a change whose new folder is in its place, and takes every other back.
func (i *Installer) settle(ctx context.Context, at string, n intent) error {
	if i.swapped(ctx, n) {
		n.Did.Again = true
		if _, err := i.perform(ctx, n); err != nil {
			return err
		}
		return os.Remove(at)
	}
	if _, err := os.Lstat(n.target()); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(n.Old); err == nil {
			if err := atomicfile.Move(n.Old, n.target()); err != nil {
				return fmt.Errorf("install: %w", err)
			}
		}
	}
	if n.Fresh != "" {
		if err := os.RemoveAll(n.Fresh); err != nil {
			return fmt.Errorf("install: %w", err)
		}
	}
	return os.Remove(at)
}

// swapped reports whether the new state is at the target.
func (i *Installer) swapped(ctx context.Context, n intent) bool {
	if n.Entry == nil {
		_, err := os.Lstat(n.target())
		return n.Stays || errors.Is(err, fs.ErrNotExist)
	}
	if _, err := os.Lstat(n.Fresh); err == nil {
		// After an exchange the old folder has the new one's name for a moment.
		fresh, err := treeAt(ctx, n.Fresh)
		if err != nil || fresh.Digest() == n.Tree {
			return false
		}
		if tree, err := treeAt(ctx, n.target()); err != nil || tree.Digest() != n.Tree {
			return false
		}
		return atomicfile.Move(n.Fresh, n.Old) == nil
	}
	tree, err := treeAt(ctx, n.target())
	return err == nil && tree.Digest() == n.Tree
}
