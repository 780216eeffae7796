package minimax

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// rootsOf are the plain roots of a world by what they are to the link rules.
func (w *world) global() string    { return filepath.Join(w.data, "skills") }
func (w *world) workspace() string { return filepath.Join(w.ws, ".claude/skills") }

func TestL01ImmediateChildrenOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "a"))
	w.skill(filepath.Join(w.global(), "g/b"))
	s := w.snapshot()
	equal(t, "skills", names(s), []string{"a"})
	equal(t, "codes", codes(s), nil)
}

func TestL02NestedSkillFilesPrivate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "a"))
	w.skill(filepath.Join(w.global(), "a/sub"))
	equal(t, "skills", names(w.snapshot()), []string{"a"})
}

func TestL03ExactFileName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(filepath.Join(w.global(), "a/skill.md"), text("a"))
	w.write(filepath.Join(w.global(), "SKILL.md"), text("stray"))
	s := w.snapshot()
	equal(t, "skills", names(s), nil)
	equal(t, "codes", codes(s), nil)
}

func TestL04NoIgnoreList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{".hidden", "node_modules", ".git"} {
		w.skill(filepath.Join(w.global(), name))
	}
	equal(t, "skills", names(w.snapshot()), []string{".git", ".hidden", "node_modules"})
}

func TestL05ChildWithoutSkillSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.global(), "empty")
	w.skill(filepath.Join(w.global(), "a"))
	equal(t, "codes", codes(w.snapshot()), nil)
}

func TestL06MissingRootWarns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.global())
	r := w.open()
	for range 2 {
		s, err := r.Refresh(t.Context(), registry.RefreshOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		for _, d := range s.Diagnostics {
			if d.Code == "root_unreadable" && d.Level == "warning" {
				n[d.File]++
			}
		}
		if n[filepath.Join(w.home, ".claude/skills")] != 1 || n[w.global()] != 0 || len(n) != 10 {
			t.Errorf("%v", n)
		}
	}
}

func TestL07SortedByRealPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := w.skill(filepath.Join(w.root, "aaa"))
	w.skill(filepath.Join(w.global(), "m"))
	w.link(out, filepath.Join(w.global(), "z"))
	w.link(out, filepath.Join(w.global(), "k"))
	var got []string
	for _, r := range w.snapshot().All {
		got = append(got, filepath.Base(r.Dir))
	}
	equal(t, "order", got, []string{"k", "z", "m"})
}

func TestL08LinkedRootEachWorkspaceSource(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{".agents/skills", ".claude/skills", ".minimax/skills"} {
		w := newWorld(t)
		w.env.LinksOut = true
		real := w.mkdir(w.root, "elsewhere", "skills")
		w.skill(filepath.Join(real, "x"))
		w.link(real, filepath.Join(w.ws, sub))
		s := w.snapshot()
		r := wins(t, s, "x", filepath.Join(w.ws, sub, "x"))
		if r == nil || r.RealDir != filepath.Join(real, "x") {
			t.Fatalf("%s: %+v", sub, r)
		}
		byURI, err := s.Lookup(r.Location)
		if err != nil {
			t.Fatal(err)
		}
		if l, err := source.Load(t.Context(), byURI.Entry); err != nil || l.Body != "Do it.\n" {
			t.Errorf("%s: %q %v", sub, l.Body, err)
		}
		equal(t, sub, codes(s), nil)
	}
}

func TestL09LinkedChildOutOfRoot(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"data/agents/mavis/skills", "data/skills", "home/.claude/skills", "bundle/skills", "repo/.minimax/skills"} {
		for _, relative := range []bool{false, true} {
			w := newWorld(t)
			target := w.skill(filepath.Join(w.root, "target"))
			link := filepath.Join(w.root, root, "x")
			to := target
			if relative {
				var err error
				if to, err = filepath.Rel(filepath.Dir(link), target); err != nil {
					t.Fatal(err)
				}
			}
			w.link(to, link)
			follows := func() {
				t.Helper()
				r := wins(t, w.snapshot(), "target", link)
				if r == nil || r.RealDir != target || r.Location != "files://"+target+"/SKILL.md" {
					t.Errorf("%s: %+v", root, r)
				}
			}
			if root != "repo/.minimax/skills" {
				follows()
				continue
			}
			s := w.snapshot()
			equal(t, root, names(s), nil)
			equal(t, root, codes(s), []string{"skill_outside_root"})
			w.env.LinksOut = true
			follows()
		}
	}
}

