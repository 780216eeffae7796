package source

import (
	"maps"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
)

// Effects is what a skill given in code brings that no header can say. Only host code
// sets it; the text of a definition cannot.
type Effects struct {
	Prompt string            // appended to the system prompt while the skill is active
	Env    map[string]string // of what runs while the skill is active; not changed afterwards
}

// effectFields are the spellings of the fields of Definition.Effects, without case, dashes
// and underscores.
var effectFields = map[string]string{
	"allowedtools": "allowed-tools", "deniedtools": "disallowed-tools", "disallowedtools": "disallowed-tools",
	"modelid": "model", "model": "model", "effort": "effort", "activescope": "scope", "scope": "scope",
	"promptappend": "prompt", "systempromptappend": "prompt", "environment": "env", "env": "env",
}

// effects reads Definition.Effects: what the header can say by its key, which wins over
// the flat field, and the rest. What cannot be read is told; the others count.
func effects(d Definition, at string) (header map[string]any, rest *Effects, diags []skill.Diagnostic) {
	bad := func(code, format string, args ...any) {
		diags = append(diags, finding(code, at, format, args...))
	}
	header = map[string]any{}
	own := &Effects{}
	for _, name := range slices.Sorted(maps.Keys(d.Effects)) {
		v := d.Effects[name]
		switch key := effectFields[strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))]; key {
		case "":
			bad("data_effect", "effect %q is none that a skill can have", name)
		case "prompt":
			text, ok := v.(string)
			if !ok || len(text) > limits.SkillPrompt {
				bad("data_effect", "effect %q: not a text of at most %d bytes", name, limits.SkillPrompt)
				continue
			}
			own.Prompt = strings.TrimSpace(text)
		case "env":
			own.Env = map[string]string{}
			for k, v := range texts(v) {
				text, ok := v.(string)
				if !ok {
					bad("env_type", "environment %q is %T, not a text", k, v)
					continue
				}
				own.Env[k] = strings.TrimSpace(text)
			}
		default:
			header[key] = v
		}
	}
	if own.Prompt == "" && len(own.Env) == 0 {
		own = nil
	}
	return header, own, diags
}

// texts are the entries of a map of either kind that host code writes.
func texts(v any) map[string]any {
	switch m := v.(type) {
	case map[string]any:
		return m
	case map[string]string:
		out := map[string]any{}
		for k, text := range m {
			out[k] = text
		}
		return out
	}
	return nil
}
