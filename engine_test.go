package deft_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/search"
)

// write makes files below dir from slash-separated names.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, o deft.Options) *deft.Engine {
	t.Helper()
	e, err := deft.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func newSession(t testing.TB, e *deft.Engine, o deft.SessionOptions) *deft.Session {
	t.Helper()
	s, err := e.NewSession(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

const notes = `---
name: meeting-notes
description: Turn a transcript into decisions, owners and dates. Use after a meeting.
---

# Meeting notes

List the decisions first.
`

func home(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{".claude/skills/meeting-notes/SKILL.md": notes})
	return dir
}

func TestAPlanNeedsNoModel(t *testing.T) {
	t.Parallel()
	e := open(t, deft.Options{Workspace: t.TempDir(), Home: home(t)})
	plan, err := newSession(t, e, deft.SessionOptions{}).Plan(t.Context(), deft.Input{
		Text: "/meeting-notes for today", Origin: gate.Interactive,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Active) != 1 || plan.Active[0].Name != "meeting-notes" {
		t.Fatalf("active: %+v", plan.Active)
	}
	if text := plan.Active[0].Text; !strings.Contains(text, "List the decisions first.") || !strings.Contains(text, "ARGUMENTS: for today") {
		t.Errorf("text:\n%s", text)
	}
	var names []string
	for _, b := range plan.Blocks {
		names = append(names, b.Name)
		if b.Tokens == 0 {
			t.Errorf("block %s: no tokens counted", b.Name)
		}
	}
	if got := strings.Join(names, " "); !strings.HasPrefix(got, "identity catalog ") {
		t.Errorf("blocks: %s", got)
	}
}

func TestEachBuiltinSkillIsTheClearWinnerOfARequest(t *testing.T) {
	t.Parallel()
	e := open(t, deft.Options{Workspace: t.TempDir()})
	for request, want := range map[string]string{
		"review my code changes before I commit them":        "code-review",
		"write release notes for the new version":            "release-notes",
		"my skill is missing from the list, find out why":    "skill-doctor",
		"create a new skill for our expense form":            "skill-creator",
		"write an AGENTS.md for this project":                "init",
		"what is the capital of France and how big is Paris": "",
	} {
		r, err := e.Route(t.Context(), deft.Request{Text: request})
		if err != nil {
			t.Fatal(err)
		}
		winner, _ := r.ClearWinner()
		if winner.Name != want {
			t.Errorf("%q: winner %q, want %q; hits %v", request, winner.Name, want, r.Hits)
		}
	}
}

func TestWithheldProjectSkillsReachNoModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		".git/HEAD":                             "ref: refs/heads/main\n",
		".claude/skills/zebra-painter/SKILL.md": "---\nname: zebra-painter\ndescription: Paint zebras in stripes.\n---\nPaint.\n",
	})
	for trust, want := range map[registry.ProjectTrust]bool{registry.ProjectAsk: false, registry.ProjectAlways: true} {
		e := open(t, deft.Options{Workspace: dir, Project: trust})
		shown, err := e.Catalog(t.Context(), deft.CatalogOptions{For: &deft.Request{Text: "paint a zebra"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(shown.Stable.Text+shown.Tail.Text, "zebra-painter"); got != want {
			t.Errorf("trust %s: in the catalog %v, want %v", trust, got, want)
		}
		found, err := e.Search(t.Context(), search.Query{Text: "zebra"})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(found.Hits) > 0; got != want {
			t.Errorf("trust %s: found %v, want %v", trust, got, want)
		}
	}
}

func TestAChangedReferenceIsFoundAfterARefresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"skills/tides/SKILL.md":           "---\nname: tides\ndescription: The sea.\n---\nEbb.\n",
		"skills/tides/references/moon.md": "A syzygy.\n",
	})
	e := open(t, deft.Options{Workspace: dir, Sources: []string{"user=" + filepath.Join(dir, "skills")}, OnlySources: true, NoBuiltin: true})
	hits := func(word string) int {
		res, err := e.Search(t.Context(), search.Query{Text: word})
		if err != nil {
			t.Fatal(err)
		}
		return len(res.Hits)
	}
	if hits("syzygy") != 1 {
		t.Fatal("the reference is not searched")
	}
	write(t, dir, map[string]string{"skills/tides/references/moon.md": "The perigee instead.\n"})
	if _, err := e.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if hits("perigee") != 1 || hits("syzygy") != 0 {
		t.Errorf("after a refresh the new word has %d hits, the old one %d", hits("perigee"), hits("syzygy"))
	}
}
