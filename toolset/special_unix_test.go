//go:build unix

package toolset

import (
	"os"
	"path/filepath"
	"strings"
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

// A folder that is exchanged for a link between the check and the opening leads nowhere.
func TestAFolderThatBecomesALinkReadsNothingOutside(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	const secret = "TOP SECRET TEXT"
	write(t, base, map[string]string{
		"skills/kit/SKILL.md": md("kit", "", "x\n"), "skills/kit/docs/a.md": "inside", "outside/a.md": secret,
	})
	h := newHouse(t, filepath.Join(base, "skills"))
	docs, kept, link := filepath.Join(base, "skills/kit/docs"), filepath.Join(base, "skills/kit/kept"), filepath.Join(base, "link")
	if err := os.Symlink(filepath.Join(base, "outside"), link); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, step := range [][2]string{{docs, kept}, {link, docs}, {docs, link}, {kept, docs}} {
				if err := os.Rename(step[0], step[1]); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	for range 1000 {
		h.next()
		if res := h.call(NameSkillRead, args("name", "kit", "path", "docs/a.md")); strings.Contains(res.Text, secret) {
			t.Fatal(res.Text)
		}
	}
	close(stop)
	<-done
}
