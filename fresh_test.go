package deft_test

import (
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/casetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
)

func TestCase041CatalogAndActiveSkillsAfterTheConversationWasShortened(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "041")
	e := open(t, deft.Options{Workspace: c.Project, Home: c.Home, Project: registry.ProjectAlways, NoBuiltin: true})
	s := newSession(t, e, deft.SessionOptions{})
	plan := func(text string) string {
		p, err := s.Plan(t.Context(), deft.Input{Text: text, Origin: gate.Interactive, Principal: "user"})
		if err != nil {
			t.Fatal(err)
		}
		return p.Plan.Catalog.Prefix() + "\n" + p.Plan.Catalog.Tail.Text
	}
	plan("/method bees")
	fresh := func(b session.FreshBudget) (deft.Fresh, string) {
		f, err := s.Fresh(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return f, f.Text()
	}
	first, text := fresh(session.FreshBudget{})
	for _, once := range []string{"<available_skills>", "- method: Method.", "- other: Other.", "Keep a single list of open points, never two. Topic: bees", "do not carry them out again", `Its arguments were: "bees"`} {
		if strings.Count(text, once) != 1 {
			t.Errorf("%q occurs %d times in\n%s", once, strings.Count(text, once), text)
		}
	}
	if _, again := fresh(session.FreshBudget{}); again != text {
		t.Errorf("the second round differs:\n%s", again)
	}
	if first.Catalog.Report.Active != first.Tokens || first.Tokens == 0 {
		t.Errorf("%d tokens of %d", first.Catalog.Report.Active, first.Tokens)
	}

	// What was told at the end of the prompt is part of the catalog afterwards.
	write(t, c.Project, map[string]string{".claude/skills/third/SKILL.md": "---\nname: third\ndescription: Third.\n---\nDo it.\n"})
	if _, err := e.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if told := plan("go on"); !strings.Contains(told, "<skills_changed>\n+ third: Third.\n</skills_changed>") || strings.Contains(told, "- third") {
		t.Errorf("told %s", told)
	}
	_, text = fresh(session.FreshBudget{})
	if strings.Count(text, "third: Third.") != 1 || strings.Contains(text, "<skills_changed>") {
		t.Errorf("fresh:\n%s", text)
	}
	if told := plan("go on"); strings.Contains(told, "<skills_changed>") || !strings.Contains(told, "- third: Third.") {
		t.Errorf("after it %s", told)
	}

	if cut, _ := fresh(session.FreshBudget{Skill: 105}); len(cut.Skills) != 1 || !cut.Skills[0].Cut || !strings.Contains(cut.Skills[0].Text, "[cut: ") || cut.Tokens > 105 {
		t.Errorf("%d tokens: %+v", cut.Tokens, cut.Skills)
	}
	if none, text := fresh(session.FreshBudget{Total: 10}); len(none.Skills) != 0 || len(none.Omitted) != 1 || !strings.Contains(text, `Skill "method" is still active`) {
		t.Errorf("%+v", none.Fresh)
	}
}
