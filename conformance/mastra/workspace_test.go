package mastra

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

func TestW001_NoSkillsConfigured(t *testing.T) {
	t.Parallel()
	want(t, "list", names(open(t, setup{fsys: inMemory(), forms: []string{}}).view().Snapshot()), []string{})
}

func TestW002_TwoFoldersAreTwoSkills(t *testing.T) {
	t.Parallel()
	listed(t, []string{"skills"}, []string{"skills/a", "skills/b"}, []string{"skills/a", "skills/b"})
}

func TestW003_EntriesCarryTheirHeader(t *testing.T) {
	t.Parallel()
	r := need(t, open(t, setup{fsys: inMemory("test-skill")}).view().Snapshot(), "test-skill")
	want(t, "entry", []string{r.Skill.Name, r.Skill.Description, r.Skill.Meta.License, r.Path(), typeOf(r)},
		[]string{"test-skill", "Does test-skill.", "MIT", "skills/test-skill", "local"})
}

func TestW004_UserInvocableFalseStaysListed(t *testing.T) {
	t.Parallel()
	m := inMemory()
	m.put("skills/x/SKILL.md", "---\nname: x\ndescription: d\nuser-invocable: false\n---\nb\n")
	r := need(t, open(t, setup{fsys: m}).view().Snapshot(), "x")
	want(t, "kept", r.Skill.Meta.UserInvocable, false)
}

func TestW005_TwoRootsAreOneList(t *testing.T) {
	t.Parallel()
	listed(t, []string{"one", "two"}, []string{"one/a", "two/b"}, []string{"one/a", "two/b"})
}

func TestW006_UnknownNameIsNotFound(t *testing.T) {
	t.Parallel()
	want(t, "get", get(t, open(t, setup{fsys: inMemory("a")}).view().Snapshot(), "nope") == nil, true)
}

func TestW007_GetGivesBodyAndPath(t *testing.T) {
	t.Parallel()
	r := need(t, open(t, setup{fsys: inMemory("test-skill")}).view().Snapshot(), "test-skill")
	l, err := source.Load(t.Context(), r.Entry)
	want(t, "body", strings.TrimSpace(l.Body), "# Test Skill\n\nBody of test-skill.")
	want(t, "path, error", []any{r.Path(), err}, []any{"skills/test-skill", nil})
}

// rich is a skill with files of every kind.
func rich() *memory {
	m := inMemory("test-skill")
	for name, content := range map[string]string{
		"references/doc.md": "the doc", "references/deep/more.md": "more", "scripts/run.sh": "echo", "assets/a.bin": "\x00\xff", "docs/x.md": "x",
	} {
		m.put("skills/test-skill/"+name, content)
	}
	return m
}

func resources(t *testing.T, r *registry.Record, below string) []string {
	t.Helper()
	all, err := source.Resources(t.Context(), r.Entry)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range all {
		if rel, ok := strings.CutPrefix(f.Path, below+"/"); ok {
			out = append(out, rel)
		}
	}
	return out
}

func richSkill(t *testing.T) *registry.Record {
	t.Helper()
	return need(t, open(t, setup{fsys: rich()}).view().Snapshot(), "test-skill")
}

func TestW008_GetEnumeratesFilesByKind(t *testing.T) {
	t.Parallel()
	r := richSkill(t)
	want(t, "references", resources(t, r, "references"), []string{"deep/more.md", "doc.md"})
	want(t, "scripts", resources(t, r, "scripts"), []string{"run.sh"})
	want(t, "assets", resources(t, r, "assets"), []string{"a.bin"})
}

func TestW009_HasOfUnknown(t *testing.T) {
	t.Parallel()
	want(t, "has", get(t, open(t, setup{fsys: inMemory()}).view().Snapshot(), "x") != nil, false)
}

func TestW010_HasOfKnown(t *testing.T) {
	t.Parallel()
	want(t, "has", get(t, open(t, setup{fsys: inMemory("x")}).view().Snapshot(), "x") != nil, true)
}

func TestW011_AliasResolves(t *testing.T) {
	t.Parallel()
	v := open(t, setup{fsys: inMemory("x")}).view()
	v.Registry().Alias("/sandbox/x", "skills/x")
	want(t, "found", need(t, v.Snapshot(), "/sandbox/x").Path(), "skills/x")
}

func TestW012_AliasWithAndWithoutTheFile(t *testing.T) {
	t.Parallel()
	v := open(t, setup{fsys: inMemory("x", "y")}).view()
	v.Registry().Alias("/sandbox/x/SKILL.md", "skills/x/SKILL.md")
	v.Registry().Alias("/sandbox/y", "skills/y")
	for _, sel := range []string{"/sandbox/x", "/sandbox/x/SKILL.md", "/sandbox/y", "/sandbox/y/SKILL.md"} {
		need(t, v.Snapshot(), sel)
	}
}

