package blade

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

func TestBlade_C01_SameConfigSameInstance(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/a")
	r := viewed(t, registry.Views{})
	first, second := view(t, r, registry.Scope{Workspace: p}), view(t, r, registry.Scope{Workspace: p})
	want(t, "same", first == second, true)
}

func TestBlade_C02_OtherCwd(t *testing.T) {
	t.Parallel()
	a, b := project(t, "skills/a"), project(t, "skills/b")
	r := viewed(t, registry.Views{})
	want(t, "A", names(view(t, r, registry.Scope{Workspace: a})), []string{"a"})
	want(t, "B", names(view(t, r, registry.Scope{Workspace: b})), []string{"b"})
	want(t, "A again", names(view(t, r, registry.Scope{Workspace: a})), []string{"a"})
}

// standing is a registry whose views read the project's folder with what the change makes
// of it then.
func standing(t *testing.T, change func(source.Source) source.Source) *registry.Registry {
	return viewed(t, registry.Views{Sources: func(ctx context.Context, _ registry.Scope, e source.Env) ([]source.Source, []skill.Diagnostic) {
		roots, _ := source.Roots(ctx, e)
		return []source.Source{change(roots[0])}, nil
	}})
}

func TestBlade_C03_PolicyInKey(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/a")
	policy := source.PolicyAllow
	r := standing(t, func(s source.Source) source.Source { return source.WithPolicies(s, policy, source.PolicyOfKind) })
	first := view(t, r, registry.Scope{Workspace: p})
	policy = source.PolicyDeny
	second := view(t, r, registry.Scope{Workspace: p})
	want(t, "policies", []any{record(t, first, "a").Source.ShellPolicy(), record(t, second, "a").Source.ShellPolicy()}, "[allow deny]")
}

func TestBlade_C04_TrustInKey(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/a")
	trust, hooks := source.Trusted, source.PolicyAllow
	r := standing(t, func(s source.Source) source.Source {
		return source.WithPolicies(source.WithTrust(s, trust), source.PolicyOfKind, hooks)
	})
	first := view(t, r, registry.Scope{Workspace: p})
	trust = source.Untrusted
	second := view(t, r, registry.Scope{Workspace: p})
	want(t, "trusts", []any{record(t, first, "a").Source.Trust, record(t, second, "a").Source.Trust}, "[trusted untrusted]")
	hooks = source.PolicyDeny
	third := view(t, r, registry.Scope{Workspace: p})
	want(t, "policies of hooks", []any{record(t, second, "a").Source.HooksPolicy(), record(t, third, "a").Source.HooksPolicy()}, "[allow deny]")
}

// withData is a registry whose requests bring skills under the key "data".
func withData(t *testing.T) *registry.Registry {
	return viewed(t, registry.Views{Data: func(_ context.Context, c registry.RequestContext) ([]source.Definition, error) {
		defs, _ := c.Value("data").([]source.Definition)
		return defs, nil
	}})
}

func bringing(defs ...source.Definition) registry.Scope {
	return registry.Scope{Request: registry.NewRequest(map[string]any{"data": defs})}
}

func body(t *testing.T, r *registry.Record) string {
	t.Helper()
	l, err := source.Load(t.Context(), r.Entry)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(l.Body)
}

func TestBlade_C05_DataInKey(t *testing.T) {
	t.Parallel()
	r := withData(t)
	other := define("x")
	other.Content = "Another body."
	a, b, c := view(t, r, bringing(define("x"))), view(t, r, bringing(other)), view(t, r, bringing(define("x")))
	want(t, "instances", []bool{a == b, a == c}, []bool{false, true})
	want(t, "bodies", []string{body(t, record(t, a, "x")), body(t, record(t, b, "x"))}, []string{"Body of x.", "Another body."})
}

func withPaths(t *testing.T) *registry.Registry {
	return viewed(t, registry.Views{Paths: func(_ context.Context, c registry.RequestContext) ([]string, error) {
		paths, _ := c.Value("paths").([]string)
		return paths, nil
	}})
}

func at(p string, paths ...string) registry.Scope {
	return registry.Scope{Workspace: p, Request: registry.NewRequest(map[string]any{"paths": paths})}
}

func TestBlade_C06_SourceOrderInKey(t *testing.T) {
	t.Parallel()
	p := project(t, "one/x", "two/x")
	r := withPaths(t)
	a, b := view(t, r, at(p, "one", "two")), view(t, r, at(p, "two", "one"))
	want(t, "winners", []string{record(t, a, "x").Dir, record(t, b, "x").Dir}, []string{filepath.Join(p, "two/x"), filepath.Join(p, "one/x")})
}

func TestBlade_C07_SessionsPrivate(t *testing.T) {
	t.Parallel()
	r := withData(t)
	a, b := view(t, r, bringing(define("a"))), view(t, r, bringing(define("b")))
	want(t, "lists", [][]string{names(a), names(b)}, [][]string{{"a"}, {"b"}})
	_, err := a.Lookup("b")
	want(t, "loads the other's", err == nil, false)
}

func TestBlade_C08_SessionNotCached(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/a")
	r := local(t, p)
	want(t, "same", view(t, r, registry.Scope{Workspace: p}) == r.Snapshot(), false)
}

func TestBlade_C09_ProfileDefault(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/a")
	r := viewed(t, registry.Views{})
	want(t, "no folder given", names(view(t, r, registry.Scope{})), []string{})
	want(t, "folder given", names(view(t, r, registry.Scope{Workspace: p})), []string{"a"})
}

func TestBlade_C10_ServerNoFiles(t *testing.T) {
	t.Parallel()
	project(t, "skills/a")
	s := of(t, data(define("x"))).Snapshot()
	want(t, "list, body", []any{names(s), body(t, record(t, s, "x"))}, []any{[]string{"x"}, "Body of x."})
}

