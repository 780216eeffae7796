package source_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// tempDir is a resolved temporary directory.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func addSkill(t testing.TB, root, name string) string {
	t.Helper()
	dir := filepath.Join(root, name)
	write(t, filepath.Join(dir, "SKILL.md"), text(filepath.Base(name)))
	return dir
}

func text(name string) string {
	return "---\nname: " + name + "\ndescription: Writes the text of " + name + ".\n---\n\n# " + name + "\n\nDo it.\n"
}

func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func scan(t testing.TB, s source.Source) *source.Listing {
	t.Helper()
	l, err := s.Scan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range l.Diagnostics {
		if d.Code == "" || d.File == "" || d.Message == "" || d.Level == "" {
			t.Errorf("diagnostic lacks a part: %+v", d)
		}
	}
	if !slices.IsSortedFunc(l.Entries, func(a, b *source.Entry) int { return strings.Compare(a.Location, b.Location) }) {
		t.Error("entries are not sorted by location")
	}
	return l
}

func dirNames(l *source.Listing) []string {
	var out []string
	for _, e := range l.Entries {
		out = append(out, filepath.Base(e.Dir))
	}
	slices.Sort(out)
	return out
}

func codes(ds []skill.Diagnostic) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Code)
	}
	slices.Sort(out)
	return out
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}

func TestR12HostileNamesAreListed(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	names := []string{"a\nb", "esc\x1b[31m", "bad\xff", "Ünïcode", "e\u0301", "\u00e9", "Case", "case", "per%cent", "sp ace", "ques?", "-dash"}
	for _, n := range names {
		write(t, filepath.Join(root, n, "SKILL.md"), "---\ndescription: Some text.\n---\nBody\n")
	}
	l := scan(t, source.Dir(root, source.DirOptions{}))
	if len(l.Entries) != len(names) {
		t.Errorf("%d entries, want %d: %q", len(l.Entries), len(names), dirNames(l))
	}
	for _, e := range l.Entries {
		if strings.ContainsAny(e.Location, "\n\x1b ?") || !utf8.ValidString(e.Location) {
			t.Errorf("location %q is not encoded", e.Location)
		}
		if _, err := source.Load(t.Context(), e); err != nil && !errors.Is(err, source.ErrInvalid) {
			t.Errorf("load %q: %v", e.Dir, err)
		}
	}
}

func TestLimitsAreNamedAndBoundTheWork(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	for _, n := range []string{"a", "b", "c", "d"} {
		addSkill(t, root, n)
	}
	addSkill(t, root, "g1/x")
	addSkill(t, root, "g2/y")
	for _, c := range []struct {
		name  string
		lim   limits.Scan
		code  string
		count int
	}{
		{"skills", limits.Scan{Skills: 3}, "limit_root", 3},
		{"directories", limits.Scan{Directories: 3}, "limit_walk", 0},
		{"names", limits.Scan{NameBytes: 3}, "limit_walk", 0},
		{"time", limits.Scan{Time: time.Nanosecond}, "limit_walk", 0},
	} {
		l := scan(t, source.Dir(root, source.DirOptions{Limits: c.lim}))
		if l.Complete || !slices.Contains(codes(l.Diagnostics), c.code) {
			t.Errorf("%s: complete %v, codes %q, want %s", c.name, l.Complete, codes(l.Diagnostics), c.code)
		}
		if c.count > 0 && len(l.Entries) != c.count {
			t.Errorf("%s: %d entries, want %d", c.name, len(l.Entries), c.count)
		}
	}
	small := scan(t, source.Dir(root, source.DirOptions{Format: source.Format{Limits: limits.Skill{File: 10}}}))
	for _, e := range small.Entries {
		if e.Skill.Valid || e.Skill.Diagnostics[0].Code != "limit_file" {
			t.Errorf("%s is over the limit and valid: %+v", e.Dir, e.Skill.Diagnostics)
		}
	}
}

