package mastra

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// everyDialect runs a line that holds for all of them.
func everyDialect(t *testing.T, f func(t *testing.T, d skill.Dialect)) {
	t.Helper()
	for _, d := range skill.Dialects() {
		t.Run(string(d), func(t *testing.T) { t.Parallel(); f(t, d) })
	}
}

// own opens a workspace in deft's own dialect.
func own(t *testing.T, s setup) *host {
	t.Helper()
	s.dialect = skill.Deft
	return open(t, s)
}

func TestM001_TypeIsNotTakenFromTheConfiguredText(t *testing.T) {
	t.Parallel()
	m := inMemory()
	for _, dir := range []string{"node_modules/p/skills/a", ".mastra/skills-extra/b", "p/skills/c"} {
		m.put(dir+"/SKILL.md", text(dir[strings.LastIndexByte(dir, '/')+1:]))
	}
	s := own(t, setup{fsys: m, forms: []string{"node_modules/**/skills", "**/p/skills", ".mastra/skills-extra"}}).view().Snapshot()
	types := map[string]string{}
	for _, r := range s.Winners {
		types[r.Skill.Name] = typeOf(r)
	}
	want(t, "types", types, map[string]string{"a": "external", "b": "local", "c": "local"})
}

// linked is a skill on the disk with a link that leaves it.
func linked(t *testing.T, d skill.Dialect) *registry.Record {
	t.Helper()
	ws := onDisk(t, map[string]string{"secret.md": "secret", "skills/a/SKILL.md": text("a"), "skills/a/references/doc.md": "the doc"})
	if err := os.Symlink(filepath.Join(ws, "secret.md"), filepath.Join(ws, "skills/a/references/out.md")); err != nil {
		t.Fatal(err)
	}
	src := source.Dir(filepath.Join(ws, "skills"), source.DirOptions{Info: source.Info{Kind: source.User}, Format: source.Format{Dialect: d}})
	return need(t, open(t, setup{dialect: d, fsys: inMemory().files, sources: []source.Source{src}}).view().Snapshot(), "a")
}

func TestM002_LinksThatLeaveASkillAreNotRead(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, d skill.Dialect) {
		r := linked(t, d)
		_, err := read(t, r, "references/out.md")
		want(t, "read", errors.Is(err, source.ErrOutside), true)
		want(t, "listed", resources(t, r, "references"), []string{"doc.md"})
		_, _, err = source.Tree(t.Context(), r.Entry)
		var tree *skill.TreeError
		want(t, "published", errors.As(err, &tree) && tree.Diagnostic.Code == "tree_link_escape", true)
	})
}

func TestM004_AnAmbiguousNameFailsNobodyElse(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, d skill.Dialect) {
		m := inMemory("other")
		m.put("more/x/SKILL.md", text("x"))
		m.put("skills/x/SKILL.md", text("x"))
		s := open(t, setup{dialect: d, fsys: m, forms: []string{"skills", "more"}}).view().Snapshot()
		r := need(t, s, "other")
		l, err := source.Load(t.Context(), r.Entry)
		want(t, "load", []any{strings.Contains(l.Body, "Body of other."), err}, []any{true, nil})
		want(t, "listed", slices.Contains(names(s), "x"), true)
	})
}

func TestM010_FormsOfAPathAreOne(t *testing.T) {
	t.Parallel()
	v := own(t, setup{fsys: inMemory("alpha", "beta")}).view()
	for _, form := range []string{"./skills/alpha", "skills/alpha/", "skills/alpha/SKILL.md", "skills/alpha"} {
		want(t, form, need(t, v.Snapshot(), form).Skill.Name, "alpha")
	}
}

func TestM011_EditsInPlaceAreSeen(t *testing.T) {
	t.Parallel()
	m := inMemory("x")
	m.put("skills/x/references/doc.md", "old")
	v := own(t, setup{fsys: m}).view()
	m.put("skills/x/SKILL.md", strings.Replace(text("x"), "Does x.", "Something else.", 1))
	m.put("skills/x/references/doc.md", "new")
	r := need(t, refresh(t, v), "x")
	got, err := read(t, r, "references/doc.md")
	want(t, "description, reference, error", []any{r.Skill.Description, got, err}, []any{"Something else.", "new", nil})
}