func TestBlade_C11_LocalScans(t *testing.T) {
	t.Parallel()
	want(t, "list", names(local(t, project(t, "skills/a"), data(define("x"))).Snapshot()), []string{"a", "x"})
}

func TestBlade_C12_DataOverProject(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/x")
	want(t, "data", record(t, local(t, p, data(define("x"))).Snapshot(), "x").Source.Kind, source.DataDef)
	managed := kept(source.Info{Kind: source.Managed})
	want(t, "managed", record(t, local(t, p, data(define("x")), managed).Snapshot(), "x").Source.Kind, source.Managed)
}

func TestBlade_C13_DirectoryInKey(t *testing.T) {
	t.Parallel()
	p := project(t, "one/a", "two/b")
	r := withPaths(t)
	want(t, "lists", [][]string{names(view(t, r, at(p, "one"))), names(view(t, r, at(p, "two")))}, [][]string{{"a"}, {"b"}})
}

func TestBlade_D01_Minimal(t *testing.T) {
	t.Parallel()
	s := of(t, data(define("x"))).Snapshot()
	want(t, "list, body", []any{names(s), body(t, record(t, s, "x"))}, []any{[]string{"x"}, "Body of x."})
}

func TestBlade_D02_Validation(t *testing.T) {
	t.Parallel()
	bad, long, blank := define("Bad_Name"), define("long"), define("blank")
	long.Description, blank.Content = strings.Repeat("a", 1025), " \n"
	s := of(t, data(bad, long, blank, define("good"))).Snapshot()
	want(t, "list", names(s), []string{"good"})
	for _, r := range s.All {
		if r.Skill.Valid {
			continue
		}
		d := r.Skill.Diagnostics[0]
		want(t, "place", strings.HasPrefix(d.File, "inline://") && strings.HasSuffix(d.File, "/SKILL.md"), true)
		if strings.Contains(d.File, "blank") {
			want(t, "message", d.Message, "Missing required field: content")
		}
	}
}

func TestBlade_D06_NoShell(t *testing.T) {
	t.Parallel()
	d := define("x")
	d.Content = "Run !`echo x` now."
	n := &noted{}
	s, err := session.New(t.Context(), session.Options{
		Snapshots: of(t, data(d)), Dialect: dialect,
		Commands: session.Commands{Host: command.Policy{Mode: command.Allow}, Runs: n, Dir: "/P"},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := start(t, turnOf(t, s), "x").Text
	want(t, "literal, started", []any{strings.Contains(text, d.Content), len(n.asked)}, []any{true, 0})
}

func TestBlade_D07_NoHooks(t *testing.T) {
	t.Parallel()
	d := define("x")
	d.Hooks = map[string]any{"UserPromptSubmit": []any{map[string]any{"type": "append_prompt", "value": "V"}}}
	r := of(t, data(d))
	set := &command.HookSet{}
	s, err := session.New(t.Context(), session.Options{Snapshots: r, Dialect: dialect, Hooks: registrar{set}})
	if err != nil {
		t.Fatal(err)
	}
	start(t, turnOf(t, s), "x")
	want(t, "hooks", []any{record(t, r.Snapshot(), "x").Skill.Meta.HasHooks, len(set.List())}, []any{false, 0})
}

func TestBlade_D08_NoAssets(t *testing.T) {
	t.Parallel()
	r := record(t, of(t, data(define("x"))).Snapshot(), "x")
	files, err := source.Resources(t.Context(), r.Entry)
	want(t, "files, error, base path", []any{len(files), err, r.Dir}, []any{0, nil, ""})
}

func TestBlade_D09_Copied(t *testing.T) {
	t.Parallel()
	d := define("x")
	d.AllowedTools = []string{"Read"}
	defs := []source.Definition{d}
	r := of(t, data(defs...))
	defs[0].Name, d.AllowedTools[0] = "changed", "Bash"
	loaded, err := source.Load(t.Context(), record(t, r.Snapshot(), "x").Entry)
	if err != nil {
		t.Fatal(err)
	}
	clear(loaded.Raw)
	rec := record(t, r.Snapshot(), "x")
	want(t, "tools, body", []any{rec.Skill.Meta.AllowedTools.Entries, body(t, rec)}, []any{[]string{"Read"}, "Body of x."})
}

func TestBlade_D10_SourceID(t *testing.T) {
	t.Parallel()
	r := record(t, of(t, data(define("x"))).Snapshot(), "x")
	want(t, "kind, id", []any{r.Source.Kind, r.Source.ID}, []any{"data", "inline:x"})
}

func TestBlade_D13_Conditions(t *testing.T) {
	t.Parallel()
	d := define("x")
	d.Paths = []string{"src/**"}
	want(t, "paths", record(t, of(t, data(d)).Snapshot(), "x").Skill.Meta.Paths, []string{"src/**"})
}

func TestBlade_D14_Doubled(t *testing.T) {
	t.Parallel()
	second := define("x")
	second.Content = "The second."
	s := of(t, data(define("x"), second)).Snapshot()
	want(t, "body, said", []any{body(t, record(t, s, "x")), codes(s.Diagnostics)}, []any{"The second.", "data_duplicate"})
}

func TestBlade_D15_NotWritten(t *testing.T) {
	t.Parallel()
	p := project(t)
	local(t, p, data(define("x"))).Close()
	files := 0
	err := filepath.WalkDir(p, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files++
		}
		return err
	})
	want(t, "files, error", []any{files, err}, []any{0, nil})
	want(t, "another registry", names(local(t, p).Snapshot()), []string{})
}
