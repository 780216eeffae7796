package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// plugin is a source of a plugin's skills.
func plugin(i source.Info, names ...string) source.Source {
	i.Kind, i.Trust = source.PluginK, source.Untrusted
	defs := named(names...)
	for n := range defs {
		defs[n].Description, defs[n].Content = "Checks up.", "Check up."
	}
	return source.Data(defs, source.DataOptions{Info: i})
}

func TestABareNameMeansAPluginsSkillOnlyWhereNobodyElseHasIt(t *testing.T) {
	t.Parallel()
	north := plugin(source.Info{ID: "plugin:north", Namespace: "north"}, "checkup", "only")
	south := plugin(source.Info{ID: "plugin:south", Namespace: "south"}, "checkup")
	for name, c := range map[string]struct {
		own  source.Source
		want string // address; "?" = ambiguous
	}{
		"the person's":                  {src("user", source.User, source.Trusted, named("checkup")...), "checkup"},
		"the person's, spelt otherwise": {src("user", source.User, source.Trusted, named("Checkup")...), "Checkup"},
		"a stranger's package":          {src("pkg", source.Package, source.Untrusted, named("checkup")...), "checkup"},
		"a folder nobody trusts":        {src("ws", source.Project, source.Pending, named("checkup")...), "?"},
		"nobody's":                      {src("user", source.User, source.Trusted, named("other")...), "?"},
	} {
		s := of(t, c.own, north, south)
		r, err := s.Lookup("checkup")
		var several *registry.AmbiguousError
		switch {
		case c.want == "?":
			if !errors.As(err, &several) || !slices.Equal(several.Candidates, []string{"north:checkup", "south:checkup"}) {
				t.Errorf("%s: %v %v", name, r, err)
			}
			if _, err := s.LookupForModel("checkup"); !errors.As(err, &several) {
				t.Errorf("%s: a model gets %v", name, err)
			}
		case err != nil || r.Address != c.want:
			t.Errorf("%s: %v %v", name, r, err)
		}
		for sel, want := range map[string]string{
			"only": "north:only", "/only": "north:only", "ONLY": "north:only", "north:checkup": "north:checkup",
			"North:Checkup": "north:checkup", "/south:checkup": "south:checkup", "checkup@plugin:south": "south:checkup",
		} {
			if r, err := s.Lookup(sel); err != nil || r.Address != want {
				t.Errorf("%s: Lookup(%q) = %v, %v", name, sel, r, err)
			}
		}
	}
}

func TestPluginsThatAreCalledAlikeKeepTheirSkills(t *testing.T) {
	t.Parallel()
	a := plugin(source.Info{ID: "plugin:kit", Namespace: "kit", Market: "a", Path: "/p/a"}, "checkup", "left")
	b := plugin(source.Info{ID: "plugin:kit@b", Namespace: "Kit", Market: "b", Path: "/p/b"}, "checkup", "right")
	c := plugin(source.Info{ID: "plugin:kit@b:/q", Namespace: "kit", Market: "b", Path: "/q"}, "checkup")
	s := of(t, a, b, c)
	want(t, "winners", winners(s), []string{"Kit@b:checkup", "kit@a:checkup", "kit@b-2:checkup", "kit@a:left", "Kit@b:right"})
	found := at(t, s.Diagnostics, "plugin_prefix_clash")
	if len(found) != 1 || !strings.Contains(found[0].Message, "kit@a") || found[0].Fix == "" {
		t.Errorf("reported: %+v", s.Diagnostics)
	}
	want(t, "by address", lookup(t, s, "kit@a:checkup").Source.ID, "plugin:kit")
	want(t, "bare", lookup(t, s, "right").Source.ID, "plugin:kit@b")
	if len(of(t, a).Diagnostics) != 0 || lookup(t, of(t, a), "kit:left").Address != "kit:left" {
		t.Error("one alone has a longer address")
	}
	want(t, "order of sources", string(of(t, c, b, a).Dump()), string(of(t, a, b, c).Dump()))
}

func TestSkillsOfAPluginThatIsOffAreDisabled(t *testing.T) {
	t.Parallel()
	off := source.Plugin(t.TempDir(), source.PluginOptions{Off: true}).Info()
	want(t, "reason of the source", off.Off, source.PluginOff)
	north := plugin(source.Info{ID: "plugin:north", Namespace: "north", Off: source.PluginOff}, "checkup")
	s := of(t, north, src("user", source.User, source.Trusted, named("other")...))
	want(t, "winners", winners(s), []string{"other"})
	for _, sel := range []string{"checkup", "north:checkup"} {
		r := lookup(t, s, sel)
		want(t, "state", r.State, registry.Disabled)
		want(t, "reason", r.Reasons[0].Code, "plugin_off")
		if r.Reasons[0].Fix == "" || r.ForModel() {
			t.Errorf("%+v", r.Reasons)
		}
		if e := s.Explain(sel); e.Winner != nil || e.Reasons[0].Code != "plugin_off" {
			t.Errorf("explain: %+v", e)
		}
	}
	if _, err := s.LookupForModel("north:checkup"); err == nil {
		t.Error("a model finds it")
	}
}

func TestATrustedFolderDoesNotVouchForItsPackages(t *testing.T) {
	t.Parallel()
	r, err := registry.Open(t.Context(), registry.Config{Trust: registry.ProjectAlways, Sources: []source.Source{
		src("ws", source.Project, source.Pending, named("own")...),
		src("package:/repo/vendor/x", source.Package, source.Pending, named("commit")...),
		source.WithTrust(plugin(source.Info{ID: "plugin:p", Namespace: "p"}, "lint"), source.Pending),
		src("user", source.User, source.Trusted, named("commit")...),
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Snapshot()
	want(t, "of the project", lookup(t, s, "own").Source.Trust, source.Workspace)
	want(t, "of a plugin", lookup(t, s, "p:lint").Source.Trust, source.Untrusted)
	want(t, "of a package", lookup(t, s, "commit@package").Source.Trust, source.Untrusted)
	want(t, "the name stays", lookup(t, s, "commit").Source.ID, "user")
}

func TestChangesOfAPluginAreNoticed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kit")
	write := func(rel, text string) {
		path := filepath.Join(dir, filepath.FromSlash(rel))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path+".new", []byte(text), 0o644))
		must(t, os.Rename(path+".new", path))
	}
	one := "---\ndescription: One.\n---\nDo.\n"
	write("skills/one/SKILL.md", one)
	r, err := registry.Open(t.Context(), registry.Config{Sources: []source.Source{source.Plugin(dir, source.PluginOptions{})}})
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	watching(t, r, quick)
	eventually(t, "the skill as it was", describes(r, "kit:one", "One."))
	write("skills/two/SKILL.md", one)
	eventually(t, "a skill that is added", describes(r, "kit:two", "One."))
	write(".claude-plugin/plugin.json", `{"name": "north"}`)
	eventually(t, "a manifest that appears", describes(r, "north:one", "One."))
	write(".claude-plugin/plugin.json", `{"name": "north", "skills": "other"}`)
	eventually(t, "a manifest that names another folder", gone(r, "north:one"))
	write("other/three/SKILL.md", one)
	eventually(t, "that folder", describes(r, "north:three", "One."))
	must(t, os.RemoveAll(dir))
	eventually(t, "a plugin that is removed", gone(r, "north:three"))
	write("skills/one/SKILL.md", one)
	eventually(t, "and comes back", describes(r, "kit:one", "One."))
}
