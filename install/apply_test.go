package install_test

import (
	"os"
	"path/filepath"
	"testing"
)

// What is there already is not written again: the record keeps the day it was installed.
func TestASecondAddWritesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(m.scope.Skills, "one", ".deft-skill.json")
	was, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(record); err != nil || string(now) != string(was) {
		t.Errorf("written again: %s, %v", now, err)
	}
	// A link that is gone is a reason.
	if err := os.Remove(filepath.Join(m.agents[0].User, "one")); err != nil {
		t.Fatal(err)
	}
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(m.agents[0].User, "one")); err != nil {
		t.Errorf("the link: %v", err)
	}
}

// Between the question and the removal a person may go on editing, and a link may be
// turned to something else.
func TestARemovalLooksAgain(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	i := m.installer()
	list, err := i.PlanRemove(t.Context(), m.scope, m.agents, []string{"one"})
	if err != nil || len(list[0].Edited) > 0 {
		t.Fatalf("%+v %v", list, err)
	}
	m.write("home/.agents/skills/one/data.txt", "edited meanwhile")
	link := filepath.Join(m.agents[0].User, "one")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(m.dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Remove(t.Context(), m.scope, m.agents, list); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(m.dir, "state", "replaced", "one-*", "data.txt"))
	if err != nil || len(kept) != 1 {
		t.Errorf("kept %q, %v", kept, err)
	}
	if to, err := os.Readlink(link); err != nil || to != m.dir {
		t.Errorf("somebody else's link: %q, %v", to, err)
	}
}
