package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/deftskills/deft/source"
)

// A folder that was judged and then exchanged for a link that leads out opens nothing
// there, whether it is the skill's own, one above it, or where a linked SKILL.md lies.
func TestAFolderExchangedAfterTheScanIsNotFollowed(t *testing.T) {
	t.Parallel()
	for what, moved := range map[string]string{"the skill": "skills/s", "a folder above": "skills", "the linked file's folder": "real"} {
		top := tempDir(t)
		addSkill(t, top, "skills/s")
		write(t, filepath.Join(top, "skills/s/notes.md"), "inside")
		addSkill(t, top, "real")
		if err := os.Mkdir(filepath.Join(top, "skills/linked"), 0o755); err != nil {
			t.Fatal(err)
		}
		link(t, "../../real/SKILL.md", filepath.Join(top, "skills/linked/SKILL.md"))
		src := source.Dir(filepath.Join(top, "skills"), source.DirOptions{})
		byDir := map[string]*source.Entry{}
		for _, e := range scan(t, src).Entries {
			byDir[filepath.Base(e.Dir)] = e
		}
		open := map[string]func() error{
			"notes.md": func() error { _, err := src.Open(t.Context(), byDir["s"], "notes.md"); return err },
			"SKILL.md": func() error { _, err := source.Load(t.Context(), byDir["s"]); return err },
			"the tree": func() error { _, _, err := source.Tree(t.Context(), byDir["s"]); return err },
			"its list": func() error { _, err := source.Resources(t.Context(), byDir["s"]); return err },
		}
		if moved == "real" {
			open = map[string]func() error{"SKILL.md": func() error { _, err := source.Load(t.Context(), byDir["linked"]); return err }}
		}
		for name, f := range open {
			if err := f(); err != nil {
				t.Fatalf("%s before: %v", name, err)
			}
		}
		outside := tempDir(t)
		if err := os.Rename(filepath.Join(top, moved), filepath.Join(outside, "away")); err != nil {
			t.Fatal(err)
		}
		link(t, filepath.Join(outside, "away"), filepath.Join(top, moved))
		for name, f := range open {
			if err := f(); !errors.Is(err, source.ErrOutside) {
				t.Errorf("%s is a link now, %s: %v", what, name, err)
			}
		}
	}
}
