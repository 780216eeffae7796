package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/skill"
)

// treeAt is the tree of an installed folder, without what tools leave in it.
func treeAt(ctx context.Context, dir string) (skill.Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	defer root.Close()
	_, tree, err := skill.TreeDigest(ctx, clean{root.FS()})
	return tree, err
}

// DigestOf is the digest of an installed folder as records have it: without the record, and
// without what tools leave there.
func DigestOf(ctx context.Context, dir string) (skill.Digest, error) {
	tree, err := treeAt(ctx, dir)
	if err != nil {
		return "", err
	}
	return tree.Digest(), nil
}

// clean is a file system without what is not copied and not compared.
type clean struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (c clean) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(c.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return left(e.Name()) }), err
}

// ReadLink implements fs.ReadLinkFS.
func (c clean) ReadLink(name string) (string, error) { return fs.ReadLink(c.FS, name) }

// Lstat implements fs.ReadLinkFS.
func (c clean) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(c.FS, name) }

// Difference is how a tree differs from another, by path.
type Difference struct{ Changed, Missing, Extra, Mode []string }

// Any reports whether there is one.
func (d Difference) Any() bool {
	return len(d.Changed)+len(d.Missing)+len(d.Extra)+len(d.Mode) > 0
}

// Compare returns how now differs from was.
func Compare(was, now skill.Tree) (d Difference) {
	for _, w := range was {
		i := slices.IndexFunc(now, func(n skill.FileEntry) bool { return n.Path == w.Path })
		switch {
		case i < 0:
			d.Missing = append(d.Missing, w.Path)
		case now[i].Blob != w.Blob:
			d.Changed = append(d.Changed, w.Path)
		case now[i].Exec != w.Exec:
			d.Mode = append(d.Mode, w.Path)
		}
	}
	for _, n := range now {
		if !slices.ContainsFunc(was, func(w skill.FileEntry) bool { return w.Path == n.Path }) {
			d.Extra = append(d.Extra, n.Path)
		}
	}
	return d
}

// changed names the files of a folder that are not those of a tree in the store.
func (i *Installer) changed(ctx context.Context, was skill.Digest, now skill.Tree) []string {
	tree, err := i.o.Trees.Get(ctx, was)
	if err != nil {
		return []string{"files that can't be told: " + err.Error()}
	}
	d := Compare(tree, now)
	return slices.Concat(d.Changed, d.Missing, d.Extra)
}

// Status is what verify finds of one skill.
type Status struct {
	Name  string     `json:"name"`
	State string     `json:"state"` // one of the words below
	Diff  Difference `json:"diff"`
	Links []Link     `json:"links"` // that are broken or lead elsewhere
	Why   string     `json:"why"`   // what else there is to say, such as the file that is damaged
}

// The states of an installed skill.
const (
	OK           = "ok"
	Edited       = "edited"
	MissingFile  = "missing_file"
	ExtraFile    = "extra_file"
	ModeDiffers  = "mode"
	Gone         = "gone"  // a record without a folder
	Stray        = "stray" // a folder with our record that no lock file names
	LinkBroken   = "link_broken"
	LinkForeign  = "link_foreign"
	StoreDamaged = "store_damaged"
)

// Verify compares lock file, records, folders, links and store. names bounds it; empty =
// all. It ends changes that a process was stopped in, and changes nothing else.
func (i *Installer) Verify(ctx context.Context, s Scope, agents []Agent, names []string) (out []Status, err error) {
	err = i.steady(ctx, s, func() error {
		out, err = i.statuses(ctx, s, agents, names)
		return err
	})
	return out, err
}

func (i *Installer) statuses(ctx context.Context, s Scope, agents []Agent, names []string) ([]Status, error) {
	lock, err := ReadLock(s.Lock, s.Name == "project")
	if err != nil {
		return nil, err
	}
	var out []Status
	for _, name := range lock.Names() {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		out = append(out, i.verify(ctx, s, agents, name, lock.Skills[name]))
	}
	entries, err := os.ReadDir(s.Skills)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("verify: %w", err)
	}
	for _, e := range entries {
		if _, known := lock.Skills[e.Name()]; known || strings.HasPrefix(e.Name(), ".") || len(names) > 0 && !slices.Contains(names, e.Name()) {
			continue
		}
		if _, err := ReadProvenance(filepath.Join(s.Skills, e.Name())); err == nil {
			out = append(out, Status{Name: e.Name(), State: Stray, Why: fmt.Sprintf("%s does not name %s", s.Lock, filepath.Join(s.Skills, e.Name()))})
		}
	}
	return out, nil
}

