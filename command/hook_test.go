package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/deftskills/deft/skill"
)

func hooks(t *testing.T, text string, d skill.Dialect) string {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	list, diags := ParseHooks(v, d)
	var b strings.Builder
	for _, h := range list {
		fmt.Fprintf(&b, "%d %s %s %q", h.Index, h.Event, h.Type, h.Value+h.Command)
		if h.Once {
			b.WriteString(" once")
		}
		if h.Timeout > 0 {
			fmt.Fprintf(&b, " %s", h.Timeout)
		}
		if h.Inert {
			b.WriteString(" inert")
		}
		b.WriteString("\n")
	}
	for _, d := range diags {
		b.WriteString(d.Code + "\n")
	}
	return b.String()
}

const (
	listForm = `
- {event: UserPromptSubmit, type: append_prompt, value: "Cite files.", once: true}
- {event: PreToolUse, type: deny, tools: ["Bash(git push:*)"], value: "no pushes"}
- {event: Nope, type: deny, value: x}
- {event: PreToolUse, type: allow, value: x}
- {event: SessionEnd, type: append_prompt, value: x}
- {event: PreToolUse, type: ask}
- text
- {event: PreToolUse, type: command, value: check, timeout: 2}
`
	mapForm = `
PreToolUse: [{matcher: "Edit|Write", hooks: [{type: command, command: "scripts/check.sh", timeout: 10, once: false}]}]
SessionStart: [{hooks: [{type: command, command: a, timeout: 600}, {type: command, command: b, timeout: -1}]}]
Other: [{hooks: [{type: command, command: a}]}]
PostToolUse: [{matcher: "^Ed.t$", hooks: [{type: notify, value: n}]}, {hooks: 3}]
`
)

func TestHooksAreReadInBothForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		d    skill.Dialect
		want string
	}{
		{listForm, "", "0 UserPromptSubmit append_prompt \"Cite files.\" once\n1 PreToolUse deny \"no pushes\"\n7 PreToolUse command \"check\" 2s\n" +
			"hook_event\nhook_type\nhook_pair\nhook_value\nhook_event\n"},
		{mapForm, "", "1 PostToolUse notify \"n\"\n2 PreToolUse command \"scripts/check.sh\" 5s\n3 SessionStart command \"a\" 1m0s\n" +
			"hook_event\nhook_matcher\nhook_type\nhook_value\n"},
		{listForm, skill.ClaudeCode, "hook_ignored\n"},
		{mapForm, skill.Blade, "hook_ignored\n"},
		{mapForm, skill.Codex, "hook_ignored\n"},
		{"- {event: UserPromptSubmit, type: append_prompt, value: x}\n- {event: PreToolUse, type: notify, value: x}", skill.Blade,
			"0 UserPromptSubmit append_prompt \"x\"\n1 PreToolUse notify \"x\" inert\n"},
		{"", "", ""}, {"text", "", "hook_type\n"},
	} {
		if got := hooks(t, tt.text, tt.d); got != tt.want {
			t.Errorf("%s %s:\n%swant\n%s", tt.d, tt.text, got, tt.want)
		}
	}
	many := strings.Repeat("- {event: PreToolUse, type: notify, value: x}\n", 33)
	if got := hooks(t, many, ""); strings.Count(got, "notify") != 32 || !strings.HasSuffix(got, "hook_limit\n") {
		t.Errorf("33 hooks:\n%s", got)
	}
	long := "- {event: PreToolUse, type: notify, value: " + strings.Repeat("x", maxHookText+1) + "}"
	if got := hooks(t, long, ""); got != "hook_value\n" {
		t.Errorf("a long value: %s", got)
	}
}

func TestAHookIsAboutTheCallsItNames(t *testing.T) {
	t.Parallel()
	one := func(text string) Hook {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		list, diags := ParseHooks(v, "")
		if len(list) != 1 {
			t.Fatalf("%s: %v", text, diags)
		}
		return list[0]
	}
	matcher := func(m string) string {
		return fmt.Sprintf("PreToolUse: [{matcher: %q, hooks: [{type: deny, value: x}]}]", m)
	}
	for _, tt := range []struct {
		hook, tool string
		want       bool
	}{
		{matcher("edit|write"), "edit", true}, {matcher("edit|write"), "editor", false}, {matcher("*"), "edit", true}, {matcher(""), "edit", true},
		{matcher("mcp__*__get"), "mcp__a__get", true}, {matcher("mcp__*__get"), "mcp__a__set", false}, {matcher("a*a"), "a", false},
		{"[{event: PreToolUse, type: deny, tools: [edit], value: x}]", "edit", true},
		{"[{event: PreToolUse, type: deny, tools: [edit], value: x}]", "read", false},
		{"[{event: PreToolUse, type: deny, tools: ['edit('], value: x}]", "read", true},
		{"[{event: PreToolUse, type: deny, value: x}]", "read", true},
	} {
		h := one(tt.hook)
		if got := h.about(tt.tool, HookInput{Tool: tt.tool}.named); got != tt.want {
			t.Errorf("%s about %s: %v", tt.hook, tt.tool, got)
		}
	}
}

func FuzzHooks(f *testing.F) {
	f.Add(`[{"event":"PreToolUse","type":"command","value":"x","timeout":1e300,"tools":["Bash(git:*)"],"once":"yes"}]`)
	f.Add(`{"PreToolUse":[{"matcher":"A|*","hooks":[{"type":"deny","value":"x"}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		list, diags := ParseHooks(v, "")
		if len(list) > maxHooks {
			t.Fatalf("%d hooks", len(list))
		}
		for _, h := range list {
			if h.Timeout < 0 || h.Timeout > time.Minute || h.Value+h.Command == "" || hookEvents[h.Event].types == nil {
				t.Fatalf("%+v", h)
			}
			h.about("edit", HookInput{Tool: "edit"}.named)
		}
		for _, d := range diags {
			if _, ok := skill.LookupCode(d.Code); !ok {
				t.Fatalf("code %q", d.Code)
			}
		}
	})
}
