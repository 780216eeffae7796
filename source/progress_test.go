package source

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/deftskills/deft/internal/progress"
)

func TestAScanCountsEachSkill(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 40 {
		dir := filepath.Join(root, "s"+strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\ndescription: d\n---\n\nB\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var c progress.Counter
	if _, err := Dir(root, DirOptions{}).Scan(progress.With(t.Context(), &c), nil); err != nil {
		t.Fatal(err)
	}
	if _, done, _ := c.Now(); done != 40 {
		t.Errorf("counted %d of 40", done)
	}
}
