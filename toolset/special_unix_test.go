//go:build unix

package toolset

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestAPipeIsNeverWaitedFor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{"kit/SKILL.md": md("kit", "", "x\n"), "kit/a.md": "A"})
	h := newHouse(t, root)
	d := newDesk(t, map[string]string{"a": "needle"})
	for _, p := range []string{filepath.Join(root, "kit", "pipe"), filepath.Join(d.dir, "pipe")} {
		if err := syscall.Mkfifo(p, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if res := h.call(NameSkillRead, args("name", "kit", "path", "pipe")); res.Code != "not_a_file" {
		t.Errorf("%s %s", res.Code, res.Text)
	}
	if res := h.call(NameSkill, args("name", "kit")); res.IsError {
		t.Error(res.Text)
	}
	if res := d.call("read", "path", "pipe"); res.Code != "not_a_file" {
		t.Errorf("%s %s", res.Code, res.Text)
	}
	if res := d.call("write", "path", "pipe", "content", "x"); res.Code != "not_a_file" {
		t.Errorf("%s %s", res.Code, res.Text)
	}
	if res := d.call("grep", "pattern", "needle"); res.Text != "a:1: needle" {
		t.Error(res.Text)
	}
}