func TestASkillAtTheDepthLimitIsReadAndBelowItNamed(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	addSkill(t, root, "1/2/3/4/5/six")
	addSkill(t, root, "1/2/3/4/5/6/seven")
	link(t, filepath.Join(root, "1/2/3/4/5/6/seven"), filepath.Join(root, "1/2/3/4/5/6/linked"))
	l := scan(t, source.Dir(root, source.DirOptions{}))
	equal(t, "skills", dirNames(l), []string{"six"})
	if len(l.Skipped) == 0 || l.Skipped[0].Name != "seven" || l.Skipped[0].Code != "too_deep" {
		t.Errorf("skipped: %+v", l.Skipped)
	}
}

func TestMoreDirectoriesThanOneBatchAreWalked(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	for i := range 2001 {
		if err := os.Mkdir(filepath.Join(root, "d"+strings.Repeat("x", i%7)+time.Duration(i).String()), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	addSkill(t, root, "zz")
	l := scan(t, source.Dir(root, source.DirOptions{Format: source.Format{Dialect: skill.AgentSkills}}))
	equal(t, "skills", dirNames(l), []string{"zz"})
	if !l.Complete {
		t.Error("the walk was cut")
	}
}

func TestAStrayFileIsReportedAndSiblingsAreRead(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	write(t, filepath.Join(root, "SKILL.md"), text("stray"))
	write(t, filepath.Join(root, "README.md"), "x")
	addSkill(t, root, "good")
	l := scan(t, source.Dir(root, source.DirOptions{}))
	equal(t, "skills", dirNames(l), []string{"good"})
	equal(t, "codes", codes(l.Diagnostics), []string{"root_skill_file"})
}

func TestPickSkillFileIsOneRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names  []string
		d      skill.Dialect
		picked string
		others int
	}{
		{[]string{"SKILL.md", "skill.md"}, skill.Deft, "SKILL.md", 1},
		{[]string{"skill.md", "Skill.md"}, skill.Deft, "Skill.md", 1},
		{[]string{"skill.MD"}, skill.Deft, "skill.MD", 0},
		{[]string{"skill.MD"}, skill.AgentSkills, "", 1},
		{[]string{"skill.md"}, skill.AgentSkills, "skill.md", 0},
		{[]string{"skills.md", "SKILL.md.bak", "SKILL.markdown"}, skill.Deft, "", 0},
	} {
		picked, others := source.PickSkillFile(c.names, c.d)
		if picked != c.picked || len(others) != c.others {
			t.Errorf("PickSkillFile(%q, %s) = %q, %q", c.names, c.d, picked, others)
		}
	}
}

func TestLinksOfAProjectStayInTheRepository(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	repo, outside, other := filepath.Join(top, "repo"), filepath.Join(top, "outside"), filepath.Join(top, "other")
	root := filepath.Join(repo, ".agents", "skills")
	addSkill(t, repo, "lib/inside")
	addSkill(t, outside, "secret")
	addSkill(t, other, "configured")
	link(t, "../../lib/inside", filepath.Join(root, "inside"))
	link(t, filepath.Join(outside, "secret"), filepath.Join(root, "secret"))
	link(t, outside, filepath.Join(root, "group"))
	link(t, filepath.Join(other, "configured"), filepath.Join(root, "configured"))
	link(t, "loop", filepath.Join(root, "loop"))
	link(t, "nowhere", filepath.Join(root, "gone"))
	o := source.DirOptions{Info: source.Info{Kind: source.Project}, Boundary: repo, Roots: []string{other}}
	l := scan(t, source.Dir(root, o))
	equal(t, "skills", dirNames(l), []string{"configured", "inside"})
	equal(t, "codes", codes(l.Diagnostics), []string{"dangling", "link_cycle", "link_outside", "link_outside"})

	o.Info.Kind = source.User
	l = scan(t, source.Dir(root, o))
	equal(t, "skills of a user", dirNames(l), []string{"configured", "inside", "secret"})
	o.Info.Links = source.LinksNone
	l = scan(t, source.Dir(root, o))
	equal(t, "skills without links", dirNames(l), nil)
}