func (i *Installer) verify(ctx context.Context, s Scope, agents []Agent, name string, e Entry) Status {
	st := Status{Name: name, State: OK}
	n := intent{Scope: s, Name: name}
	was, err := i.pristine(ctx, e.Tree)
	if err != nil {
		st.State, st.Why = StoreDamaged, err.Error()
		if why := n.unrecorded(s, e); why != "" {
			st.Why = why + "; " + st.Why // the record may be what is wrong
		}
		return st
	}
	now, err := treeAt(ctx, n.target())
	if errors.Is(err, fs.ErrNotExist) {
		st.State, st.Why = Gone, fmt.Sprintf("%s names it, and %s is not there", s.Lock, n.target())
		return st
	}
	if err != nil {
		st.State = Edited
		st.Diff.Changed = []string{err.Error()}
		return st
	}
	st.Diff = Compare(was, now)
	if st.Why = n.unrecorded(s, e); st.Why == "" && !slices.Equal(execOf(was), e.Exec) {
		st.Why = fmt.Sprintf("%s names other files that may be run than the skill has", s.Lock)
	}
	if st.Why != "" {
		st.State = Edited
	}
	for _, c := range []struct {
		state string
		files []string
	}{{ExtraFile, st.Diff.Extra}, {ModeDiffers, st.Diff.Mode}, {MissingFile, st.Diff.Missing}, {Edited, st.Diff.Changed}} {
		if len(c.files) > 0 {
			st.State = c.state
		}
	}
	for _, l := range s.links(chosen(agents, e.Agents), name) {
		if state := linkState(l, name, n.target()); state != OK {
			st.Links = append(st.Links, l)
			if st.State == OK {
				st.State = state
			}
		}
	}
	return st
}

// unrecorded says how a lock file's entry and the record in the folder differ, "" where
// they agree.
func (n intent) unrecorded(s Scope, e Entry) string {
	p, err := ReadProvenance(n.target())
	if errors.Is(err, fs.ErrNotExist) {
		return "" // the files are what counts
	}
	if err != nil {
		return err.Error()
	}
	for _, f := range []struct {
		what string
		same bool
	}{
		{"source", p.Source == e.Source}, {"tree", p.Tree == e.Tree}, {"licence", p.Licence.SPDX == e.Licence},
		{"mode", p.Mode == e.Mode}, {"agents", slices.Equal(p.Agents, e.Agents)},
	} {
		if !f.same && p.ID != "" { // another system's record has no id
			return fmt.Sprintf("%s and %s differ in %s", s.Lock, filepath.Join(n.target(), ProvenanceFile), f.what)
		}
	}
	return ""
}

// execOf are the files of a tree that may be run.
func execOf(t skill.Tree) (out []string) {
	for _, f := range t {
		if f.Exec {
			out = append(out, f.Path)
		}
	}
	return out
}

func linkState(l Link, name, target string) string {
	info, err := os.Lstat(l.Path)
	switch {
	case err != nil:
		return LinkBroken
	case info.Mode().Type() != fs.ModeSymlink:
		if p, err := ReadProvenance(l.Path); err == nil && p.Name == name {
			return OK
		}
		return LinkForeign
	case !leadsTo(l.Path, target):
		return LinkForeign
	}
	return OK
}

// pristine is a tree of the store, every blob of it read and compared.
func (i *Installer) pristine(ctx context.Context, d skill.Digest) (skill.Tree, error) {
	tree, err := i.o.Trees.Get(ctx, d)
	if err != nil {
		return nil, err
	}
	for _, f := range tree {
		if _, err := i.o.Blobs.Get(ctx, f.Blob); err != nil {
			return nil, err
		}
	}
	return tree, nil
}
