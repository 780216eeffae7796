package deft_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

func TestPluginsComeAndGoWhileAnEngineRuns(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	data := filepath.Join(home, "data")
	version := func(v, description string) {
		write(t, filepath.Join(data, "plugins", "pulse@market", v), map[string]string{
			".claude-plugin/plugin.json": `{"name": "pulse", "version": "` + v + `"}`,
			"skills/perf/SKILL.md":       "---\nname: perf\ndescription: " + description + "\n---\nx\n",
		})
	}
	var registered []source.RegisteredPlugin
	e := open(t, deft.Options{
		Workspace: t.TempDir(), Home: home, DataDir: data, NoBuiltin: true, Cooldown: -1,
		Registered: func(context.Context) []source.RegisteredPlugin { return registered },
	})
	is := func(what, want string) {
		t.Helper()
		s, err := e.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if rec, err := s.Lookup("pulse:perf"); err == nil {
			got = rec.Skill.Description
		}
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	is("none", "")
	version("1.0.0", "First.")
	is("one that appears", "First.")
	places := len(e.Sources())
	version("2.0.0", "Second.")
	is("the higher version", "Second.")
	registered = []source.RegisteredPlugin{{Name: "pulse", Market: "market", Version: "1.0.0"}}
	is("the registered version", "First.")
	if s := e.Snapshot(); len(s.Diagnostics) != 1 || s.Diagnostics[0].Code != "plugin_removable" || len(e.Sources()) != places {
		t.Errorf("%d places, diagnostics %+v", len(e.Sources()), s.Diagnostics)
	}

	// A view is made of what is there then, and is no other's.
	v, err := e.View(t.Context(), registry.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if _, err := v.Snapshot().Lookup("pulse:perf"); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Join(data, "plugins")); err != nil {
		t.Fatal(err)
	}
	is("gone", "")
	if len(e.Sources()) != places-1 || len(e.Snapshot().Diagnostics) != 0 {
		t.Errorf("%d places, diagnostics %+v", len(e.Sources()), e.Snapshot().Diagnostics)
	}
	version("1.0.0", "Again.")
	is("again", "Again.")
}

func TestAnAddedSkillStaysWhenPluginsComeAndGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"late/SKILL.md": "---\nname: late\ndescription: Late.\n---\nx\n"})
	var now registry.Arrivals
	r, err := registry.Open(t.Context(), registry.Config{
		Workspace: dir, Arrivals: func(context.Context) registry.Arrivals { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Add(t.Context(), filepath.Join(dir, "late")); err != nil {
		t.Fatal(err)
	}
	data := func(id, name string) source.Source {
		return source.Data([]source.Definition{{Name: name, Description: "D.", Content: "x"}}, source.DataOptions{Info: source.Info{ID: id}})
	}
	a, b := data("a", "alpha"), data("b", "beta")
	for _, want := range []struct {
		sources []source.Source
		names   int
	}{{nil, 1}, {[]source.Source{a}, 2}, {[]source.Source{b, a}, 3}, {[]source.Source{b}, 2}, {nil, 1}} {
		now.Sources = want.sources
		s, err := r.Refresh(t.Context(), registry.RefreshOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Winners) != want.names || len(r.Sources()) != want.names {
			t.Errorf("%d sources: %d skills of %d places", len(want.sources), len(s.Winners), len(r.Sources()))
		}
		if _, err := s.Lookup("late"); err != nil {
			t.Error(err)
		}
	}
}
