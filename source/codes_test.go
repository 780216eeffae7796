package source

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func TestEveryCodeHasItsRow(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, c := range codes {
		if rows[c.code] || c.fix == "" || !regexp.MustCompile(`^[a-z0-9_]+$`).MatchString(c.code) {
			t.Errorf("row %+v is twice, has no fix or a bad code", c)
		}
		rows[c.code] = true
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
