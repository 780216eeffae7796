package config

import (
	"io"

	"go.yaml.in/yaml/v3"
)

// MiniMax lays what config.yaml of MiniMax Code's data directory says over c: the
// keys below skills.external and agents.NAME.skills, nothing else. A value of the
// wrong type falls back alone, in silence, as that program does it; the file is only
// read. path "" or an absent file changes nothing.
func MiniMax(c *Config, open func(path string) (io.ReadCloser, error), path string) {
	l := &loader{config: c, strict: true, only: minimaxKeys}
	l.file(Input{Open: open}, path, User)
}

// minimaxKeys lists the keys of that file which deft reads.
func minimaxKeys(l *loader) table {
	c := l.config
	sub := func(keys table) setter {
		return func(key string, _, v *yaml.Node) { l.mapping(v, key+".", func() table { return keys }) }
	}
	return table{
		"skills": sub(table{"external": sub(table{
			"enabled": l.boolean(&c.External), "walkUp": l.boolean(&c.WalkUp),
			"duplicateWarn": l.boolean(&c.DuplicateWarn), "sources": l.roots,
		})}),
		"agents": sub(table{"*": func(key string, k, v *yaml.Node) {
			l.mapping(v, key+".", func() table {
				return table{"skills": func(_ string, _, v *yaml.Node) { l.agentSkills(k.Value, v) }}
			})
		}}),
	}
}

// agentSkills takes a list of names; anything else leaves the agent all of its skills.
func (l *loader) agentSkills(agent string, v *yaml.Node) {
	if v.Kind != yaml.SequenceNode {
		return
	}
	list := []string{}
	for _, n := range v.Content {
		if n.Kind != yaml.ScalarNode {
			return
		}
		list = append(list, n.Value)
	}
	if l.config.AgentSkills == nil {
		l.config.AgentSkills = map[string][]string{}
	}
	l.config.AgentSkills[agent] = list
}
