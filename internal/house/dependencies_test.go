package house

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A direct dependency without a reason is one that nobody decided about.
func TestEveryDirectDependencyHasItsReason(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := os.ReadFile(filepath.Join(root(t), "DEPENDENCIES.md"))
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.HasPrefix(line, "\t") || !strings.Contains(fields[0], ".") {
			continue
		}
		direct++
		if !strings.Contains(string(reasons), fields[0]) {
			t.Errorf("go.mod: %s has no line in DEPENDENCIES.md", fields[0])
		}
	}
	if direct < 8 {
		t.Fatalf("found only %d direct dependencies", direct)
	}
}
