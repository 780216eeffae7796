//go:build unix

package agentskills

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deftskills/deft/skill"
)

func TestEdgeFifoNamedSkillFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(root, "x", "SKILL.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	failsOnce(t, skill.ValidateDir(os.DirFS(root), "x", "", skill.ProfileAgentskills), "not a regular file")
}
