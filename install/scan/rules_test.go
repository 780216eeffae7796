package scan

import (
	"strings"
	"sync"
	"testing"
)

// own is the scanner with the rules that are shipped; it is built once.
var own = sync.OnceValues(func() (*Scanner, error) { return New(Options{}) })

func scanner(t testing.TB) *Scanner {
	t.Helper()
	s, err := own()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// has reports whether a text has a finding of the rule in one of the places that rules
// speak of: as a page, as code of a page, as a script.
func has(s *Scanner, id, text string) bool {
	forms := map[string]string{
		"SKILL.md": text, "page.md": "```\n" + text + "\n```\n", "run.sh": text, "run.py": text, "note.md": "<!--\n" + text + "\n-->\n",
		"a.json": text,
	}
	for name, form := range forms {
		found, _ := s.text(name, form)
		for _, f := range found {
			if f.Rule == id {
				return true
			}
		}
	}
	return false
}

func TestEveryRuleFindsItsMatchesAndNothingElse(t *testing.T) {
	t.Parallel()
	s := scanner(t)
	for _, r := range s.set.rules {
		for _, text := range r.Match {
			if len(r.Beside) == 0 && !has(s, r.ID, text) || len(r.Beside) > 0 && !has(s, r.ID, text) {
				t.Errorf("%s does not find %q", r.ID, text)
			}
		}
		for _, text := range r.NoMatch {
			if has(s, r.ID, text) {
				t.Errorf("%s finds %q", r.ID, text)
			}
		}
		if !strings.HasPrefix(r.ID, familyOf(r.ID)) || r.Title == "" || len(r.AST) == 0 {
			t.Errorf("%s: title or tags are missing", r.ID)
		}
	}
}