func TestL10TwoRootsOneDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.LinksOut = true
	real := w.mkdir(w.root, "shared")
	w.skill(filepath.Join(real, "x"))
	w.link(real, filepath.Join(w.ws, ".claude/skills"))
	w.link(real, filepath.Join(w.ws, ".agents/skills"))
	s := w.snapshot()
	r := wins(t, s, "x", filepath.Join(w.ws, ".claude/skills/x"))
	if len(names(s)) != 1 || len(s.All) != 2 || !strings.HasPrefix(r.Source.ID, "external:workspace-cc:") {
		t.Errorf("%d available, %d entries, winner of %s", len(names(s)), len(s.All), r.Source.ID)
	}
}

func TestL11LinkedChildTakesTargetName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	y := filepath.Dir(w.write(filepath.Join(w.root, "y/SKILL.md"), "---\ntitle: T\ndescription: d\n---\nDo.\n"))
	w.link(y, filepath.Join(w.global(), "x"))
	equal(t, "names", names(w.snapshot()), []string{"y"})
}

func TestL12SkillFileLinkRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.link(w.write(filepath.Join(w.root, "f.md"), text("a")), filepath.Join(w.global(), "a/SKILL.md"))
	s := w.snapshot()
	equal(t, "skills", names(s), nil)
	equal(t, "codes", codes(s), []string{"skill_symlink_rejected"})
}

func TestL13BrokenCyclicFileLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "good"))
	w.link(filepath.Join(w.root, "nothing"), filepath.Join(w.global(), "dangling"))
	w.link("self", filepath.Join(w.global(), "self"))
	w.link(w.write(filepath.Join(w.root, "file"), "x"), filepath.Join(w.global(), "file"))
	s := w.snapshot()
	equal(t, "skills", names(s), []string{"good"})
	equal(t, "codes", codes(s), []string{
		"skill_directory_link_not_directory", "skill_directory_link_unreadable", "skill_directory_link_unreadable",
	})
}

func TestL14BoundedRootWithoutFlag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.link(w.skill(filepath.Join(w.root, "out")), filepath.Join(w.workspace(), "x"))
	w.link(w.skill(filepath.Join(w.workspace(), "in")), filepath.Join(w.workspace(), "y"))
	s := w.snapshot()
	equal(t, "skills", names(s), []string{"in"}) // a link inside is no escape
	equal(t, "codes", codes(s), []string{"skill_outside_root"})
	// A root of kind project is bounded too.
	p := w.mkdir(w.root, "p")
	w.link(filepath.Join(w.root, "out"), filepath.Join(p, "x"))
	src := source.Dir(p, source.DirOptions{Info: source.Info{Kind: source.Project}, Format: w.env.Format})
	if s = w.snapshot(src); available(s, "out") != nil || len(codes(s)) != 2 {
		t.Errorf("%v", codes(s))
	}
}

func TestL15BoundedLinkedRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	real := w.mkdir(w.root, "elsewhere")
	w.skill(filepath.Join(real, "x"))
	w.skill(filepath.Join(real, "y"))
	w.link(real, w.workspace())
	s := w.snapshot()
	equal(t, "skills", names(s), nil)
	equal(t, "codes", codes(s), []string{"skill_outside_root", "skill_outside_root"})
}

