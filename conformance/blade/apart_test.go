package blade

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// Not reproduced: a name that the model guesses runs a skill that is the user's to start.
func TestBlade_Z01_manual_only_call(t *testing.T) {
	t.Parallel()
	d, _ := own(t, "Body.", "disable-model-invocation: true")
	text := d.load("x", "")
	want(t, "refused", []any{d.last.IsError, d.last.Code, strings.Contains(text, "Body."), len(d.s.Active())}, []any{true, "skill_manual_only", false, 0})
}

// Not reproduced: the error for an unknown name lists what the model may not see.
func TestBlade_Z02_names_in_error(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/open")
	put(t, filepath.Join(p, "skills/hidden/SKILL.md"), "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\nBody.\n")
	want(t, "text", deskOf(t, local(t, p)).load("nope", ""), `Skill "nope" not found. Available skills: open`)
}

// shell is a tool for commands that only notes what it is given.
func shell(ran *[]string) toolset.Tool {
	h := tiered("Bash", gate.ReadOnly)
	h.spec.Input = json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)
	h.run = func(_ context.Context, c toolset.Call) (toolset.Result, error) {
		var in struct{ Command string }
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return toolset.Result{}, err
		}
		*ran = append(*ran, in.Command)
		return toolset.Result{Text: "ran"}, nil
	}
	return h
}

// Not reproduced: the part in brackets of a tool's name counts for nothing, and nothing
// is asked at the call.
func TestBlade_Z03_selector_at_call(t *testing.T) {
	t.Parallel()
	var ran []string
	turn := loaded(t, skilled(t, `allowed-tools: ["Bash(git:*)"]`, `disallowed-tools: ["Bash(git push:*)"]`), shell(&ran), tiered("Read", gate.ReadOnly))
	want(t, "declared", declared(turn.Tools()), []string{"Bash"})
	for range 2 {
		for _, c := range []string{"git status", "git push origin", "rm x", "git status; rm x"} {
			in, err := json.Marshal(map[string]string{"command": c})
			if err != nil {
				t.Fatal(err)
			}
			called(turn, "Bash", string(in))
		}
		want(t, "a tool that no list names", called(turn, "Read", `{}`).IsError, true)
	}
	want(t, "ran", ran, []string{"git status", "git status"})
}

// Not reproduced: what one turn allows makes the session's refusal vanish. It is told so,
// and refused all the same.
func TestBlade_Z04_policy_widening(t *testing.T) {
	t.Parallel()
	var ran []string
	denies := answers("denies", toolset.Result{Text: "denied", Patch: &session.Patch{Tools: &session.ToolPolicy{Deny: []string{"Bash"}}}})
	turn := begun(t, skilled(t, "scope: turn", "allowed-tools: [Bash]"), deft.SessionOptions{}, shell(&ran), denies)
	called(turn, "denies", `{}`)
	called(turn, loader(), `{"skill":"x"}`)
	want(t, "told", reported(turn.Session()), "[Bash] [] turn")
	r := called(turn, "Bash", `{"command":"git status"}`)
	want(t, "called", []any{r.IsError, strings.Contains(r.Text, gate.CodeSkillRefuses), len(ran)}, []any{true, true, 0})
}

// Not reproduced: ending a session's skill leaves what it brought.
func TestBlade_Z05_clear_leaves(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("x", map[string]any{
		"deniedTools": []string{"Bash"}, "systemPromptAppend": "p", "environment": map[string]any{"A": "1"}, "modelId": "m",
	}))
	before := s.Effective()
	start(t, turn, "x")
	if _, err := turn.Deactivate("x"); err != nil {
		t.Fatal(err)
	}
	want(t, "in effect", fmt.Sprintf("%+v", s.Effective()), fmt.Sprintf("%+v", before))
}

// Not reproduced: a mark of byte order makes a file unreadable.
func TestBlade_Z11_bom(t *testing.T) {
	t.Parallel()
	s := parse("\ufeff---\nname: x\ndescription: d\n---\nBody.\n")
	want(t, "valid, name", []any{s.Valid, s.Name}, []any{true, "x"})
}

// Not reproduced: a blank inside the brackets of a tool's name separates.
func TestBlade_Z12_split_in_parens(t *testing.T) {
	t.Parallel()
	want(t, "tools", tools(t, `"Bash(git commit:*) Read"`), "Bash(git commit:*)|Read")
}

