package blade

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/source"
)

// appends is the header of a skill whose one hook appends V to what a person writes.
func appends(more ...string) []string {
	return append([]string{"hooks:", "  - {event: UserPromptSubmit, type: append_prompt, value: V}"}, more...)
}

// prompts loads x, which a person trusts, n times in a first turn, and returns what the
// model gets of the requests of the turns after it.
func prompts(t *testing.T, header []string, loads int, requests ...deft.Input) []string {
	t.Helper()
	p := project(t)
	put(t, filepath.Join(p, "own/x/SKILL.md"), "---\nname: x\ndescription: d\n"+strings.Join(append(header, ""), "\n")+"---\nBody.\n")
	e := suitetest.Engine(t, deft.Options{Workspace: p, Dialect: dialect, NoBuiltin: true, NoFiles: true, Sources: []string{filepath.Join(p, "own")}})
	var steps []scripted.Step
	for range loads {
		steps = append(steps, loading("x"))
	}
	for range len(requests) + 1 {
		steps = append(steps, scripted.Step{Text: "done"})
	}
	m := scripted.New("first", scripted.Script{Steps: steps})
	s, err := e.NewSession(t.Context(), deft.SessionOptions{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	runs(t, t.Context(), s, "load x")
	var out []string
	for _, in := range requests {
		in.Origin, in.Principal = gate.Interactive, "user"
		for range s.Run(t.Context(), in) {
			continue
		}
		last := m.Requests()[len(m.Requests())-1].Messages
		out = append(out, last[len(last)-1].Text)
	}
	return out
}

func TestBlade_K01_append(t *testing.T) {
	t.Parallel()
	want(t, "prompt", prompts(t, appends(), 1, deft.Input{Text: "P"}), []string{"P\n\nV"})
}

func TestBlade_K02_append_empty(t *testing.T) {
	t.Parallel()
	want(t, "prompt", prompts(t, appends(), 1, deft.Input{Skills: []agent.Preload{{Name: "x"}}}), []string{"V"})
}

func TestBlade_K03_turn_removed(t *testing.T) {
	t.Parallel()
	want(t, "prompt", prompts(t, appends("scope: turn"), 1, deft.Input{Text: "P"}), []string{"P"})
}

func TestBlade_K04_once(t *testing.T) {
	t.Parallel()
	header := []string{"hooks:", "  - {event: UserPromptSubmit, type: append_prompt, value: V, once: true}"}
	want(t, "prompts", prompts(t, header, 1, deft.Input{Text: "P"}, deft.Input{Text: "Q"}), []string{"P\n\nV", "Q"})
}

// The events that a hook may name.
var events = []string{
	"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "UserPromptSubmit", "SessionStart", "SessionEnd", "TaskCompleted",
}

func TestBlade_K05_eight_events(t *testing.T) {
	t.Parallel()
	for _, event := range append(events, "Stop", "Notification", "") {
		list, diags := command.ParseHooks([]any{map[string]any{"event": event, "type": "append_prompt", "value": "V"}}, dialect)
		n := map[bool]int{true: 1, false: 0}[strings.Contains(strings.Join(events, " "), event) && event != ""]
		want(t, event, []any{len(list), len(diags)}, []any{n, 1 - n})
	}
}

func TestBlade_K06_inert_pairs(t *testing.T) {
	t.Parallel()
	header := []string{"hooks:"}
	for _, event := range events {
		for _, kind := range []string{"append_prompt", "append_result", "deny", "ask", "notify", "command"} {
			if event == "UserPromptSubmit" && kind == "append_prompt" {
				continue
			}
			entry := map[string]any{"event": event, "type": kind, "value": "NO"}
			list, diags := command.ParseHooks([]any{entry}, dialect)
			want(t, event+" "+kind, []any{len(list), len(diags)}, []any{1, 0})
			if len(header) < 32 {
				header = append(header, fmt.Sprintf("  - {event: %s, type: %s, value: NO}", event, kind))
			}
		}
	}
	want(t, "prompt", prompts(t, header, 1, deft.Input{Text: "P"}), []string{"P"})
}

// registrar puts hooks of a session in force.
type registrar struct{ *command.HookSet }

func (r registrar) Register(owner string, scope session.Scope, hooks []command.Hook) ([]string, error) {
	return r.HookSet.Register(owner, string(scope), hooks)
}

// hooked is a turn of a session over the one skill x, whose source has this policy.
func hooked(t *testing.T, policy source.Policy) (*session.Turn, *command.HookSet) {
	t.Helper()
	text := "---\nname: x\ndescription: d\n" + strings.Join(append(appends(), ""), "\n") + "---\nBody.\n"
	x := source.FS(fstest.MapFS{"x/SKILL.md": {Data: []byte(text)}}, source.DirOptions{
		Info: source.Info{Kind: source.User, Trust: source.Trusted, Hooks: policy}, Format: source.Format{Dialect: dialect},
	})
	set := &command.HookSet{}
	s, err := session.New(t.Context(), session.Options{Snapshots: of(t, x), Dialect: dialect, Hooks: registrar{set}})
	if err != nil {
		t.Fatal(err)
	}
	return turnOf(t, s), set
}

func TestBlade_K07_deny_policy(t *testing.T) {
	t.Parallel()
	for policy, n := range map[source.Policy]int{source.PolicyDeny: 0, source.PolicyAllow: 1} {
		turn, set := hooked(t, policy)
		start(t, turn, "x")
		want(t, string(policy), len(set.List()), n)
	}
}

// Not reproduced: ending a session's skill leaves its hooks.
func TestAHookGoesWithItsSkill(t *testing.T) {
	t.Parallel()
	turn, set := hooked(t, source.PolicyAllow)
	start(t, turn, "x")
	if _, err := turn.Deactivate("x"); err != nil {
		t.Fatal(err)
	}
	want(t, "hooks", len(set.List()), 0)
}

// Not reproduced: a skill that is loaded again registers its hooks once more.
func TestBlade_Z16_hooks_doubled(t *testing.T) {
	t.Parallel()
	want(t, "prompt", prompts(t, appends(), 3, deft.Input{Text: "P"}), []string{"P\n\nV"})
}
