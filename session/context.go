package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
)

// merged returns over laid over under; neither is changed, and one of them may be what
// comes back.
func merged[V any](under, over map[string]V) map[string]V {
	if len(over) == 0 {
		return under
	}
	out := make(map[string]V, len(under)+len(over))
	maps.Copy(out, under)
	maps.Copy(out, over)
	return out
}

// filesystem is the one facet of capabilities that is merged.
const filesystem = "filesystem"

// merge returns v laid over c.
func (c Context) merge(v Context) Context {
	facets := v.Capabilities
	if over, ok := facets[filesystem].(map[string]any); ok {
		if under, ok := c.Capabilities[filesystem].(map[string]any); ok {
			facets = merged(facets, map[string]any{filesystem: merged(under, over)})
		}
	}
	return Context{
		Capabilities: merged(c.Capabilities, facets),
		Environment:  merged(c.Environment, v.Environment),
		Metadata:     merged(c.Metadata, v.Metadata),
		Extra:        merged(c.Extra, v.Extra),
	}
}

// discover adds names, trimmed, blank ones left out.
func (e *Effective) discover(names []string) {
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			e.Discovered = append(e.Discovered, name)
		}
	}
}

// forbiddenEnv are names that steer other programs: a skill must not. A star at either
// end stands for any text.
var forbiddenEnv = [...]string{
	"PATH", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "LD_*", "DYLD_*", "GIT_*", "NODE_OPTIONS",
	"PYTHON*", "PERL5*", "RUBYOPT", "*_PROXY", "DEFT_*",
}

func forbidden(name string) bool {
	name = strings.ToUpper(name) // programs read http_proxy as well
	return slices.ContainsFunc(forbiddenEnv[:], func(p string) bool {
		head, after := strings.CutSuffix(p, "*")
		tail, before := strings.CutPrefix(p, "*")
		return after && strings.HasPrefix(name, head) || before && strings.HasSuffix(name, tail) || name == p
	})
}

// checkEnv returns what of an environment may be applied, and why the rest is not. A
// skill's may not steer programs.
func checkEnv(env map[string]string, ofSkill bool) (kept map[string]string, diags []skill.Diagnostic) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		why := ""
		switch {
		case !envName(name):
			why = "not a name of letters, digits and _"
		case ofSkill && forbidden(name):
			why = "no skill may set it"
		case len(env[name]) > limits.EnvValue:
			why = fmt.Sprintf("%d bytes, limit %d", len(env[name]), limits.EnvValue)
		case len(kept) >= limits.EnvNames:
			why = fmt.Sprintf("more than %d names", limits.EnvNames)
		}
		if why == "" {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[name] = env[name]
			continue
		}
		diags = append(diags, skill.Diagnostic{
			Code: "env_forbidden", Level: skill.LevelWarning, File: "SKILL.md", Offset: -1,
			Message: fmt.Sprintf("environment %q: %s; it is left out", field(name), why), Fix: "choose another name",
		})
	}
	return kept, diags
}

func envName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
