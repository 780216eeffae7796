package blade

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

func TestBlade_B01_ProjectDefault(t *testing.T) {
	t.Parallel()
	r := record(t, local(t, project(t, "skills/deploy")).Snapshot(), "deploy")
	want(t, "kind", r.Source.Kind, source.Project)
}

func TestBlade_B02_ProjectDirForms(t *testing.T) {
	t.Parallel()
	p := project(t, "own/x")
	for _, form := range []string{"own", filepath.Join(p, "own")} {
		srcs, _ := source.Expand(t.Context(), []string{form}, env(p))
		want(t, form, record(t, of(t, srcs...).Snapshot(), "x").Dir, filepath.Join(p, "own/x"))
	}
}

func TestBlade_B03_NoUserDefault(t *testing.T) {
	t.Parallel()
	want(t, "found", names(local(t, project(t, "home/skills/a", "home/.claude/skills/b", ".claude/skills/c")).Snapshot()), []string{})
}

// every kind that holds x, the strongest first.
func every() []source.Source {
	return []source.Source{
		kept(source.Info{Kind: source.Managed}), data(define("x")), kept(source.Info{Kind: source.Project}), kept(source.Info{Kind: source.User}),
		kept(source.Info{Kind: source.PluginK}), kept(source.Info{Kind: source.Builtin}), kept(source.Info{Kind: source.MCP}),
	}
}

func TestBlade_B04_OrderOfKinds(t *testing.T) {
	t.Parallel()
	var got []source.Kind
	for all := every(); len(all) > 0; all = all[1:] {
		got = append(got, record(t, of(t, all...).Snapshot(), "x").Source.Kind)
	}
	want(t, "winners", got, "[managed data project user plugin builtin mcp]")
}

func TestBlade_B05_Constants(t *testing.T) {
	t.Parallel()
	for i, precedence := range []float64{500, 400, 300, 200, 150, 100, 50} {
		for _, d := range []float64{-1, 1} { // a source beside it wins by one and loses by one
			other := kept(source.Info{ID: "other", Kind: source.User, Priority: precedence + d})
			got := record(t, of(t, other, every()[i]).Snapshot(), "x").Source.ID == "other"
			want(t, string(every()[i].Info().Kind), got, d > 0)
		}
	}
	var trusts []source.Trust
	for _, s := range every() {
		trusts = append(trusts, source.WithTrust(s, source.DefaultTrust(s.Info().Kind)).Info().Trust)
	}
	// A project's is what the person decides, workspace once they trust the folder; a
	// plugin's is untrusted until a skill of it is granted.
	want(t, "trust", trusts, "[trusted trusted pending trusted untrusted trusted remote]")
}

func TestBlade_B06_Policies(t *testing.T) {
	t.Parallel()
	for _, s := range every() {
		policy := map[source.Kind]string{
			source.Managed: "allow", source.User: "allow", source.Builtin: "allow",
			source.Project: "inherit", source.PluginK: "inherit", source.MCP: "deny", source.DataDef: "deny",
		}[s.Info().Kind]
		want(t, string(s.Info().Kind), []any{s.Info().ShellPolicy(), s.Info().HooksPolicy()}, []any{policy, policy})
	}
}

func TestBlade_B07_OverrideDescriptor(t *testing.T) {
	t.Parallel()
	own := kept(source.Info{ID: "mine", Kind: source.User, Priority: 450, Trust: source.Workspace, Shell: source.PolicyDeny, Hooks: source.PolicyInherit})
	r := record(t, of(t, own, data(define("x"))).Snapshot(), "x")
	want(t, "as given", []any{r.Source.ID, r.Source.Priority, r.Source.Trust, r.Source.ShellPolicy(), r.Source.HooksPolicy()}, "[mine 450 workspace deny inherit]")
	want(t, "absent id", kept(source.Info{Kind: source.User}).Info().ID, "user")
}

func TestBlade_B08_ProjectOverUser(t *testing.T) {
	t.Parallel()
	s := of(t, kept(source.Info{Kind: source.User}), kept(source.Info{Kind: source.Project})).Snapshot()
	want(t, "entries", names(s), []string{"x"})
	want(t, "kind", record(t, s, "x").Source.Kind, source.Project)
	for _, d := range s.Diagnostics {
		want(t, d.Message, d.Level == skill.LevelError, false)
	}
}

func TestBlade_B09_BundledBeside(t *testing.T) {
	t.Parallel()
	s := local(t, project(t, "skills/deploy"), kept(source.Info{Kind: source.Builtin})).Snapshot()
	want(t, "kinds", []any{record(t, s, "deploy").Source.Kind, record(t, s, "x").Source.Kind}, "[project builtin]")
}

func dir(path, id string, priority float64) source.Source {
	return source.Dir(path, source.DirOptions{
		Info:   source.Info{ID: id, Kind: source.User, Priority: priority},
		Format: source.Format{Dialect: dialect},
	})
}