func TestW013_RealNameBeatsAlias(t *testing.T) {
	t.Parallel()
	v := open(t, setup{fsys: inMemory("x", "y")}).view()
	v.Registry().Alias("x", "skills/y")
	v.Registry().Alias("skills/x", "skills/y")
	want(t, "name", need(t, v.Snapshot(), "x").Path(), "skills/x")
	want(t, "path", need(t, v.Snapshot(), "skills/x").Path(), "skills/x")
}

func TestW014_AliasToVanishedPath(t *testing.T) {
	t.Parallel()
	m := inMemory("x")
	v := open(t, setup{fsys: m}).view()
	v.Registry().Alias("/sandbox/x", "skills/x")
	m.drop("skills/x")
	want(t, "has", get(t, refresh(t, v), "/sandbox/x") != nil, false)
}

func TestW015_FormattedLocationComesBack(t *testing.T) {
	t.Parallel()
	v := open(t, setup{fsys: inMemory("x")}).view()
	shown := map[string]string{}
	for _, r := range v.Snapshot().Winners { // what a host's formatter makes of a location
		shown[r.Skill.Name] = "sandbox://host/" + r.Path() + "/SKILL.md"
		v.Registry().Alias(shown[r.Skill.Name], r.Path())
	}
	want(t, "found", need(t, v.Snapshot(), shown["x"]).Skill.Name, "x")
}

func TestW016_AddedSkillNeedsARefresh(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	v := open(t, setup{fsys: m}).view()
	m.put("skills/b/SKILL.md", text("b"))
	want(t, "before", names(v.Snapshot()), []string{"a"})
	want(t, "after", names(refresh(t, v)), []string{"a", "b"})
}

// slowly makes every listing wait until release is called; started hears of the first.
func slowly(m *memory) (started <-chan struct{}, release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hold, m.waiting = make(chan struct{}), make(chan struct{}, 1)
	hold := m.hold
	return m.waiting, sync.OnceFunc(func() {
		m.mu.Lock()
		m.hold = nil
		m.mu.Unlock()
		close(hold)
	})
}

func TestW017_ListDuringARefreshIsTheOldOne(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	v := open(t, setup{fsys: m}).view()
	m.put("skills/b/SKILL.md", text("b"))
	started, release := slowly(m)
	done := make(chan *registry.Snapshot)
	go func() { s, _ := v.Refresh(context.Background(), registry.RefreshOptions{}); done <- s }()
	<-started
	want(t, "during", names(v.Snapshot()), []string{"a"}) // it would hang if it waited
	release()
	want(t, "after", names(<-done), []string{"a", "b"})
}

// atOnce runs three calls of f that overlap, and returns what one of them alone and the
// three together cost in operations and in listings of the root.
func atOnce(t *testing.T, f func(h *host, v *registry.View)) (alone, together [2]int) {
	t.Helper()
	for _, calls := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			m := inMemory("a", "b")
			h := open(t, setup{fsys: m})
			views := []*registry.View{h.view(), h.view(), h.view()} // as requests have them
			ops, _ := m.counts()
			lists := m.lists["skills"]
			_, release := slowly(m)
			h.pass(31 * time.Second)
			var group sync.WaitGroup
			for _, v := range views[:calls] {
				group.Go(func() { f(h, v) })
			}
			synctest.Wait() // all of them have begun and wait
			release()
			group.Wait()
			now, _ := m.counts()
			alone, together = together, [2]int{now - ops, m.lists["skills"] - lists}
		})
	}
	return alone, together
}

func TestW018_ConcurrentRefreshesReadOnce(t *testing.T) {
	t.Parallel()
	alone, together := atOnce(t, func(h *host, v *registry.View) { refresh(h.t, v) })
	want(t, "operations, listings of the root", together, alone)
}

func TestW020_ConcurrentStalenessChecksLookOnce(t *testing.T) {
	t.Parallel()
	alone, together := atOnce(t, func(h *host, v *registry.View) { check(h.t, v) })
	want(t, "operations, listings of the root", together, alone)
}