func TestL16RetargetAfterRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.skill(filepath.Join(w.root, "one"), "version: first")
	two := w.skill(filepath.Join(w.root, "two"), "version: second")
	link := filepath.Join(w.global(), "x")
	w.link(one, link)
	r := w.open()
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	w.link(two, link)
	s, err := r.Refresh(t.Context(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "skills", names(s), []string{"two"})
	if rec := available(s, "two"); rec.RealDir != two || rec.Skill.Meta.Version != "second" {
		t.Errorf("%+v", rec)
	}
}

func TestL17SkillFileIsDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.global(), "a/SKILL.md")
	w.skill(filepath.Join(w.global(), "b"))
	s := w.snapshot()
	equal(t, "skills", names(s), []string{"b"})
	equal(t, "codes", codes(s), []string{"skill_file_not_file"})
}

// trapped is a tree of real files that does something when one of them is touched.
type trapped struct {
	fs.FS
	name string
	open func() error // before the file is opened
	stat func() error
	read func() error // before the first byte is read, each time it is opened
}

func (f *trapped) Open(name string) (fs.File, error) {
	if name == f.name && f.open != nil {
		if err := f.open(); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	file, err := f.FS.Open(name)
	if err != nil || name != f.name {
		return file, err
	}
	return &trappedFile{File: file, f: f}, nil
}

func (f *trapped) Stat(name string) (fs.FileInfo, error) {
	if name == f.name && f.stat != nil {
		if err := f.stat(); err != nil {
			return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
		}
	}
	return fs.Stat(f.FS, name)
}

type trappedFile struct {
	fs.File
	f     *trapped
	began bool
}

func (t *trappedFile) Read(b []byte) (int, error) {
	if t.f.read != nil && !t.began {
		t.began = true
		if err := t.f.read(); err != nil {
			return 0, err
		}
	}
	return t.File.Read(b)
}

// trap opens a root with a good skill and one, a, whose file f waits for.
func (w *world) trap(f *trapped) *registry.Registry {
	w.skill(filepath.Join(w.root, "trap/a"))
	w.skill(filepath.Join(w.root, "trap/good"))
	f.FS, f.name = os.DirFS(filepath.Join(w.root, "trap")), "a/SKILL.md"
	return w.open(source.FS(f, source.DirOptions{Info: source.Info{ID: "trap", Kind: source.User}, Format: w.env.Format, Now: w.env.Now}))
}

func TestL18ChangedDuringRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	calm := false
	r := w.trap(&trapped{read: func() error {
		if calm {
			return nil
		}
		f, err := os.OpenFile(filepath.Join(w.root, "trap/a/SKILL.md"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.WriteString(f, "more\n")
		return err
	}})
	equal(t, "skills", names(r.Snapshot()), []string{"good"})
	equal(t, "codes", codes(r.Snapshot()), []string{"skill_changed_during_read"})
	calm = true
	s, err := r.Refresh(context.Background(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "skills", names(s), []string{"a", "good"})
}

func TestL19UnchangedNotReRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "a"))
	w.skill(filepath.Join(w.workspace(), "b"))
	r := w.open()
	s, err := r.Refresh(t.Context(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Shape().Metrics; m.FilesReused != 2 || m.FilesRead != 0 {
		t.Errorf("%+v", m)
	}
}

func TestL20PermissionDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	denied := func() error { return fs.ErrPermission } // as mode 000 answers everybody but root
	s := w.trap(&trapped{open: denied}).Snapshot()
	equal(t, "skills", names(s), []string{"good"})
	equal(t, "codes", codes(s), []string{"skill_file_unreadable"})
	w = newWorld(t)
	dir := w.skill(filepath.Join(w.global(), "a"))
	w.skill(filepath.Join(w.global(), "good"))
	if err := os.Chmod(filepath.Join(dir, "SKILL.md"), 0); err != nil {
		t.Fatal(err)
	}
	if s = w.snapshot(); !slices.Contains(names(s), "good") {
		t.Errorf("%v", names(s))
	}
	if os.Getuid() != 0 {
		equal(t, "codes", codes(s), []string{"skill_file_unreadable"})
	}
}
