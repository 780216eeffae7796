package install

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"syscall"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/fault"
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
	Err     error // what stopped it, nil where it is in or refused; those beside it go on
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
	err := i.locked(ctx, "add", p.choice.Scope, func() (bad error) {
		for _, it := range ready {
			done, err := i.apply(ctx, p, it)
			if err != nil {
				done = Done{Item: it, Err: fmt.Errorf("skill %q: %w", it.Name, err)}
				bad = errors.Join(bad, done.Err)
			}
			if out = append(out, done); ctx.Err() != nil {
				break
			}
		}
		return bad
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

func (i *Installer) apply(ctx context.Context, p *Plan, it Item) (Done, error) {
	// Between plan and lock another process may have come: what is at the target is looked
	// at again. The bytes that licence and scanner saw are those in memory.
	lock, err := ReadLock(p.choice.Scope.Lock, p.choice.Scope.Name == "project")
	if err != nil {
		return Done{}, err
	}
	it.Links, it.Asks, it.Before = nil, nil, nil
	if e, ok := lock.part(p.choice.Scope)[p.choice.Scope.key(it.Name)]; ok {
		it.Before = &e
	}
	if base := p.choice.base; base != nil && (it.Before == nil || !reflect.DeepEqual(*base, *it.Before)) {
		it.Refused = &Reason{CodeBusy, "another process has changed it meanwhile"}
		return Done{Item: it}, nil
	}
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
	n := intent{Scope: p.choice.Scope, Name: it.Name, Tree: it.Digest, Before: it.Before, Entry: &entry, Links: it.Links, Copy: p.choice.Copy}
	n.Kept, n.Took = i.keepWhat(ctx, n), lock.takes(n)
	prov := i.provenance(p, it, entry)
	n.Did = i.did(p.choice, it, entry)
	notes, err := i.carryOut(ctx, n, &prov)
	if err == nil {
		i.keepScan(ctx, it)
	}
	return Done{Item: it, Written: err == nil, Notes: notes}, err
}

// did is how the install of a skill is recorded.
func (i *Installer) did(c Choice, it Item, e Entry) Change {
	var from skill.Digest
	if it.Before != nil {
		from = it.Before.Tree
	}
	did := i.change(cmp.Or(c.action, DidInstall), c.Scope, it.Name, from, e.Tree, e.Source)
	did.Licence, did.Pin, did.Accepted = e.Licence, e.Pin, it.taken()
	return did
}

// keepWhat is where the folder at the target goes, "" where it need not be kept: what a
// person made or edited is, what the store has is not.
func (i *Installer) keepWhat(ctx context.Context, n intent) string {
	info, err := os.Lstat(n.target())
	if err != nil {
		return ""
	}
	if tree, err := treeAt(ctx, n.target()); info.IsDir() && err == nil && n.Before != nil && tree.Digest() == n.Before.Tree {
		return ""
	}
	return i.aside(n.Scope.key(n.Name))
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
	e := Entry{Source: it.Origin(p.Origin), Tree: it.own().Digest, Licence: it.Licence.SPDX, Pin: p.choice.Pin, Mode: "link"}
	if p.choice.Copy {
		e.Mode = "copy"
	}
	e.Exec = execOf(it.own().Tree)
	for _, l := range it.Links {
		e.Agents = append(e.Agents, l.Agent)
	}
	e.For, e.Needs = p.choice.For, NeedsOf(it.own().Skill)
	if it.Before != nil {
		e.extra, e.Off = it.Before.extra, it.Before.Off
		e.For = slices.Compact(slices.Sorted(slices.Values(slices.Concat(e.For, it.Before.For))))
	}
	return e
}

func (i *Installer) provenance(p *Plan, it Item, e Entry) Provenance {
	prov := Provenance{
		Format: provenanceFormat, ID: id(), Name: p.choice.Scope.key(it.Name), Source: e.Source, Tree: e.Tree, Files: len(it.own().Files),
		Licence: it.Licence, At: i.o.Now().UTC(), Installer: i.o.Program, Mode: e.Mode, Agents: e.Agents,
	}
	prov.minara, prov.Unverified, prov.Signed = p.choice.Scope.Minara, p.unverified, p.signed
	if was, err := ReadProvenance(it.Target); err == nil {
		prov.History = was.after(prov.Tree)
	}
	if i.o.Scanner != nil {
		prov.Scan = &ScanSummary{Rules: it.Scan.Rules, Blocking: it.Scan.Blocking, Complete: it.Scan.Complete, Accepted: it.taken(), Disabled: i.o.Scanner.Disabled()}
	}
	return prov
}

func id() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
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
		src, err := prov.bytes()
		if err != nil {
			return err
		}
		if err := fault.Err("install.provenance"); err != nil {
			return fmt.Errorf("install %s: %w", dir, err)
		}
		if err := atomicfile.Write(filepath.Join(dir, ProvenanceFile), src, 0o644); err != nil {
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
	if err := fault.Err("install.verify"); err != nil {
		return fmt.Errorf("install %s: %w", dir, err)
	}
	if err := syncTree(dir, tree); err != nil {
		return fmt.Errorf("install %s: %w", dir, err)
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

// syncTree brings the names of folders to disk that hold folders alone; the others were
// when their files were written.
func syncTree(dir string, tree skill.Tree) error {
	done := map[string]bool{}
	for _, f := range tree {
		for at := dirOf(f.Path); at != "" && !done[at]; at = dirOf(at) {
			done[at] = true
			if err := atomicfile.SyncDir(filepath.Join(dir, filepath.FromSlash(dirOf(at)))); err != nil {
				return err
			}
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
		return fmt.Errorf("install %s: %w", filepath.Join(root.Name(), name), err)
	}
	return nil
}

// notHeld is what Windows says to a person without the privilege to make links.
const notHeld = syscall.Errno(1314)

// unprivileged reports whether a link failed for want of a right to make one. Every other
// cause, such as a full disk, would stop a copy too, and is told.
func unprivileged(err error) bool {
	return errors.Is(err, syscall.EPERM) || runtime.GOOS == "windows" && errors.Is(err, notHeld)
}
