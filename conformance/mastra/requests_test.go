package mastra

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/source"
)

func TestW048_NothingChangedNothingRead(t *testing.T) {
	t.Parallel()
	m := inMemory("a", "b")
	h := open(t, setup{fsys: m})
	v := h.view()
	ops, reads := m.counts()
	check(t, v)
	again, _ := m.counts()
	want(t, "within the cooldown", again, ops)
	h.pass(31 * time.Second)
	check(t, v)
	_, now := m.counts()
	want(t, "files read", now, reads)
}

func afterCooldown(t *testing.T, forms ...string) {
	t.Helper()
	m := inMemory("a")
	h := open(t, setup{fsys: m, forms: forms})
	v := h.view()
	m.put("skills/b/SKILL.md", text("b"))
	want(t, "within the cooldown", names(check(t, v)), []string{"a"})
	h.pass(31 * time.Second)
	want(t, "after it", names(check(t, v)), []string{"a", "b"})
}

func TestW049_NewerRootIsReadAfterTheCooldown(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	h := open(t, setup{fsys: m})
	v := h.view()
	m.put("skills/b/SKILL.md", text("b"))
	h.pass(31 * time.Second)
	before := m.lists["skills"]
	check(t, v)
	want(t, "read again", m.lists["skills"] > before, true)
}

func TestW050_AddedSkillIsFoundAfterTheCooldown(t *testing.T) {
	t.Parallel()
	afterCooldown(t, "skills")
}
func TestW051_SameWithAGlobOfFiles(t *testing.T) { t.Parallel(); afterCooldown(t, "**/SKILL.md") }
func TestW052_SameWithAGlobBelowARoot(t *testing.T) {
	t.Parallel()
	afterCooldown(t, "skills/**/SKILL.md")
}

// edited opens a workspace, changes a SKILL.md in place and checks again.
func edited(t *testing.T, fileTimes bool, before, after string, forms ...string) *registry.Snapshot {
	t.Helper()
	m := inMemory()
	m.put("skills/x/SKILL.md", before)
	h := open(t, setup{fsys: m, fileTimes: fileTimes, forms: forms})
	v := h.view()
	m.put("skills/x/SKILL.md", after)
	h.pass(31 * time.Second)
	return check(t, v)
}

func TestW053_CorrectedNameWithFileTimes(t *testing.T) {
	t.Parallel()
	need(t, edited(t, true, text("X_Y"), text("x")), "x")
}

func TestW054_ChangedDescriptionWithFileTimes(t *testing.T) {
	t.Parallel()
	s := edited(t, true, text("x"), strings.Replace(text("x"), "Does x.", "Something else.", 1))
	want(t, "description", need(t, s, "x").Skill.Description, "Something else.")
}

func TestW055_NewFolderWithoutFileTimes(t *testing.T) {
	t.Parallel()
	afterCooldown(t, "skills")
}

func TestW056_InPlaceChangeWithoutFileTimes(t *testing.T) {
	t.Parallel()
	s := edited(t, false, text("x"), strings.Replace(text("x"), "Does x.", "Something else.", 1))
	want(t, "description", need(t, s, "x").Skill.Description, "Does x.")
}

func TestW057_DirectPathWithFileTimes(t *testing.T) {
	t.Parallel()
	s := edited(t, true, text("x"), strings.Replace(text("x"), "Does x.", "Something else.", 1), "skills/x")
	want(t, "description", need(t, s, "x").Skill.Description, "Something else.")
}

// readOnly has the fewest methods that a source may have.
type readOnly struct{ fsys fs.FS }

func (r readOnly) Open(name string) (fs.File, error) { return r.fsys.Open(name) }

func TestW058_ReadOnlySourceLists(t *testing.T) {
	t.Parallel()
	want(t, "list", names(open(t, setup{fsys: readOnly{rich().files}}).view().Snapshot()), []string{"test-skill"})
}

