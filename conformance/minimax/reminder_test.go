package minimax

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/session"
)

// unplanned is a plan without router and catalog.
type unplanned struct{}

func (unplanned) Plan(context.Context, agent.PlanInput) (agent.Plan, error) { return agent.Plan{}, nil }

// unrecorded keeps no rows.
type unrecorded struct{}

func (unrecorded) Record(context.Context, gate.Row) error { return nil }

// prompts returns what stands in the last message of a turn with a text.
func prompts(t *testing.T, w *world) func(text string) string {
	t.Helper()
	table, err := agent.GateTable(nil)
	if err != nil {
		t.Fatal(err)
	}
	door, err := gate.New(gate.Options{Tools: table, Audit: unrecorded{}})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := agent.New(agent.Deps{Gate: door, Planner: unplanned{}})
	if err != nil {
		t.Fatal(err)
	}
	snap := w.snapshot()
	return func(text string) string {
		k := newTalk(t, snap)
		k.turn.End()
		turn, err := runner.Begin(t.Context(), k.s, agent.Input{Text: text, Origin: gate.Interactive, Principal: "user"})
		if err != nil {
			t.Fatal(err)
		}
		defer turn.End()
		if n := len(k.s.Active()); n != 0 {
			t.Errorf("%q: %d skills are active before the model asked", text, n)
		}
		_, user := turn.Prompt()
		return user
	}
}

func docx(t *testing.T) *world {
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "docx"))
	w.skill(filepath.Join(w.global(), "other"))
	return w
}

// reminder is what precedes the message.
func reminder(name string) string {
	return "<system-reminder>\nThe user explicitly requested the `" + name + "` skill. Load it with the `skill` tool and follow it.\n</system-reminder>"
}

func TestU04SubmittedVerbatim(t *testing.T) {
	t.Parallel()
	const message = "/docx make a  table "
	if got := prompts(t, docx(t))(message); !strings.HasSuffix(got, "\n"+message) {
		t.Errorf("%q", got)
	}
}

func TestU05ReminderPrecedesText(t *testing.T) {
	t.Parallel()
	if got := prompts(t, docx(t))("/docx make a table"); !strings.HasSuffix(got, reminder("docx")+"\n\n/docx make a table") {
		t.Errorf("%q", got)
	}
}

func TestU06ReminderCaseInsensitive(t *testing.T) {
	t.Parallel()
	if got := prompts(t, docx(t))("/DOCX"); !strings.Contains(got, reminder("docx")) {
		t.Errorf("%q", got)
	}
}

func TestU07ReminderOnlyAtStart(t *testing.T) {
	t.Parallel()
	ask := prompts(t, docx(t))
	if got := ask("use /docx"); strings.Contains(got, "reminder") {
		t.Errorf("%q", got)
	}
	if got := ask(" \n /docx"); !strings.Contains(got, reminder("docx")) {
		t.Errorf("%q", got)
	}
}

// own finds the two skills of docx.
func own(name string) (string, bool) {
	name = strings.ToLower(name)
	return name, name == "docx" || name == "other" || name == "plug:skill"
}

func TestU08ReminderFirstMessageDecides(t *testing.T) {
	t.Parallel()
	is(t, "two", session.Reminder([]string{"/other a", "/docx b"}, "skill", own), reminder("other"))
	is(t, "the second", session.Reminder([]string{"hello", "/docx b"}, "skill", own), reminder("docx"))
}

func TestU09ReminderPattern(t *testing.T) {
	t.Parallel()
	is(t, "plugin", session.Reminder([]string{"/plug:skill"}, "skill", own), reminder("plug:skill"))
	any := func(name string) (string, bool) { return name, true }
	for _, text := range []string{"/a:b:c", "/技能", "/a,", "/", "/a/b"} {
		is(t, text, session.Reminder([]string{text}, "skill", any), "")
	}
}

// Dialect deft starts the skill, whatever script its name is written in.
func TestU09ReminderPatternDeft(t *testing.T) {
	t.Parallel()
	names, _, _ := session.Slash("/技能 x", func(string) bool { return true })
	equal(t, "names", names, []string{"技能"})
}

func TestU10ReminderUnknownName(t *testing.T) {
	t.Parallel()
	if got := prompts(t, docx(t))("/nothing"); strings.Contains(got, "reminder") {
		t.Errorf("%q", got)
	}
}

func TestU11BodyNeverInlined(t *testing.T) {
	t.Parallel()
	ask := prompts(t, docx(t))
	for _, text := range []string{"/docx make a table", "use the docx skill", "hello"} {
		if got := ask(text); strings.Contains(got, "Do it.") {
			t.Errorf("%q", got)
		}
	}
}