func TestM012_CooldownCountsFromTheLastCheck(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	h := own(t, setup{fsys: m})
	v := h.view()
	h.pass(31 * time.Second)
	check(t, v)
	before, _ := m.counts()
	for range 3 {
		h.pass(9 * time.Second)
		check(t, v)
	}
	after, _ := m.counts()
	want(t, "operations of calls within the cooldown", after-before, 0)
}

func TestM013_WalksEnterNoDependenciesAndRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	m := inMemory("a", "b", "c", "d", "e", "f")
	for _, dir := range []string{".git/skills/x", "node_modules/p/skills/y"} {
		m.put(dir+"/SKILL.md", text(dir[len(dir)-1:]))
	}
	s := own(t, setup{fsys: m, forms: []string{"**/skills"}}).view().Snapshot()
	want(t, "list", names(s), []string{"a", "b", "c", "d", "e", "f"})
	want(t, "listings", []int{m.lists[".git"], m.lists["node_modules"]}, []int{0, 0})
	s = own(t, setup{fsys: m, forms: []string{"node_modules/p/skills"}}).view().Snapshot()
	want(t, "named", names(s), []string{"y"})
	m.delay = 5 * time.Millisecond
	m.peak = 0
	own(t, setup{fsys: m}).view()
	want(t, "more than one at once", m.peak > 1, true)
}

func TestM014_SlipsOfYamlLoseNoSkill(t *testing.T) {
	t.Parallel()
	m := inMemory()
	m.put("skills/colon/SKILL.md", "---\nname: colon\ndescription: Use when: it is late.\n---\nBody.\n")
	m.put("skills/123/SKILL.md", "---\nname: 123\ndescription: A number.\n---\nBody.\n")
	s := own(t, setup{fsys: m}).view().Snapshot()
	want(t, "description", need(t, s, "colon").Skill.Description, "Use when: it is late.")
	want(t, "name", need(t, s, "123").Skill.Name, "123")
}

func TestM015_YamlErrorsHaveFileAndLine(t *testing.T) {
	t.Parallel()
	m := inMemory()
	m.put("skills/x/SKILL.md", "---\nname: x\ndescription: [unclosed\n---\nBody.\n")
	s := own(t, setup{fsys: m}).view().Snapshot()
	for _, d := range s.All[0].Skill.Diagnostics {
		if d.Level == skill.LevelError {
			want(t, "place", []any{strings.Contains(d.File, "skills/x/SKILL.md"), d.Line > 1}, []any{true, true})
			return
		}
	}
	t.Errorf("no error: %v", s.All[0].Skill.Diagnostics)
}

func TestM016_FieldsAreNotDroppedWithoutNotice(t *testing.T) {
	t.Parallel()
	m := inMemory()
	m.put("skills/x/SKILL.md", "---\nname: x\ndescription: d\nallowed-tools: Read Grep\nallowed_toolz: Bash\n---\nBody.\n")
	r := need(t, own(t, setup{fsys: m}).view().Snapshot(), "x")
	want(t, "tools", r.Skill.Meta.AllowedTools.Entries, []string{"Read", "Grep"})
	want(t, "notice", slices.ContainsFunc(r.Skill.Diagnostics, func(d skill.Diagnostic) bool {
		return strings.Contains(d.Message, "allowed_toolz") && d.Line == 5
	}), true)
}

// opened is a file system that notes which files were opened.
type opened struct {
	*memory
	names *[]string
}

func (o opened) Open(name string) (fs.File, error) {
	o.mu.Lock()
	*o.names = append(*o.names, name)
	o.mu.Unlock()
	return o.memory.Open(name)
}

func TestM023_DiscoveryOpensSkillFilesOnly(t *testing.T) {
	t.Parallel()
	m, names := rich(), []string{}
	own(t, setup{fsys: opened{m, &names}}).view()
	want(t, "opened", names, []string{"skills/test-skill/SKILL.md"})
	want(t, "listed", []int{m.lists["skills/test-skill"], m.lists["skills/test-skill/references"]}, []int{0, 0})
}

