package deft

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
)

// granting is a person who trusts a folder, and the skills in it as they were.
type granting registry.Decisions

func (g *granting) Decide(context.Context) registry.Decisions { return registry.Decisions(*g) }

func TestTheCommandOfAHookRunsOnlyOfWhatWasGranted(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(".git/HEAD", "")
	put(".claude/skills/guard/SKILL.md", "---\nname: guard\ndescription: D.\nhooks: [{event: PreToolUse, type: command, command: \"$SKILL_DIR/check.sh\"}]\n---\nGuard.\n")
	put(".claude/skills/guard/check.sh", "exit 0\n")
	who := &granting{Folders: []registry.Folder{{Root: top}}}
	e, err := Open(t.Context(), Options{Workspace: top, State: who, Commands: Commands{Hooks: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	rec, err := e.Snapshot().Lookup("guard")
	if err != nil {
		t.Fatal(err)
	}
	code, err := e.Code(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	who.Grants = []registry.Grant{{Name: "guard", Source: rec.Source.ID, Tree: code.Tree, Hooks: true}}
	if _, err := e.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := e.NewSession(t.Context(), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Plan(t.Context(), Input{Text: "go", Origin: gate.Interactive, Skills: []agent.Preload{{Name: "guard"}}}); err != nil {
		t.Fatal(err)
	}
	list := s.hooks.List()
	if len(list) != 1 || !s.runs().still(t.Context(), list[0].Skill) {
		t.Fatalf("granted: %+v", list)
	}
	put(".claude/skills/guard/check.sh", "touch pwned\n")
	if _, err := s.runs().runHook(t.Context(), list[0], nil); err == nil || !strings.Contains(err.Error(), "not what was trusted") {
		t.Errorf("another script: %v", err)
	}
	put(".claude/skills/guard/check.sh", "exit 0\n")
	if !s.runs().still(t.Context(), list[0].Skill) {
		t.Error("the script is as it was")
	}
	other := list[0].Skill
	other.Digest = "sha256:other"
	if s.runs().still(t.Context(), other) || s.runs().still(t.Context(), command.SkillRef{Address: "nobody"}) {
		t.Error("another content, or a skill that is gone, counts")
	}
	who.Grants = nil
	if _, err := e.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.runs().still(t.Context(), list[0].Skill) {
		t.Error("the grant was taken back")
	}
}
