package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/cli/text"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/session"
)

// asked puts one question and answers it with line.
func asked(t *testing.T, q agent.Question, line string) (string, gate.Answer) {
	t.Helper()
	var out bytes.Buffer
	a := &app{
		proc: Process{StdinTerminal: true, StderrTerminal: true, Stdin: strings.NewReader(line + "\n")},
		err:  safetext.NewPrinter(&out, safetext.Policy{}), words: text.Load("en"),
	}
	answer, err := terminal{&run{app: a}}.Confirm(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), answer
}

func question(tier gate.Tier, tool, args string) agent.Question {
	return agent.Question{
		Call:     gate.Call{Tool: tool, Dir: "/src", Args: json.RawMessage(args)},
		Decision: gate.Decision{Tier: tier, Reason: "it writes"},
	}
}

func TestAQuestionShowsAllOfTheCall(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000) + "END"
	args, err := json.Marshal(map[string]any{"path": "a.txt", "content": "one\ntwo\x1b[2J\n" + long, "n": 3})
	if err != nil {
		t.Fatal(err)
	}
	q := question(gate.ConfirmOnce, "write", string(args))
	q.Active = []session.Activation{{Name: "tidy\nfake line", SourceID: "user-cc", Location: "file:///x/SKILL.md"}}
	out, _ := asked(t, q, "n")
	for _, want := range []string{
		"write wants to run (CONFIRM_ONCE): it writes", "in /src, local", `skill tidy\nfake line (user-cc)`,
		"path: a.txt", "│ one\n", `│ two\x1b[2J` + "\n", long, "n: 3", "[y/s/N]",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not shown in\n%.600s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("a raw escape reaches the terminal")
	}
}

func TestAnEditIsShownAsADifference(t *testing.T) {
	t.Parallel()
	out, _ := asked(t, question(gate.ConfirmOnce, "edit", `{"path":"a","edits":[{"old":"x\ny","new":"z","all":true}]}`), "n")
	if !strings.Contains(out, "    - x\n    - y\n    + z\n") || !strings.Contains(out, "all: true") {
		t.Errorf("got\n%s", out)
	}
}

func TestAnswersThatLast(t *testing.T) {
	t.Parallel()
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.Local) }
	for _, tt := range []struct {
		line   string
		skills int
		want   gate.Answer
	}{
		{"a", 0, gate.Answer{Reply: gate.Always}},
		{"always 2027-01-31", 0, gate.Answer{Reply: gate.Always, Expires: day(2027, 2, 1)}},
		{"a tomorrow", 0, gate.Answer{Reply: gate.No, Message: "tomorrow"}},
		{"k", 0, gate.Answer{Reply: gate.No}},
		{"k", 1, gate.Answer{Reply: gate.AlwaysForSkill}},
		{"skill 2026-12-31", 1, gate.Answer{Reply: gate.AlwaysForSkill, Expires: day(2027, 1, 1)}},
		{"k", 2, gate.Answer{Reply: gate.No}},
		{"s", 1, gate.Answer{Reply: gate.ForSession}},
	} {
		q := question(gate.ConfirmOnce, "note", "{}")
		q.Decision.Replies = []gate.Reply{gate.Once, gate.ForSession, gate.Always, gate.No}
		if tt.skills > 0 {
			q.Decision.Replies = append(q.Decision.Replies, gate.AlwaysForSkill)
		}
		q.Active = make([]session.Activation, tt.skills)
		out, got := asked(t, q, tt.line)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q with %d skills: %s", tt.line, tt.skills, diff)
		}
		if strings.Contains(out, "k = ") != (tt.skills == 1) || !strings.Contains(out, "a = always") {
			t.Errorf("offered: %s", out)
		}
	}
	each := question(gate.AlwaysConfirm, "send", "{}")
	if out, got := asked(t, each, "a"); got.Reply != gate.No || strings.Contains(out, "always") {
		t.Errorf("%s for each call: %s", got.Reply, out)
	}
}

func TestAnswersOfAPerson(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tier gate.Tier
		line string
		want gate.Answer
	}{
		{gate.ConfirmOnce, "y", gate.Answer{Reply: gate.Once}},
		{gate.ConfirmOnce, "s", gate.Answer{Reply: gate.ForSession}},
		{gate.AlwaysConfirm, "s", gate.Answer{Reply: gate.No}},
		{gate.AlwaysConfirm, "yes", gate.Answer{Reply: gate.Once}},
		{gate.ConfirmOnce, "", gate.Answer{Reply: gate.No}},
		{gate.ConfirmOnce, "n use the other file", gate.Answer{Reply: gate.No, Message: "use the other file"}},
		{gate.ManualOnly, "y", gate.Answer{Reply: gate.No}},
		{gate.ManualOnly, "drop", gate.Answer{Reply: gate.Once, Typed: "drop"}},
		{0, "y", gate.Answer{Reply: gate.No}},
	} {
		_, got := asked(t, question(tt.tier, "drop", `{}`), tt.line)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %q: %s", tt.tier, tt.line, diff)
		}
	}
}

func TestWithoutATerminalThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	a := &app{proc: Process{Stdin: strings.NewReader("y\n"), StderrTerminal: true}, words: text.Load("en")}
	if _, err := (terminal{&run{app: a}}).Confirm(t.Context(), question(gate.ConfirmOnce, "write", `{}`)); err == nil {
		t.Error("piped input answered the gate")
	}
}
