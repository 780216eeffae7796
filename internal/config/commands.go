package config

import (
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Commands is how what skills want to have run is confined, and what of it is allowed:
// sandbox, inline, hooks. All but what narrows is the person's own.
type Commands struct {
	Level       string   // sandbox.level: the least that will do; "" = files
	Read, Write []string // sandbox.read, sandbox.write: more paths, absolute or below "~"
	PassEnv     []string // sandbox.env: names of variables that runs see too
	User        Inline   // inline
	Project     Inline   // inline of the project's file, which may only narrow
	Hooks       bool     // hooks.commands: hooks may be commands
}

// Inline is what one file says of the commands of texts.
type Inline struct {
	Off   bool     // inline.enabled: false
	Allow []string // inline.allow: the beginnings of the commands that may run; nil = no list
}

var levels = []string{"none", "limits", "files", "full"}

// commandKeys are the keys of Commands at the top of a file. A project's file has inline
// alone.
func (l *loader) commandKeys() table {
	c := &l.config.Commands
	sub := func(keys table) setter {
		return func(key string, _, v *yaml.Node) { l.mapping(v, key+".", func() table { return keys }) }
	}
	in := &c.User
	if l.level == Project {
		in = &c.Project
	}
	enabled := true
	set := l.boolean(&enabled)
	keys := table{"inline": sub(table{
		"enabled": func(key string, k, v *yaml.Node) { set(key, k, v); in.Off = !enabled },
		"allow": func(key string, k, v *yaml.Node) {
			in.Allow = []string{} // a list that cannot be read allows nothing
			l.list(&in.Allow, func(s string) bool { return strings.TrimSpace(s) != "" }, "the first words of a command")(key, k, v)
		},
	})}
	if l.level == Project {
		return keys
	}
	path := func(s string) bool { return filepath.IsAbs(s) || s == "~" || strings.HasPrefix(s, "~/") }
	keys["sandbox"] = sub(table{
		"level": l.text(&c.Level, oneOf(levels), strings.Join(levels, ", ")),
		"read":  l.list(&c.Read, path, "an absolute path"),
		"write": l.list(&c.Write, path, "an absolute path"),
		"env":   l.list(&c.PassEnv, variable, "a variable's name"),
	})
	return keys
}

// settings lists the keys of Commands.
func (c *Commands) settings() []Setting {
	level := c.Level
	if level == "" {
		level = "files"
	}
	return []Setting{
		{Key: "sandbox.level", Value: level},
		{Key: "sandbox.read", Value: orEmpty(c.Read)},
		{Key: "sandbox.write", Value: orEmpty(c.Write)},
		{Key: "sandbox.env", Value: orEmpty(c.PassEnv)},
		{Key: "inline.enabled", Value: !c.User.Off && !c.Project.Off},
		{Key: "inline.allow", Value: c.User.Allow},
		{Key: "hooks.commands", Value: c.Hooks},
	}
}
