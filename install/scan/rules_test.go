package scan

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/internal/race"
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

func TestEveryRuleFindsItsMatchesAndNothingElse(t *testing.T) {
	t.Parallel()
	s := scanner(t)
	for i := range s.set.rules {
		r := &s.set.rules[i]
		if err := s.proves(r); err != nil {
			t.Error(err)
		}
		if r.Title == "" || len(r.AST) == 0 || len(r.ID) != len(familyOf(r.ID))+3 {
			t.Errorf("%s: title, tags or the form of the id", r.ID)
		}
	}
}

// The scanner has no words for a tree that it found nothing in.
func TestNoWordsSayThatASkillIsHarmless(t *testing.T) {
	t.Parallel()
	verdict := regexp.MustCompile(`(?i)\b(?:safe|clean|harmless|trustworthy)\b|安全的|无害`)
	for _, r := range scanner(t).set.rules {
		if verdict.MatchString(r.Why) || verdict.MatchString(r.Title) {
			t.Errorf("%s: %s: %s", r.ID, r.Title, r.Why)
		}
	}
	for _, b := range built() {
		if verdict.MatchString(b.why) || !slices.Contains(Classes(), b.class) || len(b.ast) == 0 {
			t.Errorf("%+v", b)
		}
	}
}

func TestRulesThatBreakTheFormAreNamed(t *testing.T) {
	t.Parallel()
	const good = "- {id: OWN001, class: execution, level: warn, title: t, why: w, any: ['abc'], match: [abc], no_match: [x]}\n"
	for name, tt := range map[string]struct{ text, want string }{
		"good":             {good, ""},
		"id taken":         {strings.Replace(good, "OWN001", "RX001", 1), "taken"},
		"id twice":         {good + good, "taken"},
		"id":               {strings.Replace(good, "OWN001", "own", 1), "id"},
		"class":            {strings.Replace(good, "execution", "magic", 1), "magic"},
		"level":            {strings.Replace(good, "warn", "fatal", 1), "fatal"},
		"place":            {strings.Replace(good, "any:", "where: [margin], any:", 1), "margin"},
		"pattern":          {strings.Replace(good, "'abc'", "'('", 1), "missing"},
		"look-ahead":       {strings.Replace(good, "'abc'", "'abc(?!d)'", 1), "invalid"},
		"no literal":       {strings.Replace(good, "'abc'", "'[a-z]+'", 1), "no text of"},
		"fragment":         {strings.Replace(good, "'abc'", "'{nothing}abc'", 1), "{nothing}"},
		"unknown field":    {strings.Replace(good, "why:", "because:", 1), "because"},
		"no texts":         {strings.Replace(good, "match: [abc], no_", "", 1), "match"},
		"misses its text":  {strings.Replace(good, "match: [abc]", "match: [abd]", 1), "does not find"},
		"finds what not":   {strings.Replace(good, "no_match: [x]", "no_match: [xabc]", 1), "must not"},
		"no list":          {"a: b\n", "cannot unmarshal"},
		"shipped fragment": {strings.Replace(good, "['abc'], match: [abc]", "['{fetch} abc'], match: [curl abc]", 1), ""},
	} {
		_, err := New(Options{Rules: []fs.FS{fstest.MapFS{"own.yaml": {Data: []byte(tt.text)}}}})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := New(Options{Disable: []string{"NOPE001"}}); err == nil {
		t.Error("an unknown rule is left out")
	}
}

// What is expensive ends as a partial result, not as a long wait.
func TestHostileTextsEndAtTheBoundForOneFile(t *testing.T) {
	t.Parallel()
	s := scanner(t)
	for name, text := range hostile() {
		if race.Enabled {
			text = text[:1<<16]
		}
		found, whole := s.text("SKILL.md", text)
		if name == "lines" && !race.Enabled && whole {
			t.Errorf("%s: read whole", name)
		}
		for _, rule := range found {
			if n := countOf(found, rule.Rule); n > maxPerRule {
				t.Fatalf("%s: %d findings of %s", name, n, rule.Rule)
			}
		}
	}
}

func countOf(list []Finding, id string) (n int) {
	for _, f := range list {
		if f.Rule == id {
			n++
		}
	}
	return n
}
