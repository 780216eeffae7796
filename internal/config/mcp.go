package config

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Server is one entry of mcp.servers: another program whose tools a model may call.
// Exactly one of Command and URL is set.
type Server struct {
	Name    string              `json:"name"`
	Command string              `json:"command,omitempty"`
	Args    []string            `json:"args,omitempty"`
	Env     map[string]EnvValue `json:"env,omitempty"` // by the variable's name
	URL     string              `json:"url,omitempty"`
	Headers map[string]string   `json:"headers_env,omitempty"` // header to the variable that holds its value
	Timeout Duration            `json:"timeout,omitempty"`     // of a call without progress; 0 = the default
	Tiers   []ToolTier          `json:"tiers,omitempty"`       // of the person's own file alone
	Roots   bool                `json:"roots,omitempty"`       // likewise
	Off     bool                `json:"off,omitempty"`         // enabled: false, or tools: false
	From    From                `json:"from"`
}

// EnvValue is the value of a variable: written out, or that of a variable of deft's own
// environment.
type EnvValue struct {
	Text string `json:"-"`             // never shown: it may be a secret
	Env  string `json:"env,omitempty"` // its name; "" = Text counts
}

// ToolTier gives the tools that a name or glob of a server names a tier.
type ToolTier struct {
	Tool string `json:"tool"`
	Tier string `json:"tier"`
}

const (
	minCall = time.Second
	maxCall = 10 * time.Minute
)

// mcp is the setter of the key of that name.
func (l *loader) mcp(key string, _, v *yaml.Node) {
	l.mapping(v, key+".", func() table {
		return table{"servers": func(key string, _, v *yaml.Node) {
			l.mapping(v, key+".", func() table { return table{"*": l.server} })
		}}
	})
}

// server reads one server. One that a project names like one of the person's own is left
// out: nobody but the person changes theirs.
func (l *loader) server(key string, k, v *yaml.Node) {
	s := Server{Name: k.Value, From: l.from(k)}
	if !serverName(s.Name) {
		l.bad(k, fmt.Sprintf("%s is not the name of a server; it is skipped", describe(k)), "use a-z, 0-9 and hyphens, at most 64")
		return
	}
	tools, enabled := true, true
	keys := table{
		"command": l.text(&s.Command, l.program, "a program by its name or absolute path"), "args": l.list(&s.Args, func(string) bool { return true }, "a text"),
		"url": l.text(&s.URL, address, "an http or https address"), "enabled": l.boolean(&enabled), "tools": l.boolean(&tools),
		"timeout":     l.duration(&s.Timeout, minCall, maxCall),
		"env":         l.serverEnv(&s),
		"headers_env": l.headers(&s),
	}
	if l.level != Project {
		keys["roots"] = l.boolean(&s.Roots)
		keys["tiers"] = l.toolTiers(&s)
	}
	l.mapping(v, key+".", func() table { return keys })
	s.Off = !tools || !enabled
	if (s.Command == "") == (s.URL == "") {
		l.bad(v, key+" has not one of command and url; it is skipped", "write command: PROGRAM, or url: ADDRESS")
		return
	}
	if i := slices.IndexFunc(l.config.Servers, func(o Server) bool { return o.Name == s.Name }); i >= 0 {
		if l.config.Servers[i].From.Level == l.level {
			l.config.Servers[i] = s
		}
		return
	}
	l.config.Servers = append(l.config.Servers, s)
	l.config.Mark("mcp.servers", l.from(k))
}

// program reports whether a command names one program wherever deft is started. In a
// project's file it may lie below the project.
func (l *loader) program(s string) bool {
	return named(s) && (l.level == Project || filepath.IsAbs(s) || strings.HasPrefix(s, "~/") || !strings.ContainsAny(s, `/\`))
}

// serverName is the rule for names of servers: they stand in the names of tools.
func serverName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	return len(s) > 0 && len(s) <= 64 && s[0] != '-' && strings.Trim(s, letters+"-") == ""
}

func (l *loader) serverEnv(s *Server) setter {
	return func(key string, _, v *yaml.Node) {
		l.mapping(v, key+".", func() table {
			return table{"*": func(key string, k, v *yaml.Node) {
				var value EnvValue
				switch {
				case !variable(k.Value):
					l.bad(k, fmt.Sprintf("%s is not the name of a variable; it is skipped", describe(k)), "write a variable's name")
					return
				case v.Kind == yaml.ScalarNode:
					value.Text = v.Value
				default:
					l.mapping(v, key+".", func() table { return table{"env": l.text(&value.Env, variable, "a variable's name")} })
					if value.Env == "" {
						return
					}
				}
				if s.Env == nil {
					s.Env = map[string]EnvValue{}
				}
				s.Env[k.Value] = value
			}}
		})
	}
}

func (l *loader) headers(s *Server) setter {
	return func(key string, _, v *yaml.Node) {
		l.mapping(v, key+".", func() table {
			return table{"*": func(key string, k, v *yaml.Node) {
				var name string
				l.text(&name, variable, "a variable's name")(key, k, v)
				if name == "" {
					return
				}
				if s.Headers == nil {
					s.Headers = map[string]string{}
				}
				s.Headers[k.Value] = name
			}}
		})
	}
}

func (l *loader) toolTiers(s *Server) setter {
	return func(key string, _, v *yaml.Node) {
		l.mapping(v, key+".", func() table {
			return table{"*": func(key string, k, v *yaml.Node) {
				t := ToolTier{Tool: k.Value}
				if _, err := path.Match(t.Tool, ""); err != nil {
					l.bad(k, fmt.Sprintf("%s is no name and no glob; it is skipped", describe(k)), "write the name of a tool, or a glob such as get_*")
					return
				}
				l.tier(&t.Tier)(key, k, v)
				if t.Tier != "" {
					s.Tiers = append(s.Tiers, t)
				}
			}}
		})
	}
}