func TestBlade_B10_SameRealPath(t *testing.T) {
	t.Parallel()
	p := project(t, "real/x")
	if err := os.Symlink(filepath.Join(p, "real"), filepath.Join(p, "link")); err != nil {
		t.Fatal(err)
	}
	s := of(t, dir(filepath.Join(p, "real"), "a", 10), dir(filepath.Join(p, "link"), "b", 20)).Snapshot()
	want(t, "records, precedence", []any{len(s.All), s.All[0].Source.Priority}, []any{1, 20})
}

func TestBlade_B11_EqualPrecedence(t *testing.T) {
	t.Parallel()
	p := project(t, "one/x", "two/x")
	one, two := dir(filepath.Join(p, "one"), "one", 7), dir(filepath.Join(p, "two"), "two", 7)
	want(t, "last", record(t, of(t, one, two).Snapshot(), "x").Source.ID, "two")
	want(t, "last", record(t, of(t, two, one).Snapshot(), "x").Source.ID, "one")
}

func TestBlade_B12_EqualInOneDir(t *testing.T) {
	t.Parallel()
	p := project(t)
	put(t, filepath.Join(p, "skills/a/SKILL.md"), text("x"))
	put(t, filepath.Join(p, "skills/b/SKILL.md"), text("x"))
	s := local(t, p).Snapshot()
	r := record(t, s, "x")
	want(t, "winner", r.Dir, filepath.Join(p, "skills/b"))
	want(t, "loser", []any{len(r.Losers), r.Losers[0].State}, []any{1, registry.Shadowed})
}

// absent wants no skill, and a report of the place.
func absent(t *testing.T, s *registry.Snapshot, place string) {
	t.Helper()
	want(t, "found", names(s), []string{})
	for _, d := range s.Diagnostics {
		if strings.HasPrefix(d.File, place) {
			return
		}
	}
	t.Errorf("nothing is said of %s: %v", place, s.Diagnostics)
}

func TestBlade_B13_DirectChildren(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/group/x")
	absent(t, local(t, p).Snapshot(), filepath.Join(p, "skills/group/x"))
}

func TestBlade_B14_LinkedChild(t *testing.T) {
	t.Parallel()
	p := project(t, "real/x")
	if err := os.MkdirAll(filepath.Join(p, "skills"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(p, "real/x"), filepath.Join(p, "skills/x")); err != nil {
		t.Fatal(err)
	}
	absent(t, local(t, p).Snapshot(), filepath.Join(p, "skills/x"))
}

func TestBlade_B15_FileNameExact(t *testing.T) {
	t.Parallel()
	p := project(t)
	put(t, filepath.Join(p, "skills/x/skill.md"), text("x"))
	want(t, "found", names(local(t, p).Snapshot()), []string{})
}

func TestBlade_B16_MissingDir(t *testing.T) {
	t.Parallel()
	s := local(t, project(t)).Snapshot()
	want(t, "skills, findings", []int{len(s.All), len(s.Diagnostics)}, []int{0, 0})
}

func TestBlade_B17_OneBadOfThree(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/a", "skills/c")
	put(t, filepath.Join(p, "skills/b/SKILL.md"), "no header\n")
	s := local(t, p).Snapshot()
	want(t, "skills", names(s), []string{"a", "c"})
	if len(s.All) < 2 {
		t.Fatal(s.All)
	}
	want(t, "bad", []any{s.All[1].State, s.All[1].Skill.Diagnostics[0].File}, []any{registry.Invalid, filepath.Join(p, "skills/b/SKILL.md")})
}

func TestBlade_B18_InitializeTwice(t *testing.T) {
	t.Parallel()
	r := local(t, project(t, "skills/a"))
	before := r.Snapshot()
	s, err := r.Refresh(t.Context(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "skills, findings, files read", []any{names(s), len(s.Diagnostics), r.Snapshot() == before}, []any{[]string{"a"}, 0, true})
}

func TestBlade_B19_Refresh(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/a")
	r := local(t, p)
	put(t, filepath.Join(p, "skills/b/SKILL.md"), text("b"))
	want(t, "before", names(r.Snapshot()), []string{"a"})
	s, err := r.Refresh(t.Context(), registry.RefreshOptions{})
	want(t, "after, error", []any{names(s), err}, []any{[]string{"a", "b"}, nil})
}

// viewed is a registry whose views read the project folder of their workspace.
func viewed(t *testing.T, v registry.Views) *registry.Registry {
	t.Helper()
	v.Env = env("")
	if v.Sources == nil {
		v.Sources = func(ctx context.Context, _ registry.Scope, e source.Env) ([]source.Source, []skill.Diagnostic) {
			return source.Roots(ctx, e)
		}
	}
	r, err := registry.Open(t.Context(), registry.Config{Dialect: dialect, Trust: registry.ProjectAlways, Views: v})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func view(t *testing.T, r *registry.Registry, s registry.Scope) *registry.Snapshot {
	t.Helper()
	v, err := r.View(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v.Snapshot()
}

func TestBlade_B20_CwdChange(t *testing.T) {
	t.Parallel()
	a, b := project(t, "skills/a"), project(t, "skills/b")
	r := viewed(t, registry.Views{})
	var got []string
	for _, cwd := range []string{a, b, a} {
		got = append(got, names(view(t, r, registry.Scope{Workspace: cwd}))...)
	}
	want(t, "lists", got, []string{"a", "b", "a"})
}
