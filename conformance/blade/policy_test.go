package blade

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// of a tool, what it needs to be asked about.
func tiered(name string, tier gate.Tier) hosted {
	h := reads(name, nil)
	h.spec.Tier, h.spec.ReadOnly = tier, tier == gate.ReadOnly
	return h
}

// threeTools are a host's tools to read, to write and to run commands.
func threeTools() []toolset.Tool {
	return []toolset.Tool{tiered("Read", gate.ReadOnly), tiered("Write", gate.ConfirmOnce), tiered("Bash", gate.AlwaysConfirm)}
}

// begun is a turn in which x is loaded, in a session whose tools these are.
func begun(t *testing.T, p string, o deft.SessionOptions, tools ...toolset.Tool) *deft.Turn {
	t.Helper()
	s, _ := talkOf(t, p, o, nil, tools...)
	turn, err := s.Begin(t.Context(), deft.Input{Text: "go", Origin: gate.Interactive, Principal: "user"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(turn.End)
	return turn
}

func called(turn *deft.Turn, name, input string) model.Result {
	return turn.Call(model.Call{ID: name, Name: name, Input: json.RawMessage(input)})[0]
}

// loaded begins a turn and loads x.
func loaded(t *testing.T, p string, tools ...toolset.Tool) *deft.Turn {
	t.Helper()
	turn := begun(t, p, deft.SessionOptions{}, tools...)
	if r := called(turn, loader(), `{"skill":"x"}`); r.IsError {
		t.Fatal(r.Text)
	}
	return turn
}

// declared are the tools that a model is shown, those for skills left out.
func declared(specs []toolset.Spec) []string {
	var out []string
	for _, s := range specs {
		if s.Toolset != "skills" {
			out = append(out, s.Name)
		}
	}
	return out
}

func TestBlade_I01_allow_deny(t *testing.T) {
	t.Parallel()
	turn := loaded(t, skilled(t, `allowed-tools: [Read, "Bash(command:*)"]`, "disallowed-tools: [Bash]"), threeTools()...)
	want(t, "declared", declared(turn.Tools()), []string{"Read"})
	want(t, "why", []string{turn.Withheld("Read"), turn.Withheld("Write"), turn.Withheld("Bash")}, []string{"", session.WithheldAllow, session.WithheldDeny})
	want(t, "as they are called", []string{session.WithheldAllow, session.WithheldDeny}, []string{"runtime-allow-list", "runtime-deny"})
}

func TestBlade_I02_selector_exposes(t *testing.T) {
	t.Parallel()
	turn := loaded(t, skilled(t, `allowed-tools: ["Bash(git:*)"]`), threeTools()...)
	want(t, "declared", declared(turn.Tools()), []string{"Bash"})
}

func TestBlade_I03_empty_allow(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"version: 1", "allowed-tools: []"} {
		turn := loaded(t, skilled(t, line), threeTools()...)
		want(t, line, declared(turn.Tools()), []string{"Read", "Write", "Bash"})
	}
}

func TestBlade_I04_plan_mode(t *testing.T) {
	t.Parallel()
	misnamed := tiered("write_summary", gate.ReadOnly) // what it does decides, not what it is called
	misnamed.spec.Toolset = "write"
	turn := begun(t, project(t), deft.SessionOptions{Mode: gate.Plan}, append(threeTools(), misnamed)...)
	want(t, "declared", declared(turn.Tools()), []string{"Read", "write_summary"})
	want(t, "why", turn.Withheld("Write"), "plan-mode-hidden")
	want(t, "called all the same", called(turn, "Write", `{}`).IsError, true)
}

func TestBlade_I05_source_policy(t *testing.T) {
	t.Parallel()
	remote := reads("remote", nil)
	remote.spec.Source, remote.spec.Trust = "mcp", "remote"
	near := reads("near", nil)
	near.spec.Trust = "workspace"
	o := deft.SessionOptions{ToolSources: agent.ToolSources{Sources: []string{"builtin"}, Trusts: []string{"trusted", "workspace"}}}
	turn := begun(t, project(t), o, reads("own", nil), near, remote)
	want(t, "declared", declared(turn.Tools()), []string{"own", "near"})
	want(t, "why", turn.Withheld("remote"), "source-policy")
	want(t, "called all the same", called(turn, "remote", `{}`).IsError, true)
}

// later is a tool that is not shown by itself.
func later(name string) hosted {
	h := reads(name, nil)
	h.spec.Deferred = true
	return h
}

func TestBlade_I06_deferred(t *testing.T) {
	t.Parallel()
	always := later("heavy_always")
	always.spec.Always = true
	turn := begun(t, project(t, "skills/x"), deft.SessionOptions{}, later("heavy"), always)
	want(t, "declared", declared(turn.Tools()), []string{"heavy_always"})
	want(t, "why", turn.Withheld("heavy"), "deferred")
	want(t, "found", strings.Contains(called(turn, finder(), `{"query":"heavy"}`).Text, "heavy "), true)
}

func TestBlade_I07_discovered(t *testing.T) {
	t.Parallel()
	turn := begun(t, project(t, "skills/x"), deft.SessionOptions{}, later("heavy"))
	called(turn, finder(), `{"query":"heavy"}`)
	want(t, "declared", declared(turn.Tools()), []string{"heavy"})
}

func TestBlade_I08_next_step(t *testing.T) {
	t.Parallel()
	s, m := talkOf(t, skilled(t, "allowed-tools: [Read]"), deft.SessionOptions{}, []scripted.Step{loading("x"), {Text: "done"}}, threeTools()...)
	runs(t, t.Context(), s, "go")
	var shown [][]string
	for _, r := range m.Requests() {
		var names []string
		for _, tool := range r.Tools {
			if tool.Name != loader() {
				names = append(names, tool.Name)
			}
		}
		shown = append(shown, names)
	}
	want(t, "declared", shown, [][]string{{"Read", "Write", "Bash"}, {"Read"}})
}

func TestBlade_K08_discover(t *testing.T) {
	t.Parallel()
	s, m := talkOf(t, project(t, "skills/x"), deft.SessionOptions{},
		[]scripted.Step{{Calls: []scripted.Call{{ID: "c1", Name: finder(), Input: map[string]string{"query": "heavy"}}}}, {Text: "done"}}, later("heavy"), later("other"))
	runs(t, t.Context(), s, "go")
	last := m.Requests()[1].Messages
	want(t, "text lists it", strings.Contains(last[len(last)-1].Results[0].Text, "heavy"), true)
	want(t, "in force after the turn", s.Effective().Discovered, []string{"heavy"})
}

func TestBlade_K09_discover_again(t *testing.T) {
	t.Parallel()
	turn := begun(t, project(t, "skills/x"), deft.SessionOptions{}, later("heavy"))
	called(turn, finder(), `{"query":"heavy"}`)
	before := turn.Session().Layers().Len()
	r := called(turn, finder(), `{"query":"heavy"}`)
	want(t, "again", []any{r.IsError, strings.HasPrefix(r.Text, "No tool matches."), turn.Session().Layers().Len()}, []any{false, true, before})
}

func TestBlade_K10_discover_bounds(t *testing.T) {
	t.Parallel()
	for input, n := range map[string]int{`{"query":"heavy","max":0}`: 0, `{"query":"heavy","max":11}`: 0, `{"query":"heavy"}`: 5} {
		turn := begun(t, project(t, "skills/x"), deft.SessionOptions{}, heavies(9)...)
		r := called(turn, finder(), input)
		want(t, input, []any{r.IsError, len(turn.Session().Effective().Discovered)}, []any{n == 0, n})
	}
}

// heavies are n tools that are not shown by themselves.
func heavies(n int) []toolset.Tool {
	var out []toolset.Tool
	for i := range n {
		out = append(out, later("heavy_"+string(rune('a'+i))))
	}
	return out
}

func TestBlade_K11_catalog_message(t *testing.T) {
	t.Parallel()
	turn := begun(t, project(t, "skills/x"), deft.SessionOptions{}, heavies(15)...)
	lines := func() int {
		_, user := turn.Prompt()
		_, rest, _ := strings.Cut(user, "More tools can be found with ")
		if strings.Contains(rest, "More tools") {
			t.Error("there are two")
		}
		return strings.Count(rest, "\n- heavy_")
	}
	want(t, "15", lines(), 12)
	called(turn, finder(), `{"query":"heavy","max":10}`)
	want(t, "5", lines(), 5)
	called(turn, finder(), `{"query":"heavy","max":10}`)
	want(t, "0", lines(), 0)
	if _, user := turn.Prompt(); strings.Contains(user, "More tools") {
		t.Errorf("it is still there: %s", user)
	}
}
