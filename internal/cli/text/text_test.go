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
