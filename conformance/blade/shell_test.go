package blade

import (
	"context"
	"testing"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/skill"
)

// field parses a skill with one more line of header and returns the value of its key.
func field(t *testing.T, key, line string) *skill.Node {
	t.Helper()
	s := skill.Parse([]byte("---\nname: x\ndescription: y\n"+line+"\n---\nBody\n"), skill.ParseOptions{Dialect: dialect})
	if !s.Valid {
		t.Fatalf("%s: %+v", line, s.Diagnostics)
	}
	return s.Raw().Get(key)
}

// noted runs nothing and notes what it was asked.
type noted struct{ asked []command.Request }

func (n *noted) Able(context.Context, sandbox.Level) error { return nil }

func (n *noted) Run(_ context.Context, q command.Request) (command.Result, error) {
	n.asked = append(n.asked, q)
	return command.Result{Reason: sandbox.Exited}, nil
}

// ruled is what of a shell field is left under a policy of its source, which is trusted.
func ruled(t *testing.T, line string, source command.Mode) command.Rule {
	t.Helper()
	d, _ := command.ParseShell(field(t, "shell", line), dialect)
	return command.Effective(command.Policy{Mode: command.Allow}, command.Policy{Mode: source, Trusted: true}, d)
}

func TestBlade_A20_hooks_kept(t *testing.T) {
	t.Parallel()
	list, diags := command.ParseHooks(field(t, "hooks", `hooks:
  - {event: UserPromptSubmit, type: append_prompt, value: V}`), dialect)
	if len(list) != 1 || len(diags) != 0 {
		t.Fatalf("%+v %v", list, diags)
	}
	want(t, "hook", []any{list[0].Event, list[0].Type, list[0].Value, list[0].Inert}, []any{"UserPromptSubmit", "append_prompt", "V", false})
}

func TestBlade_A21_hooks_dropped(t *testing.T) {
	t.Parallel()
	list, diags := command.ParseHooks(field(t, "hooks", `hooks:
  - {type: append_prompt, value: a}
  - {event: UserPromptSubmit, value: b}
  - {event: Nope, type: append_prompt, value: c}
  - {event: UserPromptSubmit, type: append_prompt, value: d}`), dialect)
	want(t, "diagnostics", len(diags), 3)
	want(t, "hooks", len(list), 1)
	want(t, "value", list[0].Value, "d")
}

func TestBlade_A22_shell_false(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"shell: false", `shell: "no"`, `shell: "0"`} {
		r := ruled(t, line, command.Allow)
		want(t, line, r.On, false)
		want(t, line+": list", len(r.List.Prefixes), 0)
	}
}

func TestBlade_A23_shell_absent(t *testing.T) {
	t.Parallel()
	absentOr(t, "license: MIT")
}

func TestBlade_A24_shell_true(t *testing.T) {
	t.Parallel()
	absentOr(t, "shell: true")
}

// absentOr expects what an absent field gives: the source's policy alone decides.
func absentOr(t *testing.T, line string) {
	t.Helper()
	for source, on := range map[command.Mode]bool{command.Allow: true, command.Inherit: true, command.Deny: false} {
		r := ruled(t, line, source)
		want(t, line+" under "+string(source), r.On, on)
		want(t, line+": limited", r.List.Limited, false)
	}
}

func TestBlade_A25_shell_text_all(t *testing.T) {
	t.Parallel()
	want(t, "list", ruled(t, "shell: all", command.Allow).List.All, true)
	want(t, "inherited", ruled(t, "shell: all", command.Inherit).On, true)
	want(t, "denied", ruled(t, "shell: all", command.Deny).On, false)
}

func TestBlade_A26_shell_text_prefix(t *testing.T) {
	t.Parallel()
	r := ruled(t, `shell: "git status"`, command.Allow)
	want(t, "on", r.On, true)
	want(t, "prefixes", len(r.List.Prefixes), 1)
	want(t, "prefix", r.List.Prefixes[0], "git status")
}

func TestBlade_A27_shell_list(t *testing.T) {
	t.Parallel()
	r := ruled(t, "shell: [git status, pnpm test]", command.Allow)
	want(t, "on", r.On, true)
	want(t, "prefixes", len(r.List.Prefixes), 2)
	want(t, "second", r.List.Prefixes[1], "pnpm test")
}

func TestBlade_A28_shell_object(t *testing.T) {
	t.Parallel()
	d, _ := command.ParseShell(field(t, "shell", "shell: {enabled: false, allowlist: [git status]}"), dialect)
	want(t, "enabled", d.Enabled, false)
	want(t, "prefixes kept", len(d.List.Prefixes), 1)
}

func TestBlade_A29_shell_object_default(t *testing.T) {
	t.Parallel()
	want(t, "on", ruled(t, "shell: {allowlist: all}", command.Deny).On, false)
}
