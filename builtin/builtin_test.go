package builtin

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/skill"
)

// requests has, for each skill, requests that it serves.
func requests() map[string][]string {
	return map[string][]string{
		"code-review":   {"review my pull request before I merge it", "check this diff for security bugs"},
		"deft-guide":    {"which skills are available here?", "how does deft find and load skills"},
		"init":          {"write an AGENTS.md for this repository", "initialise this project for coding agents"},
		"release-notes": {"write release notes since the last tag", "update the changelog for this version"},
		"skill-creator": {"create a new skill for our expense form", "help me write a SKILL.md and test it"},
		"skill-doctor":  {"why is my skill missing from the list?", "the wrong skill is used, find out why"},
	}
}

func load(t *testing.T, name string) (*skill.Skill, string) {
	t.Helper()
	src, err := fs.ReadFile(FS(), path.Join(name, "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := skill.Parse(src, skill.ParseOptions{Path: name + "/SKILL.md", DirName: name})
	return s, string(src[s.Body.Start:s.Body.End])
}

func names(t *testing.T) []string {
	t.Helper()
	dirs, err := fs.ReadDir(FS(), ".")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range dirs {
		out = append(out, d.Name())
	}
	return out
}

func TestSixSkillsShip(t *testing.T) {
	t.Parallel()
	want := []string{"code-review", "deft-guide", "init", "release-notes", "skill-creator", "skill-doctor"}
	if got := names(t); !slices.Equal(got, want) || !slices.Contains(got, Guide) {
		t.Errorf("ships %v", got)
	}
}

func TestEachReadsWithoutADiagnostic(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		s, _ := load(t, name)
		if len(s.Diagnostics) > 0 || !s.Valid || s.Name != name {
			t.Errorf("%s: valid %v, name %q, %v", name, s.Valid, s.Name, s.Diagnostics)
		}
		if n := utf8.RuneCountInString(s.Description); n < 60 || n > 200 || !strings.Contains(s.Description, "Use when") {
			t.Errorf("%s: description of %d code points must say what and when", name, n)
		}
	}
}

func TestEachPassesTheOpenStandard(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		report := skill.ValidateDir(FS(), name, name, skill.ProfileAgentskills)
		if !report.OK || len(report.Diagnostics) > 0 {
			t.Errorf("%s: %v", name, report.Diagnostics)
		}
	}
}

func TestEachPassesItsOwnLint(t *testing.T) {
	t.Parallel()
	counter := tokens.O200k()
	for _, name := range names(t) {
		s, body := load(t, name)
		sub, err := fs.Sub(FS(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range skill.Lint(s, []byte(body), skill.LintOptions{Builtin: true, FS: sub, Tokens: counter.Count}) {
			if d.Level != skill.LevelInfo {
				t.Errorf("%s line %d: %s %s", name, d.Line, d.Code, d.Message)
			}
		}
	}
}

func TestBodiesAreShort(t *testing.T) {
	t.Parallel()
	counter := tokens.O200k()
	for _, name := range names(t) {
		_, body := load(t, name)
		lines, n := strings.Count(strings.TrimSpace(body), "\n")+1, counter.Count(body)
		t.Logf("%s: %d lines, %d tokens", name, lines, n)
		if lines < 40 || lines > 120 || n > 800 {
			t.Errorf("%s: %d lines, %d tokens", name, lines, n)
		}
	}
}

func TestNamedFilesExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`(references/[a-z-]+\\.md)`")
	for _, name := range names(t) {
		_, body := load(t, name)
		var found []string
		for _, m := range named.FindAllStringSubmatch(body, -1) {
			found = append(found, m[1])
			if _, err := fs.Stat(FS(), path.Join(name, m[1])); err != nil {
				t.Errorf("%s names %s: %v", name, m[1], err)
			}
		}
		files, _ := fs.ReadDir(FS(), path.Join(name, "references"))
		for _, f := range files {
			if !slices.Contains(found, path.Join("references", f.Name())) {
				t.Errorf("%s never names references/%s", name, f.Name())
			}
		}
	}
}

func TestEachRequestFindsItsSkill(t *testing.T) {
	t.Parallel()
	words := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return (r < 'a' || r > 'z') && r != '.' })
	}
	score := func(request, text string) (n int) {
		have := words(text)
		for _, w := range words(request) {
			if len(w) > 2 && slices.ContainsFunc(have, func(h string) bool { return strings.TrimSuffix(h, "s") == strings.TrimSuffix(w, "s") }) {
				n += len(w)
			}
		}
		return n
	}
	for want, list := range requests() {
		for _, request := range list {
			best, top := "", 0
			for _, name := range names(t) {
				s, _ := load(t, name)
				if n := score(request, name+" "+s.Description); n > top {
					best, top = name, n
				}
			}
			if best != want {
				t.Errorf("%q goes to %s, not to %s", request, best, want)
			}
		}
	}
}
