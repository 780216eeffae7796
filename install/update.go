package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/install/merge3"
	"github.com/deftskills/deft/skill"
)

// The states of an installed skill against its source.
const (
	UpToDate        = "up_to_date"
	Newer           = "newer"
	Moved           = "moved"            // the skill of that name lies elsewhere now
	RemovedUpstream = "removed_upstream" // the source was read and has it no more
	Unknown         = "unknown"          // the source was not reached
	Pinned          = "pinned"
	SourceMissing   = "source_missing" // a folder of this machine that is gone
)

// Outdated is one skill against its source.
type Outdated struct {
	Name    string
	State   string
	Why     string // of unknown and source_missing
	Commit  string // of the source now
	Files   []string
	entry   Entry
	fetched *Fetched
	pack    Package
}

// Outdated looks exactly where the records say. A source is fetched once for all of its
// skills. One that is not reached makes its skills unknown, never removed.
func (i *Installer) Outdated(ctx context.Context, f *Fetcher, s Scope, names []string) ([]Outdated, error) {
	lock, err := ReadLock(s.Lock, s.Name == "project")
	if err != nil {
		return nil, err
	}
	type reply struct {
		f   *Fetched
		err error
	}
	seen := map[string]reply{}
	var out []Outdated
	for _, name := range lock.Names() {
		e := lock.Skills[name]
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		o := Outdated{Name: name, entry: e}
		if e.Pin != "" {
			o.State = Pinned
			out = append(out, o)
			continue
		}
		key := e.Source.Source().String()
		got, ok := seen[key]
		if !ok {
			only := *f
			only.Choose = ByDir(lock.foldersOf(key)...)
			got.f, got.err = only.Fetch(ctx, e.Source.Source())
			seen[key] = got
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := i.compare(ctx, &o, got.f, got.err); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// foldersOf are the folders of a source that skills were installed from.
func (l *Lock) foldersOf(source string) (dirs []string) {
	for _, e := range l.Skills {
		if e.Source.Source().String() == source {
			dirs = append(dirs, e.Source.Subpath)
		}
	}
	return dirs
}

func (i *Installer) compare(ctx context.Context, o *Outdated, f *Fetched, err error) error {
	switch {
	case errors.Is(err, ErrMissing):
		o.State, o.Why = SourceMissing, err.Error()
		return nil
	case errors.Is(err, ErrNotOffered):
		o.State, o.Why = RemovedUpstream, err.Error()
		return nil
	case err != nil:
		o.State, o.Why = Unknown, err.Error()
		return nil
	}
	if err := f.Failed[o.entry.Source.Subpath]; err != nil {
		o.State, o.Why = Unknown, err.Error()
		return nil
	}
	o.fetched, o.Commit = f, f.Origin.Commit
	// The folder that the record names is the one that counts, whatever else is there.
	here := *f
	here.Origin.Subpath = o.entry.Source.Subpath
	packs, err := Find(ctx, &here, FindOptions{Nested: here.Origin.Subpath != ""})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(packs, func(p Package) bool { return p.Dir == here.Origin.Subpath })
	if at < 0 {
		if packs, err = Find(ctx, f, FindOptions{}); err != nil {
			return err
		}
		at = slices.IndexFunc(packs, func(p Package) bool { return targetName(p.Skill) == o.Name || string(p.Skill.ID()) == o.Name })
		if at < 0 {
			o.State = RemovedUpstream
			return nil
		}
		o.State = Moved
	}
	o.pack, o.Commit = packs[at], packs[at].Origin(f.Origin).Commit
	if o.pack.Digest == o.entry.Tree {
		if o.State == "" {
			o.State = UpToDate
		}
		return nil
	}
	if o.State == "" {
		o.State = Newer
	}
	if was, err := i.o.Trees.Get(ctx, o.entry.Tree); err == nil {
		d := Compare(was, o.pack.Tree)
		o.Files = slices.Concat(d.Changed, d.Missing, d.Extra)
	}
	return nil
}

// What an update does with a skill that a person has edited.
const (
	KeepEdits  = "keep"   // it stays as it is
	TakeTheirs = "theirs" // the source's files; the edited ones are kept aside
	MergeBoth  = "merge"  // both changes, where they touch different lines
)

// Updated is what became of one skill.
type Updated struct {
	Name      string
	State     string // of Outdated, or updated, merged, kept, conflict, refused
	Edited    []string
	Conflicts []string // files with both sides between marks, see Dir
	Dir       string   // where the files of a conflict lie
	Why       *Reason
}

// Update brings a skill that is newer at its source, and leaves any other. onEdit is one
// of the words above. All checks of an install are made again.
func (i *Installer) Update(ctx context.Context, s Scope, agents []Agent, o Outdated, onEdit string, c Choice, a Answers) (Updated, error) {
	if !o.newer() {
		return o.asIs(), nil
	}
	u, err := i.update(ctx, s, agents, o, onEdit, c, a)
	if err != nil {
		return u, fmt.Errorf("skill %q: %w", o.Name, err)
	}
	return u, nil
}

// newer reports whether there is something to bring, which was fetched.
func (o Outdated) newer() bool { return o.State == Newer || o.State == Moved }

// Bring is what an update brings, and where it was fetched; false where there is nothing.
func (o Outdated) Bring() (*Fetched, Package, bool) { return o.fetched, o.pack, o.newer() }

// asIs is what becomes of a skill of which nothing is brought.
func (o Outdated) asIs() Updated {
	u := Updated{Name: o.Name, State: o.State}
	if o.Why != "" {
		u.Why = &Reason{o.State, o.Why}
	}
	return u
}

func (i *Installer) update(ctx context.Context, s Scope, agents []Agent, o Outdated, onEdit string, c Choice, a Answers) (Updated, error) {
	u := Updated{Name: o.Name, State: "updated"}
	c.Scope, c.Copy = s, o.entry.Mode == "copy"
	c.Agents, c.action = chosen(agents, o.entry.Agents), DidUpdate
	local, err := treeAt(ctx, filepath.Join(s.Skills, o.Name))
	if errors.Is(err, fs.ErrNotExist) {
		u.State, u.Why = Gone, &Reason{Gone, "its folder is not there; deft add installs it anew, deft remove forgets it"}
		return u, nil
	}
	pack := o.pack
	if err != nil || local.Digest() != o.entry.Tree {
		if err != nil {
			u.Edited = []string{err.Error()} // nobody can tell which
		} else {
			u.Edited = i.changed(ctx, o.entry.Tree, local)
		}
		switch onEdit {
		case TakeTheirs:
			if err != nil {
				break // the folder goes aside as a whole
			}
			if pack, err = i.withExtra(ctx, s, o, local, pack); err != nil {
				return u, err
			}
		case MergeBoth:
			if err != nil {
				return u, err
			}
			merged, err := i.merge(ctx, s, o, local)
			if err != nil {
				return u, err
			}
			if len(merged.conflicts) > 0 {
				u.State, u.Conflicts = "conflict", merged.conflicts
				u.Dir, err = i.keepConflict(ctx, s, o, local, merged)
				return u, err
			}
			if pack, err = repack(ctx, o.pack, merged.files); err != nil {
				return u, err
			}
			u.State = "merged"
		default:
			u.State = "kept"
			return u, nil
		}
	}
	c.base, c.Force = &o.entry, true // what is in the way is the skill itself, and goes aside when it was edited
	plan, err := i.Plan(ctx, o.fetched, []Package{pack}, c)
	if err != nil {
		return u, err
	}
	done, err := i.Apply(ctx, plan, a)
	if err != nil {
		return u, err
	}
	if why := done[0].Refused; why != nil {
		u.State, u.Why = "refused", why
	}
	return u, nil
}

// withExtra adds the files that a person put beside a skill: they survive every choice.
func (i *Installer) withExtra(ctx context.Context, s Scope, o Outdated, local skill.Tree, p Package) (Package, error) {
	was, err := i.o.Trees.Get(ctx, o.entry.Tree)
	if err != nil {
		return p, err
	}
	root, err := os.OpenRoot(filepath.Join(s.Skills, o.Name))
	if err != nil {
		return p, fmt.Errorf("update: %w", err)
	}
	defer root.Close()
	files := slices.Clone(p.Files)
	mine := func(e skill.FileEntry) ([]byte, error) { return readFile(root, filepath.FromSlash(e.Path)) }
	for _, extra := range Compare(was, local).Extra {
		if slices.ContainsFunc(files, func(f archive.File) bool { return f.Path == extra }) {
			continue
		}
		f, err := find(local, extra, mine).file()
		if err != nil {
			return p, fmt.Errorf("update: %w", err)
		}
		files = append(files, *f)
	}
	return repack(ctx, p, files)
}

func repack(ctx context.Context, p Package, files []archive.File) (Package, error) {
	c, err := treeOf(ctx, files)
	if err != nil {
		return p, err
	}
	if p.pristine == nil {
		whole := p
		p.pristine = &whole
	}
	p.Files, p.Tree, p.Digest = files, c.tree, c.tree.Digest()
	for _, f := range files {
		if f.Path == "SKILL.md" {
			p.Skill = skill.Parse(f.Data, skill.ParseOptions{Path: path.Join(p.Dir, f.Path), DirName: p.folder()})
			p.Problem = ""
			if !p.Skill.Valid {
				p.Problem = "its merged SKILL.md can't be read"
			}
		}
	}
	return p, nil
}

// merged is what a merge gives.
type merged struct {
	files     []archive.File
	conflicts []string       // files with marks
	sides     []archive.File // of those, the three versions, below base, local and remote
}

// merge makes the changes of both sides, file by file.
func (i *Installer) merge(ctx context.Context, s Scope, o Outdated, local skill.Tree) (m merged, err error) {
	was, err := i.o.Trees.Get(ctx, o.entry.Tree)
	if err != nil {
		return m, err
	}
	root, err := os.OpenRoot(filepath.Join(s.Skills, o.Name))
	if err != nil {
		return m, fmt.Errorf("update: %w", err)
	}
	defer root.Close()
	base := func(e skill.FileEntry) ([]byte, error) { return i.o.Blobs.Get(ctx, e.Blob) }
	mine := func(e skill.FileEntry) ([]byte, error) { return readFile(root, filepath.FromSlash(e.Path)) }
	theirs := func(e skill.FileEntry) ([]byte, error) {
		at := slices.IndexFunc(o.pack.Files, func(f archive.File) bool { return f.Path == e.Path })
		return o.pack.Files[at].Data, nil
	}
	var names []string
	for _, t := range []skill.Tree{was, local, o.pack.Tree} {
		for _, e := range t {
			names = append(names, e.Path)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		b, l, r := find(was, name, base), find(local, name, mine), find(o.pack.Tree, name, theirs)
		f, ok, err := mergeFile(name, b, l, r)
		if err != nil {
			return m, err
		}
		if f != nil {
			m.files = append(m.files, *f)
		}
		if ok {
			continue
		}
		m.conflicts = append(m.conflicts, name)
		for which, s := range map[string]side{"base": b, "local": l, "remote": r} {
			f, err := s.file()
			if err != nil {
				return m, fmt.Errorf("update: %w", err)
			}
			if f != nil {
				f.Path = which + "/" + name
				m.sides = append(m.sides, *f)
			}
		}
	}
	return m, nil
}

// side is one version of a file.
type side struct {
	there bool
	entry skill.FileEntry
	read  func(skill.FileEntry) ([]byte, error)
}

func find(t skill.Tree, name string, read func(skill.FileEntry) ([]byte, error)) side {
	i := slices.IndexFunc(t, func(e skill.FileEntry) bool { return e.Path == name })
	if i < 0 {
		return side{}
	}
	return side{true, t[i], read}
}

func (s side) file() (*archive.File, error) {
	if !s.there {
		return nil, nil
	}
	data, err := s.read(s.entry)
	return &archive.File{Path: s.entry.Path, Data: data, Exec: s.entry.Exec}, err
}

func (s side) same(o side) bool {
	return s.there == o.there && s.entry.Blob == o.entry.Blob && s.entry.Exec == o.entry.Exec
}

// mergeFile is what comes of one file; nil is none. ok is false for a conflict.
func mergeFile(name string, b, l, r side) (f *archive.File, ok bool, err error) {
	switch {
	case l.same(r), b.same(r):
		f, err = l.file()
		return f, true, err
	case b.same(l):
		f, err = r.file()
		return f, true, err
	}
	var texts [3][]byte
	for i, s := range []side{b, l, r} {
		if !s.there {
			continue
		}
		if texts[i], err = s.read(s.entry); err != nil {
			return nil, false, fmt.Errorf("update: %w", err)
		}
	}
	f = &archive.File{Path: name, Data: texts[1], Exec: l.entry.Exec}
	if l.entry.Exec == b.entry.Exec && r.there {
		f.Exec = r.entry.Exec
	}
	if !l.there { // removed here, changed there
		f = &archive.File{Path: name, Data: texts[2], Exec: r.entry.Exec}
	}
	if !l.there || !r.there || !text(texts[1]) || !text(texts[2]) {
		return f, false, nil
	}
	f.Data, ok = merge3.Merge(texts[0], texts[1], texts[2])
	return f, ok, nil
}

func text(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }
