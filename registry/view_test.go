package registry_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deftskills/deft/internal/casetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// viewed returns a registry whose views search the roots of their workspace.
func viewed(t *testing.T, e source.Env, trust registry.Truster) *registry.Registry {
	t.Helper()
	srcs, diags := source.Roots(t.Context(), e)
	r, err := registry.Open(t.Context(), registry.Config{
		Sources: srcs, Diagnostics: diags, Trust: trust, Workspace: e.Workspace, Now: e.Now,
		Views: registry.Views{Env: e, Sources: func(ctx context.Context, _ registry.Scope, e source.Env) ([]source.Source, []skill.Diagnostic) {
			return source.Roots(ctx, e)
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func viewOf(t *testing.T, r *registry.Registry, s registry.Scope) *registry.View {
	t.Helper()
	v, err := r.View(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

func addressesOf(rs []*registry.Record) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Address)
	}
	return out
}

func touch(t *testing.T, v *registry.View, paths ...string) registry.Delta {
	t.Helper()
	d, err := v.Touch(t.Context(), paths...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCase023SkillsOfAPackageComeWhenItIsTouched(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "023")
	r := viewed(t, env(c, c.Project), registry.ProjectAlways)
	v, other := viewOf(t, r, registry.Scope{}), viewOf(t, r, registry.Scope{})
	before := v.Snapshot()
	want(t, "before", winners(before), []string{"top"})
	outer := lookup(t, before, "top").Dir

	d := touch(t, v, "packages/shop/src/cart.txt")
	want(t, "added", addressesOf(d.Added), []string{"shop-rules", "top"})
	now := v.Snapshot()
	want(t, "after", winners(now), []string{"shop-rules", "top", "top@workspace-agents:" + c.Project})
	want(t, "top inside", lookup(t, now, "top").Dir, filepath.Join(c.Project, "packages/shop/.agents/skills/top"))
	want(t, "by package", lookup(t, now, "top@packages/shop").Dir, filepath.Join(c.Project, "packages/shop/.agents/skills/top"))
	want(t, "the text already sent", winners(before), []string{"top"})
	want(t, "another session", winners(other.Snapshot()), []string{"top"})
	if now.Version <= before.Version {
		t.Errorf("version %d after %d", now.Version, before.Version)
	}

	touch(t, v, "README.md") // work outside of the package too
	now = v.Snapshot()
	want(t, "top outside", lookup(t, now, "top").Dir, outer)
	want(t, "by package", lookup(t, now, "top@packages/shop").Address, "top@packages/shop")
	want(t, "usable", string(lookup(t, now, "top@packages/shop").State), "available")

	if _, err := v.ForTurn(t.Context()); err != nil {
		t.Fatal(err)
	}
	d = touch(t, v, filepath.Join(c.Project, "packages/shop/src/cart.txt"))
	want(t, "added again", len(d.Added), 0)
	want(t, "top in the next turn", strings.Contains(lookup(t, v.Snapshot(), "top").Dir, "shop"), true)
	snap, err := v.ForTurn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "top in a turn that touched nothing", lookup(t, snap, "top").Dir, outer)
}

// decisions trusts what was decided, by package.
type decisions struct {
	mu  sync.Mutex
	yes map[string]bool
}

func (d *decisions) Trust(_ context.Context, i source.Info, _ *skill.Skill) (source.Trust, registry.Reason) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i.Trust == source.Pending && d.yes[i.Package] {
		return source.Workspace, registry.Reason{}
	}
	return i.Trust, registry.Reason{Code: "untrusted", Message: "nobody has trusted it", Fix: "trust it"}
}

func TestCase023AnUntrustedPackageIsAskedForFirst(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "023")
	trust := &decisions{yes: map[string]bool{"": true}}
	v := viewOf(t, viewed(t, env(c, c.Project), trust), registry.Scope{})
	d := touch(t, v, "packages/shop/src/cart.txt")
	want(t, "added", len(d.Added), 0)
	if len(d.Pending) != 1 || d.Pending[0].Package != "packages/shop" || d.Pending[0].Skills != 2 || d.Pending[0].Reason.Fix == "" {
		t.Fatalf("pending = %+v", d.Pending)
	}
	if r, err := v.Snapshot().LookupForModel("shop-rules"); err == nil {
		t.Errorf("a model finds %s", r.Dir)
	}
	want(t, "top", strings.Contains(lookup(t, v.Snapshot(), "top").Dir, "shop"), false)
	trust.mu.Lock()
	trust.yes["packages/shop"] = true
	trust.mu.Unlock()
	d = touch(t, v, "packages/shop/src/cart.txt")
	want(t, "pending", len(d.Pending), 0)
	want(t, "added", addressesOf(d.Added), []string{"shop-rules", "top"})
}

func TestTouchIgnoresWhatIsNotBelowTheWorkspace(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "023")
	out := filepath.Join(c.Dir, "outside")
	if err := os.MkdirAll(filepath.Join(out, ".agents/skills/evil"), 0o755); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(out, ".agents/skills/evil/SKILL.md"), []byte("---\nname: evil\ndescription: d\n---\nx\n"), 0o644)
	if err := os.Symlink(out, filepath.Join(c.Project, "packages/away")); err != nil {
		t.Fatal(err)
	}
	v := viewOf(t, viewed(t, env(c, c.Project), registry.ProjectAlways), registry.Scope{})
	d := touch(t, v, "packages/away/x.txt", "../x", filepath.Join(out, "y"), "", "a\x00b", "node_modules/p/x.js", ".")
	want(t, "added", len(d.Added), 0)
	want(t, "all", len(v.Snapshot().All), 1)
}

