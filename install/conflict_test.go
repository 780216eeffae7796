package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/install"
)

// outdated is one skill of the machine against its source.
func (m *machine) outdated(name string) install.Outdated {
	m.t.Helper()
	list, err := m.installer().Outdated(m.t.Context(), m.fetcher, m.scope, []string{name})
	if err != nil || len(list) != 1 {
		m.t.Fatalf("%v %v", list, err)
	}
	return list[0]
}

func (m *machine) update(name, onEdit string) (install.Updated, error) {
	return m.installer().Update(m.t.Context(), m.scope, m.agents, m.outdated(name), onEdit, m.choice, install.Answers{})
}

func (m *machine) resume(name string) (install.Updated, error) {
	return m.installer().Continue(m.t.Context(), m.scope, m.agents, m.outdated(name), m.choice, install.Answers{})
}

func (m *machine) text(name string) string {
	m.t.Helper()
	src, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(src)
}

// conflicted is a machine with a skill of which both sides changed one line.
func conflicted(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t)
	m.write("source/one/run.sh", "#!/bin/sh\n")
	m.runnable("source/one/run.sh")
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	m.source("second")
	m.write("home/.agents/skills/one/data.txt", "mine")
	m.write("home/.agents/skills/one/own.sh", "#!/bin/sh\n")
	m.runnable("home/.agents/skills/one/own.sh")
	if u, err := m.update("one", install.MergeBoth); err != nil || u.State != "conflict" || u.Dir != filepath.Join(m.dir, "state", "conflicts", "one") {
		t.Fatalf("%+v %v", u, err)
	}
	return m
}