func TestW019_PathsChangedDuringARefreshCountAfterwards(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	m.put("other/b/SKILL.md", text("b"))
	forms := []string{"skills"}
	var mu sync.Mutex
	h := open(t, setup{fsys: m, forms: []string{}, views: registry.Views{Paths: func(context.Context, registry.RequestContext) ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(forms), nil
	}}})
	v := h.view()
	started, release := slowly(m)
	done := make(chan struct{})
	go func() { defer close(done); _, _ = v.Refresh(context.Background(), registry.RefreshOptions{}) }()
	<-started
	mu.Lock()
	forms = []string{"other"}
	mu.Unlock()
	release()
	<-done
	want(t, "after", names(h.view().Snapshot()), []string{"b"})
}

func file(t *testing.T, rel string) string {
	t.Helper()
	got, err := read(t, richSkill(t), rel)
	if err != nil {
		t.Errorf("%s: %v", rel, err)
	}
	return got
}

func TestW027_ReferenceByPath(t *testing.T) {
	t.Parallel()
	want(t, "text", file(t, "references/doc.md"), "the doc")
}

func TestW028_FileInAnyFolder(t *testing.T) {
	t.Parallel()
	want(t, "text", file(t, "docs/x.md"), "x")
}

func TestW029_LeadingDotSlash(t *testing.T) {
	t.Parallel()
	want(t, "text", file(t, "./references/doc.md"), "the doc")
}

// TestW030_PathsThatClimbAreRefused pins the refusal; the words for a model are the
// tool's.
func TestW030_PathsThatClimbAreRefused(t *testing.T) {
	t.Parallel()
	_, err := read(t, richSkill(t), "../../etc/passwd")
	want(t, "refused", errors.Is(err, source.ErrOutside), true)
	want(t, "names the path", strings.Contains(err.Error(), "../../etc/passwd"), true)
}

func TestW031_MissingFileIsNotFound(t *testing.T) {
	t.Parallel()
	_, err := read(t, richSkill(t), "references/no.md")
	want(t, "not found", errors.Is(err, fs.ErrNotExist), true)
}

func TestW032_FileOfUnknownSkill(t *testing.T) {
	t.Parallel()
	want(t, "skill", get(t, open(t, setup{fsys: rich()}).view().Snapshot(), "nobody") == nil, true)
}

func TestW033_Script(t *testing.T) {
	t.Parallel()
	want(t, "text", file(t, "scripts/run.sh"), "echo")
}

func TestW034_AssetBytes(t *testing.T) {
	t.Parallel()
	want(t, "bytes", fmt.Sprintf("%x", file(t, "assets/a.bin")), "00ff")
}

func TestW035_ReferencesAreRecursiveAndRelative(t *testing.T) {
	t.Parallel()
	want(t, "references", resources(t, richSkill(t), "references"), []string{"deep/more.md", "doc.md"})
}

func TestW036_NoReferences(t *testing.T) {
	t.Parallel()
	r := need(t, open(t, setup{fsys: inMemory("x")}).view().Snapshot(), "x")
	want(t, "references", resources(t, r, "references"), []string{})
}

func TestW037_Scripts(t *testing.T) {
	t.Parallel()
	want(t, "scripts", resources(t, richSkill(t), "scripts"), []string{"run.sh"})
}

func TestW038_Assets(t *testing.T) {
	t.Parallel()
	want(t, "assets", resources(t, richSkill(t), "assets"), []string{"a.bin"})
}

// invalid returns the record of a skill that is not offered, with its findings.
func invalid(t *testing.T, s *registry.Snapshot, path string) []skill.Diagnostic {
	t.Helper()
	for _, r := range s.All {
		if r.Path() == path && r.State == registry.Invalid {
			return r.Skill.Diagnostics
		}
	}
	t.Fatalf("%s is not invalid", path)
	return nil
}

func TestW039_InvalidNameIsAbsentAndSaid(t *testing.T) {
	t.Parallel()
	m := inMemory("good")
	m.put("skills/Invalid_Name/SKILL.md", text("Invalid_Name"))
	s := open(t, setup{fsys: m}).view().Snapshot()
	want(t, "list", names(s), []string{"good"})
	d := invalid(t, s, "skills/Invalid_Name")
	want(t, "file", strings.HasSuffix(d[0].File, "skills/Invalid_Name/SKILL.md"), true)
}

func TestW040_WithoutValidationItLoads(t *testing.T) {
	t.Parallel()
	s := skill.Parse([]byte(text("Invalid_Name")), skill.ParseOptions{Dialect: skill.Mastra, DirName: "Invalid_Name", Unvalidated: true})
	want(t, "name, valid", []any{s.Name, s.Valid}, []any{"Invalid_Name", true})
}

func TestW041_NameUnlikeItsFolder(t *testing.T) {
	t.Parallel()
	m := inMemory("good")
	m.put("skills/folder/SKILL.md", text("other"))
	s := open(t, setup{fsys: m}).view().Snapshot()
	want(t, "list", names(s), []string{"good"})
	d := invalid(t, s, "skills/folder")
	want(t, "names both", strings.Contains(d[0].Message, `"other"`) && strings.Contains(d[0].Message, `"folder"`), true)
}