func TestAtMostSixtyFourPackagesASession(t *testing.T) {
	t.Parallel()
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	var paths []string
	for i := range 70 {
		p := fmt.Sprintf("p%02d", i)
		root := filepath.Join(dir, p, ".claude/skills", p)
		if err := os.MkdirAll(root, 0o755); err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(root, "SKILL.md"), []byte("---\nname: "+p+"\ndescription: d\n---\nx\n"), 0o644)
		paths = append(paths, p+"/x.go")
	}
	e := source.Env{Workspace: dir, OS: "linux", External: true}
	v := viewOf(t, viewed(t, e, registry.ProjectAlways), registry.Scope{})
	d := touch(t, v, paths...)
	want(t, "added", len(d.Added), 64)
	want(t, "codes", codesOf(d.Diagnostics), []string{"limit_packages"})
	d = touch(t, v, paths...)
	want(t, "said again", len(d.Diagnostics), 0)
}

func TestCase026TwoProjectsInOneProcessNeverMix(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "026")
	a, b := c.Path("project-a"), c.Path("project-b")
	r := viewed(t, env(c, a), registry.ProjectAlways)
	var group sync.WaitGroup
	for range 4 {
		for ws, own := range map[string]string{a: "only-a", b: "only-b"} {
			group.Go(func() {
				for range 3 {
					v, err := r.View(t.Context(), registry.Scope{Workspace: ws})
					if err != nil {
						t.Error(err)
						return
					}
					want(t, ws, winners(v.Snapshot()), []string{"everywhere", own})
					v.Close()
				}
			})
		}
	}
	group.Wait()
	first, second := viewOf(t, r, registry.Scope{Workspace: a}), viewOf(t, r, registry.Scope{Workspace: a})
	if first.Snapshot() != second.Snapshot() || first.ID() != second.ID() {
		t.Error("equal scopes share nothing")
	}
}

func memory(names ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, n := range names {
		m["skills/"+n+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + n + "\ndescription: Does " + n + ".\n---\nBody of " + n + ".\n")}
	}
	return m
}