func (m *machine) runnable(name string) {
	m.t.Helper()
	if err := os.Chmod(filepath.Join(m.dir, name), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

const conflictFile = "state/conflicts/one/data.txt"

func TestAConflictIsResolvedAndKeepsWhatMayRun(t *testing.T) {
	t.Parallel()
	m := conflicted(t)
	for which, want := range map[string]string{"base": "first", "local": "mine", "remote": "second"} {
		if got := m.text("state/conflicts/one/.deft-conflict/" + which + "/data.txt"); got != want {
			t.Errorf("%s is %q", which, got)
		}
	}
	if _, err := m.resume("one"); !errors.Is(err, install.ErrUnresolved) || !strings.Contains(err.Error(), "marks") {
		t.Errorf("with marks: %v", err)
	}
	if err := os.Remove(filepath.Join(m.dir, "state/conflicts/one/run.sh")); err != nil {
		t.Fatal(err)
	}
	m.write("state/conflicts/one/run.sh", "#!/bin/sh\n") // as an editor leaves it: without the bit
	m.write(conflictFile, "both")
	if u, err := m.resume("one"); err != nil || u.State != "merged" {
		t.Fatalf("%+v %v", u, err)
	}
	if got := m.text("home/.agents/skills/one/data.txt"); got != "both" {
		t.Errorf("data.txt is %q", got)
	}
	for _, name := range []string{"run.sh", "own.sh"} {
		info, err := os.Stat(filepath.Join(m.dir, "home/.agents/skills/one", name))
		if err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%s can't be run any more: %v %v", name, info, err)
		}
	}
	for _, at := range []string{"state/conflicts/one", "home/.agents/skills/one/.deft-conflict"} {
		if _, err := os.Lstat(filepath.Join(m.dir, at)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", at, err)
		}
	}
	if _, err := m.resume("one"); !errors.Is(err, install.ErrUnresolved) {
		t.Errorf("once more: %v", err)
	}
}

func TestWorkOnAConflictIsNotLost(t *testing.T) {
	t.Parallel()
	m := conflicted(t)
	if u, err := m.update("one", install.MergeBoth); err != nil || u.State != "conflict" {
		t.Fatalf("untouched, it is made again: %+v %v", u, err)
	}
	m.write(conflictFile, "half")
	if _, err := m.update("one", install.MergeBoth); !errors.Is(err, install.ErrUnresolved) || m.text(conflictFile) != "half" {
		t.Errorf("%v", err)
	}
	// The source goes on: what was merged is not what it has.
	m.source("third")
	if _, err := m.resume("one"); !errors.Is(err, install.ErrUnresolved) || !strings.Contains(err.Error(), "its source has changed") {
		t.Errorf("%v", err)
	}
	if u, err := m.update("one", install.MergeBoth); err != nil || u.State != "conflict" {
		t.Fatalf("%+v %v", u, err)
	}
	kept, err := filepath.Glob(filepath.Join(m.dir, "state/replaced/one-conflict-*/data.txt"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%q %v", kept, err)
	}
	if src, err := os.ReadFile(kept[0]); err != nil || string(src) != "half" {
		t.Errorf("%q %v", src, err)
	}
	// So does the skill.
	m.write(conflictFile, "all")
	m.write("home/.agents/skills/one/data.txt", "mine, later")
	if _, err := m.resume("one"); !errors.Is(err, install.ErrUnresolved) || !strings.Contains(err.Error(), "the skill has changed") {
		t.Errorf("%v", err)
	}
	if got := m.text("home/.agents/skills/one/data.txt"); got != "mine, later" {
		t.Errorf("data.txt is %q", got)
	}
}

func TestAConflictWhoseSourceHasNothingToBringIsLeft(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(m *machine){
		install.UpToDate:        func(m *machine) { m.source("first") },
		install.SourceMissing:   func(m *machine) { _ = os.RemoveAll(filepath.Join(m.dir, "source")) },
		install.RemovedUpstream: func(m *machine) { _ = os.RemoveAll(filepath.Join(m.dir, "source", "one")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := conflicted(t)
			change(m)
			if u, err := m.resume("one"); err != nil || u.State != name {
				t.Errorf("%+v %v", u, err)
			}
			if got := m.text("home/.agents/skills/one/data.txt"); got != "mine" {
				t.Errorf("data.txt is %q", got)
			}
		})
	}
}

func TestConflictsOfOneNameAreTheirOwn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	home, dirs := m.scope, map[string]bool{}
	m.agents = nil
	for _, name := range []string{"a", "b"} {
		m.source("first")
		m.scope = home.In(filepath.Join(m.dir, name), filepath.Join(m.dir, name+".lock"))
		if err := m.add(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		m.source("second")
		m.write(name+"/one/data.txt", "mine in "+name)
		u, err := m.update("one", install.MergeBoth)
		if err != nil || u.State != "conflict" || dirs[u.Dir] {
			t.Fatalf("%+v %v", u, err)
		}
		dirs[u.Dir] = true
	}
}

// A project comes with a clone, which must not choose what of a home is touched.
func TestAProjectThatLeadsOutIsNotRemovedOrRepaired(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("source/one/SKILL.md", "---\nname: one\ndescription: Does one thing when asked.\n---\n")
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	lock := strings.ReplaceAll(m.text("data/deft.lock"), filepath.Join(m.dir, "source"), "../source")
	m.write("clone/deft.lock", lock)
	if err := os.Symlink(filepath.Join(m.dir, "home", ".agents"), filepath.Join(m.dir, "clone", ".agents")); err != nil {
		t.Fatal(err)
	}
	i, s := m.installer(), install.Project(filepath.Join(m.dir, "clone"))
	list, err := i.PlanRemove(t.Context(), s, m.agents, []string{"one"})
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := i.Remove(t.Context(), s, m.agents, list); err != nil || len(gone) != 1 || len(gone[0].Left) != 1 || !strings.Contains(gone[0].Left[0], "out of the work tree") {
		t.Errorf("%+v %v", gone, err)
	}
	m.text("home/.agents/skills/one/SKILL.md")
	m.write("clone/deft.lock", lock)
	if err := os.Remove(filepath.Join(m.dir, "home/.agents/skills/one/data.txt")); err != nil {
		t.Fatal(err)
	}
	status, err := i.Verify(t.Context(), s, m.agents, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Repair(t.Context(), s, m.agents, status); !errors.Is(err, install.ErrOutside) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(m.dir, "home/.agents/skills/one/data.txt")); !os.IsNotExist(err) {
		t.Errorf("it wrote into the home: %v", err)
	}
}

func TestWhatWasReplacedGoesAfterThirtyDays(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	// The machine's clock says 2026-01-02 03:04:05.
	for name, stays := range map[string]bool{
		"one-20251203T030406-00": true, "one-20251203T030404-00": false, "a-b-20200101T000000-00": false, "mine": true, "notes-of-2020-01": true,
	} {
		m.write("state/replaced/"+name+"/x", "")
		if err := m.remove(t.Context(), "two"); err != nil { // any change looks
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(m.dir, "state/replaced", name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}
