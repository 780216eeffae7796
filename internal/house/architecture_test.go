package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A path in the architecture's table that is gone sends a reader to the wrong room.
func TestTheArchitectureNamesFilesThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(t), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 140 {
		t.Errorf("ARCHITECTURE.md has %d lines: it is meant for two screens", n)
	}
	named := 0
	_, table, _ := strings.Cut(string(text), "## To change X")
	for _, m := range regexp.MustCompile("`([a-z_./*]+|[a-z/]*(?:NAME|VERB)[a-zA-Z./]*)`").FindAllStringSubmatch(table, -1) {
		pattern := strings.NewReplacer("NAME", "*", "VERB", "*").Replace(m[1])
		named++
		if found, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(pattern))); err != nil || len(found) == 0 {
			// zh.json stands beside the file that is named before it
			if beside, _ := filepath.Glob(filepath.Join(root(t), "internal", "cli", "text", pattern)); len(beside) == 0 {
				t.Errorf("ARCHITECTURE.md names %s, which does not exist", m[1])
			}
		}
	}
	if named < 40 {
		t.Errorf("only %d paths in the table", named)
	}
}
