package text

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFixIsSaidInTheLanguage(t *testing.T) {
	t.Parallel()
	en, zh := Load("en"), Load("zh")
	for phrase, want := range map[string]string{
		"quote the value": "给值加上引号", "rename to tidy": "重命名为 tidy", "something new": "something new", "": "",
	} {
		if got := zh.Fix(phrase); got != want {
			t.Errorf("%q: %q, want %q", phrase, got, want)
		}
		if got := en.Fix(phrase); got != phrase {
			t.Errorf("%q becomes %q in English", phrase, got)
		}
	}
}

func TestNoKeyOfACatalogueStandsTwice(t *testing.T) {
	t.Parallel()
	list, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		data, err := files.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for line := range strings.Lines(string(data)) {
			key, _, ok := strings.Cut(strings.TrimSpace(line), `": `)
			if ok && seen[key] {
				t.Errorf("%s: %s\" stands twice", f.Name(), key)
			}
			seen[key] = ok
		}
	}
}

// Each phrase of the catalogue stands in the code of a room: none is stale.
func TestEachFixIsSomebodys(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, room := range []string{"skill", "source", "registry"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(src)
		}
	}
	for phrase := range load(fixesName) {
		if start, _ := strings.CutSuffix(phrase, "*"); !strings.Contains(code.String(), start) {
			t.Errorf("nobody says %q", phrase)
		}
	}
}