func typed(t *testing.T, form, dir string) string {
	t.Helper()
	var got []string
	m := inMemory()
	m.put(dir+"/x/SKILL.md", text("x"))
	got = append(got, typeOf(need(t, open(t, setup{fsys: m, forms: []string{form}}).view().Snapshot(), "x")))
	ws := onDisk(t, skillsAt(dir+"/x"))
	got = append(got, typeOf(need(t, open(t, setup{workspace: ws, forms: []string{form}}).view().Snapshot(), "x")))
	if got[0] != got[1] {
		t.Errorf("%s: in memory %s, on the disk %s", form, got[0], got[1])
	}
	return got[0]
}

func TestW042_PlainPathIsLocal(t *testing.T) {
	t.Parallel()
	want(t, "type", typed(t, "skills", "skills"), "local")
}

func TestW043_NodeModulesIsExternal(t *testing.T) {
	t.Parallel()
	want(t, "type", typed(t, "node_modules/p/skills", "node_modules/p/skills"), "external")
}

func TestW044_MastraSkillsIsManaged(t *testing.T) {
	t.Parallel()
	want(t, "type", typed(t, ".mastra/skills", ".mastra/skills"), "managed")
	want(t, "not a part of a name", typed(t, ".mastra/skills-extra", ".mastra/skills-extra"), "local")
}

func TestW045_ConcurrentFirstListsReadOnce(t *testing.T) {
	t.Parallel()
	m := inMemory("a", "b")
	h := open(t, setup{fsys: m})
	started, release := slowly(m)
	var group sync.WaitGroup
	got := make([][]string, 3)
	for i := range got {
		group.Go(func() { got[i] = names(h.view().Snapshot()) })
	}
	<-started
	release()
	group.Wait()
	want(t, "lists", got, [][]string{{"a", "b"}, {"a", "b"}, {"a", "b"}})
	alone := inMemory("a", "b")
	open(t, setup{fsys: alone}).view()
	want(t, "listings of the root", m.lists["skills"], alone.lists["skills"])
}

func perTenant(t *testing.T) (*host, *int) {
	m := inMemory()
	m.put("one/a/SKILL.md", strings.Replace(text("a"), "Body", "zebra zebra zebra Body", 1))
	m.put("two/b/SKILL.md", strings.Replace(text("b"), "Body", "zebra Body", 1))
	var mu sync.Mutex
	calls := 0
	h := open(t, setup{fsys: m, forms: []string{}, views: registry.Views{Paths: func(_ context.Context, c registry.RequestContext) ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return []string{c.Value("root").(string)}, nil
	}}})
	return h, &calls
}

func TestW046_RequestsSeeTheirOwnPathsOnly(t *testing.T) {
	t.Parallel()
	h, calls := perTenant(t)
	one, two := registry.NewRequest(map[string]any{"root": "one"}), registry.NewRequest(map[string]any{"root": "two"})
	var group sync.WaitGroup
	for _, c := range []struct {
		r          registry.RequestContext
		own, other string
	}{{one, "a", "b"}, {two, "b", "a"}} {
		for range 3 {
			group.Go(func() {
				s := h.of(c.r).Snapshot()
				if got := names(s); len(got) != 1 || got[0] != c.own || get(t, s, c.other) != nil {
					t.Errorf("%s sees %v", c.own, got)
				}
			})
		}
	}
	group.Wait()
	first, second := h.of(one).Snapshot(), h.of(one).Snapshot()
	want(t, "the same request, the same view", first == second, true)
	want(t, "calls", *calls, 2)
}

func TestW047_AnotherTenantsBetterHitTakesNoPlace(t *testing.T) {
	t.Parallel()
	h, _ := perTenant(t)
	x, err := search.Open(search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	ids := map[string]bool{}
	for root, own := range map[string]string{"one": "a", "two": "b"} {
		v := h.of(registry.NewRequest(map[string]any{"root": root}))
		ids[v.ID()] = true
		if _, err := x.Update(t.Context(), v.ID(), v.Snapshot()); err != nil {
			t.Fatal(err)
		}
		res, err := x.Search(t.Context(), search.Query{Scope: v.ID(), Text: "zebra", TopK: 1})
		if err != nil || len(res.Hits) != 1 || res.Hits[0].Name != own {
			t.Errorf("%s: %v %v", root, res.Hits, err)
		}
	}
	want(t, "scopes", len(ids), 2)
}
