package deft_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
)

// whole is all that a request holds.
func whole(r model.Request) string {
	var b strings.Builder
	for _, s := range r.System {
		b.WriteString(s.Text + "\n")
	}
	for _, m := range r.Messages {
		b.WriteString(m.Text + "\n")
		for _, c := range m.Calls {
			b.WriteString(string(c.Input) + "\n")
		}
		for _, res := range m.Results {
			b.WriteString(res.Text + "\n")
		}
	}
	return b.String()
}

func summarises(r model.Request) bool {
	return strings.HasPrefix(whole(r), "You shorten the conversation")
}

// A conversation that fills the model's window is shortened, twice: each active skill is in
// the next request once, as it was given, and so is the catalog with what was new.
func TestCase041TheLoopShortensAConversation(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("One line of a long text that is not to be lost.\n", 700)
	n := newNest(t, nil, nil,
		map[string]string{
			".claude/skills/method/SKILL.md": "---\nname: method\ndescription: Method.\n---\n\nKeep a single list of open points. Topic: $ARGUMENTS\n",
			".claude/skills/other/SKILL.md":  "---\nname: other\ndescription: Other.\n---\n\nDo the other thing.\n",
			".claude/skills/once/SKILL.md":   "---\nname: once\ndescription: Once.\nmetadata: {one-shot: true}\n---\n\nDo it this one time.\n",
			".claude/skills/long/SKILL.md":   "---\nname: long\ndescription: Long.\n---\n\n" + long,
		})
	n.model.window = 30_000
	summaries := 0
	n.model.answer = func(_ context.Context, r model.Request) model.Step {
		switch {
		case summarises(r):
			summaries++
			return says(fmt.Sprintf("SUMMARY %d", summaries))
		case strings.HasSuffix(last(r), "load it"):
			return calls("skill", map[string]string{"name": "method", "arguments": "bees"})
		}
		return says("fine")
	}
	turn := func(text string) string {
		n.events = nil
		if end := n.run(t.Context(), deft.Input{Text: text}); end.Stop != agent.StopEnd || end.Answer != "fine" {
			t.Fatalf("%+v", end)
		}
		return whole(n.model.requests[len(n.model.requests)-1])
	}
	turn("/other /once load it")
	turn("/long go on")
	if summaries != 0 {
		t.Fatal("shortened before there was need")
	}
	for round := 1; round <= 2; round++ {
		text := turn("here is more: " + strings.Repeat("word ", 14_000))
		if summaries != round {
			t.Fatalf("%d summaries in round %d", summaries, round)
		}
		for _, once := range []string{
			fmt.Sprintf("SUMMARY %d", round), "<available_skills>", "- method: Method.", "Topic: bees", "Do the other thing.", "here is more",
			"One line of a long text that is not to be lost.\n[cut: ", `arguments were: "bees"`,
		} {
			if strings.Count(text, once) != 1 {
				t.Errorf("round %d: %d times %q", round, strings.Count(text, once), once)
			}
		}
		for _, gone := range []string{"Do it this one time.", "/other /once load it", "SUMMARY " + fmt.Sprint(round-1)} {
			if strings.Contains(text, gone) {
				t.Errorf("round %d: %q is still there", round, gone)
			}
		}
		if told := n.compaction(); len(told) != 1 || strings.Join(told[0].Skills, " ") != "other method long" || told[0].After >= told[0].Before {
			t.Errorf("told %+v", told)
		}
		if round == 1 {
			write(t, n.home, map[string]string{".claude/skills/third/SKILL.md": "---\nname: third\ndescription: Third.\n---\nDo it.\n"})
			if _, err := n.engine.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else if strings.Count(text, "third: Third.") != 1 || strings.Contains(text, "<skills_changed>") {
			t.Error("what was new is not part of the catalog")
		}
	}
	// What is whole in the prompt is not given again; what was cut or left out is.
	res := n.reload("method", "bees")
	if !strings.Contains(res, "already loaded") {
		t.Errorf("method: %s", res)
	}
	for name, part := range map[string]string{"long": "One line of a long", "once": "Do it this one time."} {
		if res := n.reload(name, ""); !strings.Contains(res, part) {
			t.Errorf("%s: %.200s", name, res)
		}
	}
}

func (n *nest) compaction() (out []agent.Compaction) {
	for _, e := range n.events {
		if e.Type == agent.Compacted {
			out = append(out, *e.Compaction)
		}
	}
	return out
}

// reload has the model load a skill and returns the result of the call.
func (n *nest) reload(name, args string) string {
	n.t.Helper()
	before := n.model.answer
	var got string
	n.model.answer = func(_ context.Context, r model.Request) model.Step {
		if len(r.Messages[len(r.Messages)-1].Results) > 0 {
			got = last(r)
			return says("fine")
		}
		in := map[string]string{"name": name}
		if args != "" {
			in["arguments"] = args
		}
		return calls("skill", in)
	}
	n.run(n.t.Context(), deft.Input{Text: "load"})
	n.model.answer = before
	return got
}

// In the middle of a turn the last step stays, with its result.
func TestATurnIsShortenedInTheMiddle(t *testing.T) {
	t.Parallel()
	n := newNest(t, nil, nil)
	write(t, n.dir, map[string]string{"big.txt": strings.Repeat("a fact of the file\n", 3000)})
	n.model.window = 12_000
	step := 0
	n.model.answer = func(_ context.Context, r model.Request) model.Step {
		if summarises(r) {
			return says("SUMMARY")
		}
		if step++; step < 4 {
			return calls("read", map[string]any{"path": "big.txt", "offset": 1, "limit": 700 + step})
		}
		return says("done")
	}
	end := n.run(t.Context(), deft.Input{Text: "which facts are there"})
	text := whole(n.model.requests[len(n.model.requests)-1])
	if end.Answer != "done" || len(n.compaction()) == 0 || !strings.Contains(text, "SUMMARY") || !strings.Contains(text, "a fact of the file") || strings.Count(text, "which facts are there") != 1 {
		t.Errorf("%+v\n%.3000s", end, text)
	}
	for _, e := range n.events {
		if e.Type == agent.TextDelta && strings.Contains(e.Text, "SUMMARY") {
			t.Error("the summary is told as an answer")
		}
	}
}

// A resumed session has no conversation: the prompt carries what is active, each once,
// whoever started it, also after the former conversation was shortened.
func TestAResumedSessionTellsItsSkills(t *testing.T) {
	t.Parallel()
	n := newNest(t, nil, nil,
		map[string]string{
			".claude/skills/method/SKILL.md": "---\nname: method\ndescription: Method.\n---\n\nKeep a single list. Topic: $ARGUMENTS\n",
			".claude/skills/other/SKILL.md":  "---\nname: other\ndescription: Other.\n---\n\nDo the other thing.\n",
			".claude/skills/gone/SKILL.md":   "---\nname: gone\ndescription: Gone.\n---\n\nGone.\n",
			".claude/skills/edited/SKILL.md": "---\nname: edited\ndescription: Edited.\n---\n\nBefore.\n",
		})
	n.model.window = 9_000
	n.model.answer = func(_ context.Context, r model.Request) model.Step {
		switch {
		case summarises(r):
			return says("SUMMARY")
		case strings.HasSuffix(last(r), "load it"):
			return calls("skill", map[string]string{"name": "method", "arguments": "bees"})
		}
		return says("fine")
	}
	n.run(t.Context(), deft.Input{Text: "/other /gone /edited load it"})
	for _, more := range []string{"", strings.Repeat("word ", 8_000)} {
		if n.run(t.Context(), deft.Input{Text: "go on " + more}); (more != "") != (len(n.compaction()) > 0) {
			t.Fatalf("shortened: %v", n.compaction())
		}
		state := n.s.State()
		write(t, n.home, map[string]string{".claude/skills/edited/SKILL.md": "---\nname: edited\ndescription: Edited.\n---\n\nAfter.\n"})
		if err := os.RemoveAll(filepath.Join(n.home, ".claude/skills/gone")); err != nil {
			t.Fatal(err)
		}
		e := open(t, deft.Options{Workspace: n.dir, Home: n.home, NoBuiltin: true})
		next := &nest{t: t, engine: e, model: n.model, s: newSession(t, e, deft.SessionOptions{Model: n.model, Resume: &state})}
		var told []string
		for _, p := range next.s.Resumed().Problems {
			told = append(told, p.Name+" "+p.Code)
		}
		want(t, "told", strings.Join(told, ", "), "gone resume_gone, edited resume_changed")
		next.run(t.Context(), deft.Input{Text: "where were we"})
		text := whole(n.model.requests[len(n.model.requests)-1])
		for _, once := range []string{"Topic: bees", "Do the other thing."} {
			if strings.Count(text, once) != 1 {
				t.Errorf("%d times %q in\n%s", strings.Count(text, once), once, text)
			}
		}
		if strings.Contains(text, "Before.") || strings.Contains(text, "After.") || strings.Contains(text, "SUMMARY") {
			t.Errorf("more than what is active:\n%s", text)
		}
		if res := next.reload("method", "bees"); !strings.Contains(res, "already loaded") {
			t.Errorf("method: %s", res)
		}
	}
}