func TestM024_ListsAndLookupsTouchNoFile(t *testing.T) {
	t.Parallel()
	m := inMemory("a", "b")
	s := own(t, setup{fsys: m}).view().Snapshot()
	before, _ := m.counts()
	for range 100 {
		names(s)
		need(t, s, "skills/a")
	}
	after, _ := m.counts()
	want(t, "operations", after-before, 0)
}

func TestM028_ViewsAreBoundedAndKnownByTheirFileSystem(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, d skill.Dialect) {
		gone := 0
		trees := map[int]fs.FS{}
		for i := range 40 {
			trees[i] = fstest.MapFS{fmt.Sprintf("skills/s%02d/SKILL.md", i): {Data: []byte(text(fmt.Sprintf("s%02d", i)))}}
		}
		h := open(t, setup{dialect: d, forms: []string{"skills"}, views: registry.Views{
			FS: func(_ context.Context, c registry.RequestContext) (fs.FS, error) {
				return trees[c.Value("n").(int)], nil
			},
			Evicted: func(string) { gone++ },
		}})
		for i := range 40 { // an id that the caller sends says nothing
			v, err := h.r.View(t.Context(), registry.Scope{Request: registry.NewRequest(map[string]any{"n": i, "id": "the same"})})
			if err != nil {
				t.Fatal(err)
			}
			want(t, "own skills", names(v.Snapshot()), []string{fmt.Sprintf("s%02d", i)})
			v.Close()
		}
		want(t, "forgotten", gone, 24)
	})
}

func TestM029_AnUnresolvedFileSystemIsNeverTheDisk(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, d skill.Dialect) {
		h := open(t, setup{dialect: d, workspace: onDisk(t, skillsAt("skills/a")), views: registry.Views{
			FS: func(context.Context, registry.RequestContext) (fs.FS, error) { return nil, nil },
		}})
		_, err := h.r.View(t.Context(), registry.Scope{})
		var unresolved *registry.FilesystemError
		if !errors.As(err, &unresolved) {
			t.Fatalf("%v", err)
		}
		code := "filesystem_not_resolved"
		if d == skill.Mastra {
			code = "FILESYSTEM_NOT_RESOLVED"
		}
		want(t, "code", unresolved.Code(), code)
	})
}

func TestM030_ATieIsToldOnceASnapshot(t *testing.T) {
	t.Parallel()
	told := map[string]int{}
	m := inMemory("x")
	m.put("more/x/SKILL.md", text("x")+"Otherwise.\n")
	v := own(t, setup{fsys: m, forms: []string{"skills", "more"}, report: func(d skill.Diagnostic) { told[d.Code]++ }}).view()
	for range 20 {
		need(t, v.Snapshot(), "x")
	}
	refresh(t, v)
	want(t, "told", told["copies_differ"], 1)
	want(t, "in the Snapshot", slices.ContainsFunc(v.Snapshot().Diagnostics, func(d skill.Diagnostic) bool { return d.Code == "copies_differ" }), true)
}

func TestM032_RefreshesOfOtherRequestsAreNotShared(t *testing.T) {
	t.Parallel()
	one, two := inMemory("a"), inMemory("b")
	h := own(t, setup{views: registry.Views{FS: func(_ context.Context, c registry.RequestContext) (fs.FS, error) {
		if c.Value("tenant") == "one" {
			return one, nil
		}
		return two, nil
	}}})
	first := h.of(registry.NewRequest(map[string]any{"tenant": "one"}))
	second := h.of(registry.NewRequest(map[string]any{"tenant": "two"}))
	started, release := slowly(one)
	done := make(chan struct{})
	go func() { defer close(done); _, _ = first.Refresh(context.Background(), registry.RefreshOptions{}) }()
	<-started
	two.put("skills/c/SKILL.md", text("c"))
	want(t, "the other's, meanwhile", names(refresh(t, second)), []string{"b", "c"})
	release()
	<-done
}
