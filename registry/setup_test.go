package registry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// What is bound to a name is its owner's: whoever takes the name over gets nothing, unless
// the person binds to the source.
func TestWhoseABindingIs(t *testing.T) {
	t.Parallel()
	rec := func(id string, trust source.Trust) *registry.Record {
		return &registry.Record{Entry: &source.Entry{Skill: &skill.Skill{Name: "mail"}, Source: source.Info{ID: id, Trust: trust}}}
	}
	own, project, other := rec("user", source.Trusted), rec("project:/a", source.Workspace), rec("project:/b", source.Workspace)
	granted := func(ids ...string) (out []registry.Grant) {
		for _, id := range ids {
			out = append(out, registry.Grant{Name: "mail", Source: id})
		}
		return out
	}
	plain, exact := registry.Bindings{"mail": {"KEY"}}, registry.Bindings{"mail": {"KEY"}, "mail@project:/a": {"MORE"}}
	for name, c := range map[string]struct {
		bound  registry.Bindings
		grants []registry.Grant
		all    []*registry.Record
		of     *registry.Record
		key    string
		names  string
	}{
		"the person's own":            {plain, nil, []*registry.Record{own}, own, "mail", "KEY"},
		"beside a granted one":        {plain, granted("project:/a"), []*registry.Record{own, project}, own, "mail", "KEY"},
		"a granted one, alone":        {plain, granted("project:/a"), []*registry.Record{project}, project, "mail", "KEY"},
		"granted, beside the own":     {plain, granted("project:/a"), []*registry.Record{own, project}, project, "mail@project:/a", ""},
		"granted, beside a granted":   {plain, granted("project:/a", "project:/b"), []*registry.Record{project, other}, project, "mail@project:/a", ""},
		"granted, beside a stranger":  {plain, granted("project:/a"), []*registry.Record{project, other}, project, "mail", "KEY"},
		"a stranger beside a granted": {plain, granted("project:/a"), []*registry.Record{project, other}, other, "mail@project:/b", ""},
		"by its source":               {exact, granted("project:/a"), []*registry.Record{own, project}, project, "mail@project:/a", "MORE"},
		"nothing bound":               {nil, nil, []*registry.Record{own}, own, "mail", ""},
	} {
		key, names := registry.Decisions{Bound: c.bound, Grants: c.grants}.Binding(c.of, c.all)
		if key != c.key || strings.Join(names, " ") != c.names {
			t.Errorf("%s: %s %v", name, key, names)
		}
	}
}

// A skill that lacks a variable is there as a text and says so; dialect minara hides it.
func TestASkillThatNeedsSetupIsThereAndSaysSo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, header := range map[string]string{
		"mail": "metadata: {requires-env: [KEY, TOKEN]}", "cond": "conditions: {requires_env: [KEY]}", "lost": "conditions: {requires_env: [GONE]}",
	} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "---\nname: " + name + "\ndescription: Does it.\n" + header + "\n---\nDo.\n"
		if err := os.WriteFile(filepath.Join(root, name, "SKILL.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for dialect, want := range map[skill.Dialect]registry.State{skill.Deft: registry.Available, skill.Minara: registry.Unmet} {
		dir := source.Dir(root, source.DirOptions{Info: source.Info{ID: "user", Kind: source.User, Trust: source.Trusted}, Format: source.Format{Dialect: dialect}})
		r, err := registry.Open(t.Context(), registry.Config{
			Sources: []source.Source{dir}, Dialect: dialect, Environment: skill.Environment{Vars: skill.NewNameSet()},
			Decider: registry.Decisions{Bound: registry.Bindings{"mail": {"KEY"}, "cond": {"KEY"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range r.Snapshot().All {
			switch rec.Skill.Name {
			case "mail":
				if rec.State != want || strings.Join(rec.NeedsSetup(), " ") != "TOKEN" {
					t.Errorf("%s: %s %+v", dialect, rec.State, rec.Reasons)
				}
			case "cond":
				if rec.State != registry.Available {
					t.Errorf("%s: bound, and %s", dialect, rec.State)
				}
			case "lost":
				if rec.State != registry.Unmet {
					t.Errorf("%s: not bound, and %s", dialect, rec.State)
				}
			}
		}
		r.Close()
	}
}
