package config

import (
	"encoding/json"
	"testing"
)

func TestHooksAreThePersonsOwnInBothForms(t *testing.T) {
	t.Parallel()
	const entry = "{event: PreToolUse, type: deny, value: x}"
	for _, tt := range []struct {
		text, want string
		lines      []int
		commands   bool
		diags      int
	}{
		{"hooks: [" + entry + "]", `[[{"event":"PreToolUse","type":"deny","value":"x"}]]`, []int{1}, false, 0},
		{"hooks:\n  commands: true\n  list: []\n  Stop: [{hooks: []}]\n", `[[],{"Stop":[{"hooks":[]}]}]`, []int{3, 4}, true, 0},
		{"hooks: {commands: perhaps}", `[]`, nil, false, 1},
		{"hooks: text", `[]`, nil, false, 1},
		{"hooks:", `[]`, nil, false, 0},
		{"hooks: {PreToolUse: text}", `[{"PreToolUse":"text"}]`, []int{1}, false, 0}, // what a hook is, others say
	} {
		c, diags := load(t, tt.text+"\n", "hooks: ["+entry+"]\n", true)
		values := []any{}
		for i, h := range c.Hooks {
			values = append(values, h.Value)
			if h.From.Line != tt.lines[i] || h.From.Level != User {
				t.Errorf("%s: hook %d is from %+v", tt.text, i, h.From)
			}
		}
		got, err := json.Marshal(values)
		if err != nil || string(got) != tt.want || c.Commands.Hooks != tt.commands || len(diags) != tt.diags+1 {
			t.Errorf("%s: %s, commands %v, %q", tt.text, got, c.Commands.Hooks, diags)
		}
	}
}
