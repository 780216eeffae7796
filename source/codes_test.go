package source

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/deftskills/deft/skill"
)

func TestEveryCodeHasItsRow(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, c := range skill.Codes() {
		rows[c.Code] = true
	}
	made := regexp.MustCompile(`(?:finding|note|skip)\("([a-z_]+)"`)
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made.FindAllStringSubmatch(string(src), -1) {
			if !rows[m[1]] {
				t.Errorf("%s: code %s has no row", f, m[1])
			}
		}
	}
}
