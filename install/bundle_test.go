package install_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/install"
)

// bundle installs the source as a version of a plugin.
func (m *machine) bundle(ctx context.Context, version string) error {
	return m.bundleFor(ctx, version, install.EveryProject)
}

func (m *machine) bundleFor(ctx context.Context, version, whom string) error {
	ref, err := install.ParseSource(filepath.Join(m.dir, "source"), install.ParseOptions{})
	if err != nil {
		return err
	}
	f, err := m.fetcher.Fetch(ctx, ref)
	if err != nil {
		return err
	}
	pack, err := f.Bundle(ctx, "", version, []install.Part{{}})
	if err != nil {
		return err
	}
	i := m.installer()
	plan, err := i.Plan(ctx, f, []install.Package{pack}, install.Choice{Scope: m.pluginScope(), For: []string{whom}})
	if err != nil {
		return err
	}
	done, err := i.Apply(ctx, plan, install.Answers{})
	for _, d := range done {
		if d.Refused != nil {
			return errors.New(d.Refused.Code + ": " + d.Refused.Message)
		}
	}
	return err
}

func (m *machine) pluginScope() install.Scope {
	return install.PluginScope(filepath.Join(m.dir, "data"), "north", "market")
}

func (m *machine) unbundle(ctx context.Context, version string) error {
	i := m.installer()
	list, err := i.PlanRemove(ctx, m.pluginScope(), nil, []string{version})
	if err != nil {
		return err
	}
	_, err = i.Remove(ctx, m.pluginScope(), nil, list)
	return err
}

// plugins is what folders and record say of plugins, "" = there is none.
func (m *machine) plugins(lock *install.Lock) (out string) {
	m.t.Helper()
	folders, err := filepath.Glob(filepath.Join(m.dir, "data", "plugins", "*", "[0-9]*"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, at := range folders {
		out += ", " + filepath.Base(at)
	}
	for _, key := range slices.Sorted(maps.Keys(lock.Plugins)) {
		out += fmt.Sprintf(", %s for %s", key, lock.Plugins[key].For)
	}
	return out
}

func TestVersionsOfAPluginStandSideBySide(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := errors.Join(m.bundle(t.Context(), "1.0"), m.bundleFor(t.Context(), "1.0", "/project"), m.bundle(t.Context(), "2.0")); err != nil {
		t.Fatal(err)
	}
	if got := m.state("one"); !strings.HasSuffix(got, ", 1.0, 2.0, north@market/1.0 for [/project], north@market/2.0 for [user]") {
		t.Error(got)
	}
	record, err := install.ReadProvenance(filepath.Join(m.pluginScope().Skills, "2.0"))
	if err != nil || record.Name != "north@market/2.0" {
		t.Errorf("%+v %v", record, err)
	}
	// Removing takes that folder alone.
	m.write("data/plugins/other@market/1.0/plugin.json", "{}")
	if err := m.unbundle(t.Context(), "1.0"); err != nil {
		t.Fatal(err)
	}
	if got := m.state("one"); !strings.HasSuffix(got, ", 2.0, 1.0, north@market/2.0 for [user]") {
		t.Error(got)
	}
}

// An edit of a plugin is not written over, and what comes in its place is whole.
func TestAnEditedPluginIsKept(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := m.bundle(t.Context(), "1.0"); err != nil {
		t.Fatal(err)
	}
	m.write("data/plugins/north@market/1.0/one/data.txt", "mine")
	m.source("second")
	if err := m.bundle(t.Context(), "1.0"); err == nil || !strings.HasPrefix(err.Error(), "update_kept") {
		t.Errorf("%v", err)
	}
	// A removal puts it aside.
	if err := m.unbundle(t.Context(), "1.0"); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(m.dir, "state", "replaced", "*", "one", "data.txt"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%q %v", kept, err)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || string(text) != "mine" {
		t.Errorf("%s %v", text, err)
	}
}

func TestALockFileNamesPluginsThatArePartsOfPaths(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for key, ok := range map[string]bool{
		"north@market/1.0": true, "north@market": false, "north/1.0": false, "north@market/../x": false, "../x@market/1.0": false,
		"north@market/.x": false, "n@o@market/1.0": false, "north@market/1.0/2": false,
	} {
		m.write("data/deft.lock", fmt.Sprintf(`{"lockfile": 1, "skills": {}, "plugins": {%q: {"source": {"type": "local", "url": "/s"}, "tree": "sha256:%s"}}}`, key, strings.Repeat("a", 64)))
		if lock, err := install.ReadLock(m.scope.Lock, false); (err == nil) != ok || ok && len(lock.Plugins) != 1 {
			t.Errorf("%s: %v", key, err)
		}
	}
	m.write("data/deft.lock", `{"lockfile": 1, "skills": {}, "marketplaces": {"m": {"source": {"type": "git", "url": "ext::sh"}}}}`)
	if _, err := install.ReadLock(m.scope.Lock, false); err == nil {
		t.Error("a marketplace that no source could be was read")
	}
}