func TestARootLinkOutOfTheRepositoryIsRefused(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	addSkill(t, filepath.Join(top, "outside"), "secret")
	root := filepath.Join(top, "repo", "skills")
	link(t, filepath.Join(top, "outside"), root)
	l := scan(t, source.Dir(root, source.DirOptions{Info: source.Info{Kind: source.Project}, Boundary: filepath.Join(top, "repo")}))
	equal(t, "skills", dirNames(l), nil)
	equal(t, "codes", codes(l.Diagnostics), []string{"link_outside"})
	user := scan(t, source.Dir(root, source.DirOptions{}))
	equal(t, "skills of a user", dirNames(user), []string{"secret"})
	if user.Entries[0].Dir == user.Entries[0].RealDir {
		t.Error("the entry hides where it really is")
	}
}

func TestASecondPathIsAnAlias(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	addSkill(t, root, "group/real")
	link(t, "group/real", filepath.Join(root, "a-link"))
	link(t, "group", filepath.Join(root, "b-link"))
	l := scan(t, source.Dir(root, source.DirOptions{}))
	equal(t, "skills", dirNames(l), []string{"real"})
	equal(t, "aliases", l.Entries[0].Aliases, []string{filepath.Join(root, "a-link")})
}

func TestOpenIsConfined(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	write(t, filepath.Join(root, "secret"), "secret")
	dir := addSkill(t, root, "skills/s")
	write(t, filepath.Join(dir, "ref", "a.md"), "inside")
	link(t, "ref/a.md", filepath.Join(dir, "in"))
	link(t, "../../secret", filepath.Join(dir, "out"))
	link(t, root, filepath.Join(dir, "outdir"))
	src := source.Dir(filepath.Join(root, "skills"), source.DirOptions{})
	e := scan(t, src).Entries[0]
	for rel, want := range map[string]string{"": text("s"), "SKILL.md": text("s"), "ref/a.md": "inside", "in": "inside", "./ref/../in": "inside"} {
		f, err := src.Open(t.Context(), e, rel)
		if err != nil {
			t.Errorf("open %q: %v", rel, err)
			continue
		}
		b, err := io.ReadAll(f)
		f.Close()
		if err != nil || string(b) != want {
			t.Errorf("read %q: %q %v", rel, b, err)
		}
	}
	for _, rel := range []string{"../secret", "/etc/passwd", "out", "outdir/secret", "ref/../../x", "a\x00b", "absent", ".."} {
		if f, err := src.Open(t.Context(), e, rel); err == nil {
			f.Close()
			t.Errorf("open %q succeeded", rel)
		} else if rel != "absent" && !errors.Is(err, source.ErrOutside) {
			t.Errorf("open %q: %v", rel, err)
		}
	}
}