// Not reproduced: nothing ever asks for the effort of a skill.
func TestBlade_Z14_effort_nowhere(t *testing.T) {
	t.Parallel()
	s, m := talkOf(t, skilled(t, "effort: high"), deft.SessionOptions{}, []scripted.Step{loading("x"), {Text: "done"}})
	runs(t, t.Context(), s, "go")
	want(t, "asked for", []string{m.Requests()[0].Effort, m.Requests()[1].Effort}, []string{"", "high"})
}

// Not reproduced: the model of a turn's skill stays when the turn has ended.
func TestBlade_Z15_model_kept(t *testing.T) {
	t.Parallel()
	big := scripted.New("big", scripted.Script{Steps: []scripted.Step{{Text: "by big"}}})
	models := func(id string) (model.Model, bool) { return big, id == "big" }
	s, _ := talkOf(t, skilled(t, "model: big", "scope: turn"), deft.SessionOptions{Models: models}, []scripted.Step{loading("x"), {Text: "by the first"}})
	want(t, "first turn", runs(t, t.Context(), s, "go").Answer, "by big")
	want(t, "second turn", runs(t, t.Context(), s, "go").Answer, "by the first")
}

// Not reproduced: what the host and tools brought goes with the former skill.
func TestBlade_Z17_reset_collateral(t *testing.T) {
	t.Parallel()
	s, turn := talk(t, with("first", map[string]any{"systemPromptAppend": "one"}), define("second"))
	prompt := "the host's"
	host(t, turn, session.ScopeSession, session.Patch{Prompt: &prompt, Env: map[string]string{"A": "1"}})
	start(t, turn, "first")
	start(t, turn, "second")
	want(t, "prompt, environment", []any{s.Effective().Prompt, s.Effective().Env}, []any{"the host's", map[string]string{"A": "1"}})
}

// Not reproduced: an allow list takes away the tool that loads skills.
func TestBlade_Z18_skill_tool_hidden(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/other")
	put(t, filepath.Join(p, "skills/x/SKILL.md"), "---\nname: x\ndescription: d\nallowed-tools: [Read]\n---\nBody.\n")
	e := suitetest.Engine(t, deft.Options{Workspace: p, Dialect: dialect, NoBuiltin: true, Project: registry.ProjectAlways})
	turn := suitetest.Turn(t, e, "hello")
	for _, name := range []string{"x", "other"} {
		res := turn.Call(model.Call{ID: name, Name: loader(), Input: json.RawMessage(`{"skill":"` + name + `"}`)})[0]
		want(t, name, res.IsError, false)
	}
	tools := map[string]bool{}
	for _, spec := range turn.Tools() {
		tools[spec.Name] = true
	}
	want(t, "loader, read, write", []bool{tools[loader()], tools["read"], tools["write"]}, []bool{true, true, false})
}

// Not reproduced: what lies in a folder comes in the order of the operating system.
func TestBlade_Z19_readdir_order(t *testing.T) {
	t.Parallel()
	p := project(t)
	for _, dir := range []string{"b", "a", "C", "d"} {
		put(t, filepath.Join(p, "skills", dir, "SKILL.md"), text("x"))
	}
	s := local(t, p).Snapshot()
	r := record(t, s, "x")
	order := []string{filepath.Base(r.Dir)}
	for _, loser := range r.Losers {
		order = append(order, filepath.Base(loser.Dir))
	}
	want(t, "by bytes, the last wins", order, []string{"d", "b", "a", "C"})
	d, dir := own(t, "Body.")
	for _, f := range []string{"b", "a", "C"} {
		put(t, filepath.Join(dir, "scripts", f), "x")
	}
	want(t, "files", listed(d, "Available Scripts"), []string{"scripts/C", "scripts/a", "scripts/b"})
}

// Not reproduced: registries are never dropped.
func TestBlade_Z20_unbounded_cache(t *testing.T) {
	t.Parallel()
	const most = 64
	p := project(t)
	r := viewed(t, registry.Views{Max: most})
	open := func(i int) *registry.Snapshot {
		dir := filepath.Join(p, fmt.Sprint(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		v, err := r.View(t.Context(), registry.Scope{Workspace: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		return v.Snapshot()
	}
	var first []*registry.Snapshot
	for i := range most + 1 {
		first = append(first, open(i))
	}
	want(t, "the newest and the oldest are kept", []bool{open(most) == first[most], open(0) == first[0]}, []bool{true, false})
}
