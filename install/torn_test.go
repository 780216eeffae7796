package install_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/install"
)

// A disk that lost its power may have the new folder's name and not all of its files: then
// the old folder comes back, and where there was none, none is there. What was torn is
// kept aside, since it could be a person's edit as well. Not parallel: the point that is
// armed is one for the process.
func TestR03ATornFolderIsTakenBack(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := newMachine(t)
		first := r.IntN(2) == 0
		if !first {
			if err := m.add(t.Context(), "one"); err != nil {
				t.Fatal(err)
			}
			m.source("second")
		}
		old := m.state("one")
		point := []string{"swap.between", "install.swapped", "install.link", "install.lock"}[r.IntN(4)]
		if first && point == "swap.between" {
			point = "install.swapped" // nothing is exchanged
		}
		if stopped, _ := m.interrupted(t.Context(), func(ctx context.Context, m *machine) error { return m.add(ctx, "one") }, point+"=panic"); !stopped {
			t.Fatalf("seed %d: %s is not passed", seed, point)
		}
		file := filepath.Join(m.scope.Skills, "one", []string{"SKILL.md", "data.txt"}[r.IntN(2)])
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		torn := whole[:r.IntN(len(whole))]
		if r.IntN(2) == 0 {
			torn = append(bytes.Clone(torn), make([]byte, len(whole)-len(torn))...)
		}
		if err := os.WriteFile(file, torn, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := m.installer().Repair(t.Context(), m.scope, m.agents, nil); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if got := m.state("one"); got != old {
			t.Errorf("seed %d, %s:\n got %s\nwant %s", seed, point, got, old)
		}
		if rest := slices.DeleteFunc(m.leftovers(), func(p string) bool { return strings.HasSuffix(p, ".tmp") }); len(rest) > 0 {
			t.Errorf("seed %d: left behind: %q", seed, rest)
		}
	}
}

// A journal that is damaged stops installs, by its name, and nothing is done by it.
func TestR03ATornJournalIsNotFollowed(t *testing.T) {
	m := newMachine(t)
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	m.source("second")
	if stopped, _ := m.interrupted(t.Context(), func(ctx context.Context, m *machine) error { return m.add(ctx, "one") }, "install.link=panic"); !stopped {
		t.Fatal("not stopped")
	}
	list := m.installer().Unfinished()
	if len(list) != 1 {
		t.Fatalf("%q", list)
	}
	whole, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	stopped := m.state("one")
	for at := 0; at < len(whole); at += 7 {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1 << (at % 8)
		if err := os.WriteFile(list[0], flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		err := m.installer().Repair(t.Context(), m.scope, m.agents, nil)
		if !errors.Is(err, install.ErrLockDamaged) || !strings.Contains(err.Error(), list[0]) || m.state("one") != stopped {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
	if err := os.WriteFile(list[0], whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.installer().Repair(t.Context(), m.scope, m.agents, nil); err != nil || len(m.installer().Unfinished()) > 0 {
		t.Errorf("whole again: %v", err)
	}
}
