package minimax

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/store/blobs"
)

func TestU27DeleteRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, elsewhere := filepath.Join(w.root, "own", "deft.lock"), w.skill(filepath.Join(w.root, "elsewhere", "linked"))
	w.skill(filepath.Join(w.data, ".builtin-skills", "docx"))
	w.skill(filepath.Join(w.data, "agents", "mavis", "skills", "agents-own"))
	for _, dir := range []string{filepath.Join(w.data, "skills"), filepath.Join(w.data, "agents", "mavis", "skills")} {
		w.skill(filepath.Join(dir, "twice"))
	}
	w.link(elsewhere, filepath.Join(w.data, "skills", "linked"))
	for _, c := range []struct {
		agent, name string
		want        error
	}{
		{"", "docx", install.ErrProtected}, {"", "pdf", install.ErrProtected}, {"", "agents-own", install.ErrLocation}, {"mavis", "agents-own", nil},
		{"", "twice", install.ErrTwo}, {"mavis", "twice", nil}, {"", "linked", nil}, {"", "nothing", nil}, {"", "../skills/linked", install.ErrBadName},
	} {
		if err := install.MiniMax(w.data, c.agent, own).Removable(c.name, []string{"pdf"}); !errors.Is(err, c.want) {
			t.Errorf("%q of agent %q: %v, want %v", c.name, c.agent, err, c.want)
		}
	}
	i := install.New(install.Options{Blobs: blobs.NewMemory(), Trees: blobs.Trees{Path: t.TempDir()}, State: t.TempDir(), Program: "test"})
	scope := install.MiniMax(w.data, "", own)
	list, err := i.PlanRemove(t.Context(), scope, nil, []string{"linked"})
	if err != nil || list[0].Missing {
		t.Fatalf("%+v %v", list, err)
	}
	if _, err := i.Remove(t.Context(), scope, nil, list); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(w.data, "skills", "linked")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the link: %v", err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "SKILL.md")); err != nil {
		t.Errorf("its target: %v", err)
	}
}