func TestNoFilesystemIsNeverTheDiskInstead(t *testing.T) {
	t.Parallel()
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	if err := os.CopyFS(dir, memory("on-disk")); err != nil {
		t.Fatal(err)
	}
	for dialect, code := range map[skill.Dialect]string{skill.Deft: "filesystem_not_resolved", skill.Mastra: "FILESYSTEM_NOT_RESOLVED"} {
		r, err := registry.Open(t.Context(), registry.Config{Workspace: dir, Dialect: dialect, Views: registry.Views{
			Forms: []string{"skills"},
			FS:    func(context.Context, registry.RequestContext) (fs.FS, error) { return nil, nil },
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.View(t.Context(), registry.Scope{})
		if !errors.Is(err, registry.ErrNoFilesystem) || !strings.Contains(err.Error(), code) {
			t.Errorf("%s: %v", dialect, err)
		}
	}
}

func TestViewsAreKeptUpToTheirNumberAndBusyOnesAlways(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var gone []string
	trees := map[string]fs.FS{}
	for i := range 5 {
		trees[fmt.Sprint(i)] = memory(fmt.Sprintf("s%d", i))
	}
	r, err := registry.Open(t.Context(), registry.Config{Views: registry.Views{
		Max: 2, Forms: []string{"skills"},
		FS: func(_ context.Context, c registry.RequestContext) (fs.FS, error) {
			return trees[c.Value("tenant").(string)], nil
		},
		Evicted: func(id string) {
			mu.Lock()
			defer mu.Unlock()
			gone = append(gone, id)
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) *registry.View {
		v, err := r.View(t.Context(), registry.Scope{Request: registry.NewRequest(map[string]any{"tenant": fmt.Sprint(i)})})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "skills", winners(v.Snapshot()), []string{fmt.Sprintf("s%d", i)})
		return v
	}
	var busy []*registry.View
	for i := range 5 {
		busy = append(busy, at(i))
	}
	want(t, "evicted while busy", len(gone), 0)
	again := at(0)
	if again.Snapshot() != busy[0].Snapshot() {
		t.Error("a busy view was made twice")
	}
	again.Close()
	for _, v := range busy {
		v.Close()
		v.Close()
	}
	want(t, "evicted when idle", gone, []string{busy[0].ID(), busy[1].ID(), busy[2].ID()})
	kept := at(4)
	if kept.Snapshot() != busy[4].Snapshot() {
		t.Error("a kept view was made anew")
	}
	kept.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "evicted at the end", len(gone), 5)
	if _, err := registry.Open(t.Context(), registry.Config{Views: registry.Views{Max: -1}}); err == nil {
		t.Error("fewer than one view is no error")
	}
}

func TestResolversAreAskedOnceARequestAndAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	calls, failing := 0, true
	r, err := registry.Open(t.Context(), registry.Config{Workspace: t.TempDir(), Views: registry.Views{
		Reads: memory("a", "b"),
		Paths: func(_ context.Context, c registry.RequestContext) ([]string, error) {
			calls++
			if failing {
				return nil, errors.New("no answer")
			}
			return []string{fmt.Sprint("skills/", c.Value("id"))}, nil
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	one := registry.NewRequest(map[string]any{"id": "a"})
	if _, err := r.View(t.Context(), registry.Scope{Request: one}); err == nil {
		t.Fatal("no error")
	}
	failing = false
	v := viewOf(t, r, registry.Scope{Request: one})
	if v.Snapshot() != viewOf(t, r, registry.Scope{Request: one}).Snapshot() {
		t.Error("one request, two views")
	}
	want(t, "calls", calls, 2)
	want(t, "skills", winners(v.Snapshot()), []string{"a"})
	same := registry.NewRequest(map[string]any{"id": "a"}) // equal contents, another request
	viewOf(t, r, registry.Scope{Request: same})
	want(t, "calls", calls, 3)
}

func TestAliasesResolveAfterNamesAndPaths(t *testing.T) {
	t.Parallel()
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	if err := os.CopyFS(dir, memory("alpha", "beta")); err != nil {
		t.Fatal(err)
	}
	for _, dialect := range []skill.Dialect{skill.Deft, skill.Mastra, skill.MiniMax} {
		e := source.Env{Workspace: dir, Format: source.Format{Dialect: dialect}}
		srcs, _ := source.Expand(t.Context(), []string{"skills"}, e)
		r, err := registry.Open(t.Context(), registry.Config{Sources: srcs, Dialect: dialect, Workspace: dir})
		if err != nil {
			t.Fatal(err)
		}
		before := r.Snapshot()
		r.Alias("sandbox://x/alpha/SKILL.md", "alpha")
		r.Alias("beta", "alpha")
		r.Alias("gone", "nothing")
		for sel, name := range map[string]string{"sandbox://x/alpha": "alpha", "sandbox://x/alpha/SKILL.md": "alpha", "beta": "beta"} {
			want(t, string(dialect)+" "+sel, lookup(t, before, sel).Skill.Name, name)
		}
		if _, err := r.Snapshot().Lookup("gone"); err == nil {
			t.Errorf("%s: an alias to nothing is a skill", dialect)
		}
	}
}

func TestAddAndRemoveChangeOneSkillWithoutAScan(t *testing.T) {
	t.Parallel()
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	if err := os.CopyFS(dir, memory("alpha", "beta")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "far"), memory("gamma")); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(time.Hour)
	e := source.Env{Workspace: dir, Now: func() time.Time { now = now.Add(time.Second); return now }}
	srcs, _ := source.Expand(t.Context(), []string{"skills"}, e)
	r, err := registry.Open(t.Context(), registry.Config{Sources: srcs, Workspace: dir, Now: e.Now})
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(dir, "skills/beta/SKILL.md"), []byte("---\nname: beta\ndescription: New.\n---\nx\n"), 0o644)
	for _, path := range []string{"far/skills/gamma/SKILL.md", "far/skills/gamma"} {
		s, err := r.Add(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "after add", winners(s), []string{"alpha", "beta", "gamma"})
		want(t, "others unread", lookup(t, s, "beta").Skill.Description, "Does beta.")
	}
	s, err := r.Add(t.Context(), "skills/beta")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "replaced", lookup(t, s, "beta").Skill.Description, "New.")
	want(t, "source", lookup(t, s, "beta").Source.ID, srcs[0].Info().ID)
	if _, err := r.Add(t.Context(), "nowhere"); err == nil {
		t.Error("nothing was added")
	}
	if s, err = r.Remove(t.Context(), "gamma"); err != nil {
		t.Fatal(err)
	}
	want(t, "after remove", winners(s), []string{"alpha", "beta"})
	want(t, "sources", len(r.Sources()), 1)
	if s, err = r.Remove(t.Context(), filepath.Join(dir, "skills/alpha")); err != nil {
		t.Fatal(err)
	}
	want(t, "after remove by path", winners(s), []string{"beta"})
	before := r.Snapshot()
	if s, err = r.Remove(t.Context(), "no-such"); err != nil || s != before {
		t.Errorf("unknown: %v %v", s == before, err)
	}
	if s, err = r.Refresh(t.Context(), registry.RefreshOptions{}); err != nil {
		t.Fatal(err)
	}
	want(t, "what lies there comes back", winners(s), []string{"alpha", "beta"})
}

func TestRequestsOfOneTenantNeverSeeAnother(t *testing.T) {
	t.Parallel()
	trees := [2]fs.FS{memory("mine", "same"), memory("theirs", "same")}
	r, err := registry.Open(t.Context(), registry.Config{Views: registry.Views{
		Max: 1, Forms: []string{"skills"},
		FS: func(_ context.Context, c registry.RequestContext) (fs.FS, error) {
			return trees[c.Value("n").(int)], nil
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for n, own := range []string{"mine", "theirs"} {
		for range 4 {
			group.Go(func() {
				for range 10 {
					v, err := r.View(t.Context(), registry.Scope{Request: registry.NewRequest(map[string]any{"n": n, "id": "equal"})})
					if err != nil {
						t.Error(err)
						return
					}
					got := winners(v.Snapshot())
					if !slices.Equal(got, []string{min(own, "same"), max(own, "same")}) {
						t.Errorf("%s: %v", own, got)
					}
					v.Close()
				}
			})
		}
	}
	group.Wait()
}
