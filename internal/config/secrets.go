package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Secret says where the value of one variable comes from: exactly one of Env, File and
// Command is set. The value itself stands in no file of settings.
type Secret struct {
	Env     string   `json:"env,omitempty"`     // a variable of deft's own environment
	File    string   `json:"file,omitempty"`    // absolute, or below "~"; its text without the last line end
	Command []string `json:"command,omitempty"` // program and arguments; what it prints, without the last line end
	From    From     `json:"from"`
}

// ofSkill takes what is written under the name of a skill: the variables that its commands
// are given, and whether they may reach the network. A key that holds neither is no skill's.
func (l *loader) ofSkill(key string, k, v *yaml.Node) {
	holds := false
	for i := 0; v.Kind == yaml.MappingNode && i < len(v.Content); i += 2 {
		holds = holds || v.Content[i].Value == "env" || v.Content[i].Value == "network"
	}
	if !holds {
		l.add(l.located(k, "config_unknown", fmt.Sprintf("key %q is not known here", key),
			"correct the key; variables for a skill of that name stand under "+key+".env"))
		return
	}
	bound, network := map[string]Secret{}, ""
	l.mapping(v, key+".", func() table {
		return table{"network": l.text(&network, oneOf([]string{"allow", "deny"}), "allow or deny"), "env": func(key string, _, v *yaml.Node) {
			l.mapping(v, key+".", func() table {
				return table{"*": func(key string, k, v *yaml.Node) {
					if s, ok := l.secret(key, k, v); ok {
						bound[k.Value] = s
					}
				}}
			})
		}}
	})
	if network == "allow" {
		l.config.Network = append(l.config.Network, k.Value)
		l.config.Mark("skills.NAME.network", l.from(k))
	}
	if len(bound) > 0 {
		l.config.Secrets[k.Value] = bound
		l.config.Mark("skills.NAME.env", l.from(k))
	}
}

// secret reads where one value comes from. A value that is written out is refused: files
// of settings are copied and shown.
func (l *loader) secret(key string, k, v *yaml.Node) (Secret, bool) {
	s := Secret{From: l.from(k)}
	const want = "{env: NAME}, {file: PATH} or {command: [PROGRAM, …]}"
	if !variable(k.Value) || strings.ContainsAny(k.Value, "\x00") {
		l.bad(k, fmt.Sprintf("%s is not the name of a variable; it is skipped", describe(k)), "write a variable's name")
		return s, false
	}
	if v.Kind != yaml.MappingNode {
		l.bad(v, key+" is no mapping, and a value itself is never read from here; it is skipped", "write "+want)
		return s, false
	}
	l.mapping(v, key+".", func() table {
		return table{
			"env":  l.text(&s.Env, variable, "a variable's name"),
			"file": l.text(&s.File, func(p string) bool { return filepath.IsAbs(p) || strings.HasPrefix(p, "~/") }, "an absolute path"),
			"command": func(key string, k, v *yaml.Node) {
				if v.Kind != yaml.SequenceNode || slices.ContainsFunc(v.Content, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode }) {
					l.bad(v, key+" is not a list of words; it is skipped", "write a list: no shell reads it")
					return
				}
				l.list(&s.Command, func(string) bool { return true }, "a text")(key, k, v)
			},
		}
	})
	given := 0
	for _, has := range []bool{s.Env != "", s.File != "", len(s.Command) > 0} {
		if has {
			given++
		}
	}
	if given != 1 {
		l.bad(v, fmt.Sprintf("%s names %d places for its value, not one; it is skipped", key, given), "write "+want)
		return s, false
	}
	return s, true
}