func TestResourcesAreSortedAndBounded(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	dir := addSkill(t, root, "s")
	write(t, filepath.Join(dir, "b.md"), "12")
	write(t, filepath.Join(dir, "scripts", "run.sh"), "x")
	write(t, filepath.Join(dir, "1/2/3/4/shown"), "x")
	write(t, filepath.Join(dir, "1/2/3/4/5/hidden"), "x")
	write(t, filepath.Join(dir, "node_modules", "x.js"), "x")
	if err := os.Chmod(filepath.Join(dir, "scripts", "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "b.md", filepath.Join(dir, "linked"))
	got, err := source.Resources(t.Context(), scan(t, source.Dir(root, source.DirOptions{})).Entries[0])
	if err != nil {
		t.Fatal(err)
	}
	want := []source.Resource{{Path: "1/2/3/4/shown", Size: 1}, {Path: "b.md", Size: 2}, {Path: "scripts/run.sh", Size: 1, Exec: true}}
	if !slices.Equal(got, want) {
		t.Errorf("resources = %+v, want %+v", got, want)
	}
}

func TestLoadReadsOnceAndNoticesDrift(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	file := filepath.Join(addSkill(t, root, "s"), "SKILL.md")
	write(t, file, strings.ReplaceAll(text("s"), "\n", "\r\n"))
	e := scan(t, source.Dir(root, source.DirOptions{})).Entries[0]
	l, err := source.Load(t.Context(), e)
	if err != nil || l.Drift || l.Skill != e.Skill || strings.Contains(l.Body, "\r") || !strings.Contains(l.Body, "Do it.") {
		t.Fatalf("load: %+v %v", l, err)
	}
	write(t, file, strings.Replace(text("s"), "Do it.", "Do that.", 1))
	l, err = source.Load(t.Context(), e)
	if err != nil || !l.Drift || !strings.Contains(l.Body, "Do that.") || !slices.Contains(codes(l.Skill.Diagnostics), "drift") {
		t.Fatalf("load after a change: %+v %v", l, err)
	}
	write(t, file, "---\nname: [broken\n---\n")
	if l, err = source.Load(t.Context(), e); !errors.Is(err, source.ErrInvalid) || l.Body != "" {
		t.Fatalf("load of a broken file: %+v %v", l, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err = source.Load(t.Context(), e); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("load of a removed file: %v", err)
	}
}

func TestAnUnchangedFileIsNotReadAgain(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	dir := addSkill(t, root, "s")
	later := func() time.Time { return time.Now().Add(time.Hour) }
	src := source.Dir(root, source.DirOptions{Now: later})
	first := scan(t, src)
	again, err := src.Scan(t.Context(), first)
	if err != nil || again.Stats.FilesRead != 0 || again.Entries[0] != first.Entries[0] {
		t.Errorf("unchanged: %+v %v", again.Stats, err)
	}
	write(t, filepath.Join(dir, "SKILL.config.json"), `{"priority": 7}`)
	changed, err := src.Scan(t.Context(), again)
	if err != nil || changed.Stats.FilesRead != 1 || changed.Entries[0].Skill.Meta.Priority != 7 {
		t.Errorf("a new sidecar: %+v %v", changed.Stats, err)
	}
	young := source.Dir(root, source.DirOptions{})
	l := scan(t, young)
	if l, err = young.Scan(t.Context(), l); err != nil || l.Stats.FilesRead != 1 {
		t.Errorf("a file written within two seconds is believed: %+v %v", l.Stats, err)
	}
}

func TestFSServesEmbeddedSkills(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"init/SKILL.md":        {Data: []byte(text("init"))},
		"init/references/a.md": {Data: []byte("A")},
		"sub/deep/SKILL.md":    {Data: []byte(text("deep"))},
		"README.md":            {Data: []byte("x")},
	}
	src := source.FS(fsys, source.DirOptions{})
	l := scan(t, src)
	if len(l.Entries) != 2 || l.Entries[0].Location != "builtin:///init/SKILL.md" || l.Entries[1].Location != "builtin:///sub/deep/SKILL.md" {
		t.Fatalf("entries: %+v", l.Entries)
	}
	for _, e := range l.Entries {
		if e.Source.Kind != source.Builtin || e.Source.Trust != source.Trusted || e.Dir != "" {
			t.Errorf("entry %+v", e)
		}
		if got, err := source.Load(t.Context(), e); err != nil || got.Body == "" || got.Drift {
			t.Errorf("load %s: %v", e.Location, err)
		}
	}
	if r, err := source.Resources(t.Context(), l.Entries[0]); err != nil || len(r) != 1 || r[0].Path != "references/a.md" {
		t.Errorf("resources: %+v %v", r, err)
	}
	if _, err := src.Open(t.Context(), l.Entries[0], "../sub/deep/SKILL.md"); !errors.Is(err, source.ErrOutside) {
		t.Errorf("open outside: %v", err)
	}
	again, err := src.Scan(t.Context(), l)
	if err != nil || len(again.Entries) != 2 || again.Entries[0].Location != l.Entries[0].Location {
		t.Errorf("again: %+v %v", again, err)
	}
}

func TestDataSkillsFollowTheRulesOfFiles(t *testing.T) {
	t.Parallel()
	hostile := "---\nallowed-tools: Bash\nhooks: {x: y}\n---\nText"
	l := scan(t, source.Data([]source.Definition{
		{Name: "one", Description: "First: with a colon # and a mark.", Content: hostile, AllowedTools: []string{}},
		{Name: "two", Description: "Old.", Content: "x"},
		{Name: "two", Description: "New.", Content: "y", References: map[string]string{"ref/a.md": "A", "../out": "no"}},
		{Name: "blank", Description: "None.", Content: " \n"},
	}, source.DataOptions{}))
	equal(t, "codes", codes(l.Diagnostics), []string{"data_duplicate"})
	got := map[string]*source.Entry{}
	for _, e := range l.Entries {
		got[e.Skill.Name] = e
	}
	one := got["one"].Skill
	if one.Description != "First: with a colon # and a mark." || !one.Meta.AllowedTools.Declared || len(one.Meta.AllowedTools.Entries) != 0 || one.Meta.HasHooks {
		t.Errorf("one: %+v", one.Meta)
	}
	if b, err := source.Load(t.Context(), got["one"]); err != nil || strings.TrimSpace(b.Body) != hostile {
		t.Errorf("body: %q %v", b.Body, err)
	}
	if got["two"].Skill.Description != "New." {
		t.Error("the first of two definitions won")
	}
	if r, err := source.Resources(t.Context(), got["two"]); err != nil || len(r) != 1 || r[0].Path != "ref/a.md" {
		t.Errorf("resources: %+v %v", r, err)
	}
	if b := got["blank"].Skill; b.Valid || b.Diagnostics[0].Code != "data_content" {
		t.Errorf("blank content: %+v", b.Diagnostics)
	}
}

func TestDecoratorsChangeOneThing(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	addSkill(t, root, "a")
	addSkill(t, root, "b")
	for name, src := range map[string]source.Source{
		"dir":  source.Dir(root, source.DirOptions{}),
		"data": source.Data([]source.Definition{{Name: "a", Content: "x"}, {Name: "b", Content: "y"}}, source.DataOptions{}),
	} {
		d := source.Filter(source.Namespaced(source.WithPriority(source.WithTrust(src, source.Untrusted), 7), "p"),
			func(e *source.Entry) bool { return e.Skill.Name != "b" })
		l := scan(t, d)
		if len(l.Entries) != 1 {
			t.Fatalf("%s: %d entries", name, len(l.Entries))
		}
		i := l.Entries[0].Source
		if i.Trust != source.Untrusted || i.Priority != 7 || i.Namespace != "p" || i != d.Info() {
			t.Errorf("%s: %+v", name, i)
		}
		if src.Info().Trust == source.Untrusted {
			t.Errorf("%s: the inner source changed", name)
		}
		if _, err := source.Load(t.Context(), l.Entries[0]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoadExpandsTheDataDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "---\nname: a\ndescription: Keep notes in {{DATA_DIR}}/notes.\n---\r\nLook below {{DATA_DIR}}.\r\n"
	if err := os.WriteFile(filepath.Join(root, "a", "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"/data": "Look below /data.\n", "": "Look below {{DATA_DIR}}.\n"} {
		l, err := source.Dir(root, source.DirOptions{Format: source.Format{DataDir: dir}}).Scan(t.Context(), nil)
		if err != nil || len(l.Entries) != 1 {
			t.Fatalf("scan: %+v, %v", l, err)
		}
		got, err := source.Load(t.Context(), l.Entries[0])
		if err != nil || got.Body != want {
			t.Errorf("data directory %q: body %q, %v; want %q", dir, got.Body, err, want)
		}
	}
}