func TestW059_ReadOnlySourceGets(t *testing.T) {
	t.Parallel()
	r := need(t, open(t, setup{fsys: readOnly{rich().files}}).view().Snapshot(), "test-skill")
	want(t, "references", resources(t, r, "references"), []string{"deep/more.md", "doc.md"})
}

func TestW060_ReadOnlySourceIsSearched(t *testing.T) {
	t.Parallel()
	x, err := search.Open(search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := x.Update(t.Context(), "", open(t, setup{fsys: readOnly{rich().files}}).view().Snapshot()); err != nil {
		t.Fatal(err)
	}
	res, err := x.Search(t.Context(), search.Query{Text: "body"})
	want(t, "hits, error", []any{len(res.Hits), err}, []any{1, nil})
}

// dynamic returns a workspace whose paths a function gives.
func dynamic(t *testing.T, m *memory, paths func(context.Context, registry.RequestContext) ([]string, error)) *host {
	return open(t, setup{fsys: m, forms: []string{}, views: registry.Views{Paths: paths}})
}

func TestW100_PlainResolver(t *testing.T) {
	t.Parallel()
	h := dynamic(t, inMemory("a"), func(context.Context, registry.RequestContext) ([]string, error) { return []string{"skills"}, nil })
	want(t, "list", names(h.view().Snapshot()), []string{"a"})
}

func TestW101_ResolverThatWaitsOnTheContext(t *testing.T) {
	t.Parallel()
	h := dynamic(t, inMemory("a"), func(ctx context.Context, _ registry.RequestContext) ([]string, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.r.View(ctx, registry.Scope{Request: registry.NewRequest(nil)})
	want(t, "error", errors.Is(err, context.Canceled), true)
}

func TestW102_ContextIsPassedAndPlainCallsGetTheEmptyOne(t *testing.T) {
	t.Parallel()
	var got []any
	h := dynamic(t, inMemory("a"), func(_ context.Context, c registry.RequestContext) ([]string, error) {
		got = append(got, c.Value("k"))
		return []string{"skills"}, nil
	})
	h.view()
	h.of(registry.NewRequest(map[string]any{"k": "v"}))
	want(t, "values", got, []any{nil, "v"})
}

func TestW103_AnotherContextAnotherSet(t *testing.T) {
	t.Parallel()
	h, _ := perTenant(t)
	want(t, "one", names(check(t, h.of(registry.NewRequest(map[string]any{"root": "one"})))), []string{"a"})
	want(t, "two", names(check(t, h.of(registry.NewRequest(map[string]any{"root": "two"})))), []string{"b"})
}

func TestW104_ChangedReturnValue(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	m.put("other/b/SKILL.md", text("b"))
	forms := []string{"skills"}
	h := dynamic(t, m, func(context.Context, registry.RequestContext) ([]string, error) { return forms, nil })
	want(t, "before", names(h.view().Snapshot()), []string{"a"})
	forms = []string{"skills", "other"}
	want(t, "after", names(h.view().Snapshot()), []string{"a", "b"})
}

func TestW105_SameValueReadsNothing(t *testing.T) {
	t.Parallel()
	m, calls := inMemory("a"), 0
	h := dynamic(t, m, func(context.Context, registry.RequestContext) ([]string, error) {
		calls++
		return []string{"skills"}, nil
	})
	h.view()
	ops, _ := m.counts()
	check(t, h.view())
	now, _ := m.counts()
	want(t, "operations, calls", []int{now - ops, calls}, []int{0, 2})
}

func TestW106_EmptyListIsNoSkills(t *testing.T) {
	t.Parallel()
	h := dynamic(t, inMemory("a"), func(context.Context, registry.RequestContext) ([]string, error) { return nil, nil })
	want(t, "list", names(h.view().Snapshot()), []string{})
}

func TestW107_OrderOfPathsIsNoChange(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	m.put("other/b/SKILL.md", text("b"))
	forms := []string{"skills", "other"}
	h := dynamic(t, m, func(context.Context, registry.RequestContext) ([]string, error) { return forms, nil })
	first := h.view().Snapshot()
	ops, _ := m.counts()
	forms = []string{"other", "skills"}
	now := h.view().Snapshot()
	after, _ := m.counts()
	want(t, "same view, operations of one look", []any{now == first, after - ops}, []any{true, 0})
}

// said returns the message of the only finding.
func said(t *testing.T, s *registry.Snapshot) string {
	t.Helper()
	if len(s.Diagnostics) != 1 {
		t.Fatalf("findings: %v", s.Diagnostics)
	}
	return s.Diagnostics[0].Message
}

func TestW108_RefusedAbsolutePathHasAHint(t *testing.T) {
	t.Parallel()
	got := said(t, open(t, setup{fsys: inMemory("a"), forms: []string{"/skills"}}).view().Snapshot())
	want(t, "ends with the hint", strings.HasSuffix(got, `(did you mean to use the relative path "skills"?)`), true)
}

func TestW109_OtherRefusalsAreBare(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"/nowhere", "../up"} {
		got := said(t, open(t, setup{fsys: inMemory("a"), forms: []string{form}}).view().Snapshot())
		want(t, "warning", got, fmt.Sprintf("Cannot access skills path %q", form))
	}
}

// faulty is a source that breaks its contract.
type faulty struct{ scan func() error }

func (f faulty) Info() source.Info {
	return source.Info{ID: "faulty", Kind: source.Project, Trust: source.Trusted}
}
func (f faulty) Scan(context.Context, *source.Listing) (*source.Listing, error) {
	return nil, f.scan()
}
func (f faulty) Open(context.Context, *source.Entry, string) (fs.File, error) {
	return nil, fs.ErrNotExist
}

func breaks(t *testing.T, scan func() error) {
	t.Helper()
	_, err := (&host{t: t}).open(setup{sources: []source.Source{&faulty{scan}}})
	want(t, "returned", errors.Is(err, source.ErrContract), true)
}

func TestW110_ProgrammingErrorsAreReturned(t *testing.T) {
	t.Parallel()
	breaks(t, func() error { panic("nil map") })
	breaks(t, func() error { return source.ErrContract })
}

func TestW111_WrappedProgrammingErrorsToo(t *testing.T) {
	t.Parallel()
	breaks(t, func() error { return fmt.Errorf("read: %w", source.ErrContract) })
	m := inMemory("a")
	m.refuse["skills"] = source.ErrContract
	_, err := open(t, setup{fsys: m}).r.View(t.Context(), registry.Scope{})
	want(t, "from a file system", errors.Is(err, source.ErrContract), true)
}

func TestW112_PermissionDeniedOnOneRoot(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	m.put("locked/b/SKILL.md", text("b"))
	m.refuse["locked"] = fs.ErrPermission
	s := open(t, setup{fsys: m, forms: []string{"locked", "skills"}}).view().Snapshot()
	want(t, "list", names(s), []string{"a"})
	want(t, "code", s.Diagnostics[0].Code, "root_unreadable")
}

func six() *memory { return inMemory("a", "b", "c", "d", "e", "f") }

func TestW113_SkillsAreReadAtTheSameTime(t *testing.T) {
	t.Parallel()
	m := six()
	m.delay = 5 * time.Millisecond
	open(t, setup{fsys: m}).view()
	want(t, "more than one at once", m.peak > 1, true)
}

func TestW114_StalenessCheckRunsAtTheSameTime(t *testing.T) {
	t.Parallel()
	m := six()
	h := open(t, setup{fsys: m, fileTimes: true})
	v := h.view()
	ops, _ := m.counts()
	m.mu.Lock()
	m.delay, m.peak = 5*time.Millisecond, 0
	m.mu.Unlock()
	h.pass(31 * time.Second)
	check(t, v)
	now, _ := m.counts()
	want(t, "at least 8 operations, several at once", []bool{now-ops >= 8, m.peak > 1}, []bool{true, true})
}

func TestW115_OperationsASkillAreConstant(t *testing.T) {
	t.Parallel()
	count := func(n int) int {
		m := inMemory()
		for i := range n {
			name := fmt.Sprintf("s%02d", i)
			m.put("skills/"+name+"/SKILL.md", text(name))
		}
		open(t, setup{fsys: m}).view()
		ops, _ := m.counts()
		return ops
	}
	three, six, twelve := count(3), count(6), count(12)
	want(t, "operations a skill", (twelve-six)*3, (six-three)*6)
}

func TestW120_HiddenFolderIsNoSkill(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	m.put("skills/.hidden/SKILL.md", text(".hidden"))
	s := open(t, setup{fsys: m}).view().Snapshot()
	want(t, "list", names(s), []string{"a"})
	want(t, "findings", len(invalid(t, s, "skills/.hidden")), 1)
}

func TestW121_LowerCaseFileIsNoSkill(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	m.put("skills/low/skill.md", text("low"))
	want(t, "list", names(open(t, setup{fsys: m}).view().Snapshot()), []string{"a"})
}

func TestW122_MarksLineEndsAndEmptyBodiesLoad(t *testing.T) {
	t.Parallel()
	m := inMemory()
	m.put("skills/bom/SKILL.md", "\ufeff"+text("bom"))
	m.put("skills/crlf/SKILL.md", strings.ReplaceAll(text("crlf"), "\n", "\r\n"))
	m.put("skills/empty/SKILL.md", "---\nname: empty\ndescription: d\n---\n")
	s := open(t, setup{fsys: m}).view().Snapshot()
	want(t, "list", names(s), []string{"bom", "crlf", "empty"})
	l, err := source.Load(t.Context(), need(t, s, "empty").Entry)
	want(t, "body, error", []any{l.Body, err}, []any{"", nil})
}

func TestW123_LinkedFolders(t *testing.T) {
	t.Parallel()
	ws := onDisk(t, skillsAt("real/linked"))
	if err := os.MkdirAll(filepath.Join(ws, "skills"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(ws, "real/linked"), filepath.Join(ws, "skills/linked")); err != nil {
		t.Fatal(err)
	}
	for form, found := range map[string]int{"skills": 1, "skills/linked": 1, "skills/**/SKILL.md": 0} {
		want(t, form, len(open(t, setup{workspace: ws, forms: []string{form}}).view().Snapshot().Winners), found)
	}
}

func TestW124_WithoutAFileSystemTheDiskIsRead(t *testing.T) {
	t.Parallel()
	ws := onDisk(t, skillsAt("skills/a"))
	want(t, "list", names(open(t, setup{workspace: ws}).view().Snapshot()), []string{"a"})
}

func TestW125_ExplicitSourceAnswersForEverything(t *testing.T) {
	t.Parallel()
	ws := onDisk(t, skillsAt("skills/on-disk"))
	configured := inMemory("configured")
	v := open(t, setup{workspace: ws, fsys: inMemory(), views: registry.Views{
		FS: func(context.Context, registry.RequestContext) (fs.FS, error) { return configured, nil },
	}}).view()
	ops, _ := configured.counts()
	want(t, "list, operations on the other", []any{names(v.Snapshot()), ops}, []any{[]string{}, 0})
}

func TestW128_ResolverFormsAreThoseOfALastingList(t *testing.T) {
	t.Parallel()
	m := inMemory("a", "b")
	m.put("one/c/SKILL.md", text("c"))
	m.put("file/d/SKILL.md", text("d"))
	m.put("glob/x/e/SKILL.md", text("e"))
	forms := []string{"skills", "one/c", "file/d/SKILL.md", "glob/**/SKILL.md"}
	lasting := open(t, setup{fsys: m, forms: forms}).view().Snapshot()
	h := dynamic(t, m, func(context.Context, registry.RequestContext) ([]string, error) { return forms, nil })
	want(t, "paths", paths(h.view().Snapshot()), paths(lasting))
	want(t, "number", len(lasting.Winners), 5)
}
