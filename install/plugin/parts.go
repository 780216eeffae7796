package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/skill"
)

// Hook is one hook of a plugin. It does nothing until a person agreed to it.
type Hook struct {
	command.Hook
	ID string // what a person names it by: hook:EVENT/N
}

// Text is all that the hook says, in one line but for line ends of its own.
func (h Hook) Text() string {
	out := h.Event + " " + h.Type
	if about := h.About(); len(about) > 0 {
		out += " [" + strings.Join(about, ", ") + "]"
	}
	return out + ": " + h.Value + h.Command
}

// Digest is what agreement to the hook is bound to: all that it says, and every byte of
// the plugin, in which lies what it runs.
func (h Hook) Digest(tree skill.Digest) skill.Digest {
	return bound(tree, "hook", h.Event, h.Type, h.Value, h.Command, h.Timeout, h.Once, h.About())
}

// Server is one MCP server of a plugin. It is never started until a person agreed to it.
type Server struct {
	ID      string // what a person names it by: server:NAME
	Name    string // as the plugin has it
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Headers map[string]string // header to the variable that holds its value
	Dir     string            // where it runs, below the plugin's folder; "" = there
	Problem string            // why it can't be started; "" = it could
}

// Alias is what a server is called among those of all plugins.
func (s Server) Alias(plugin string) string {
	clean := func(name string) string {
		name = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, strings.ToLower(name))
		return strings.Trim(name, "-")
	}
	name := strings.Trim(clean(plugin)+"-"+clean(s.Name), "-")
	return name[:min(len(name), 64)]
}

// Text is the command line or address, with what goes with it.
func (s Server) Text() string {
	out := s.URL
	if s.Command != "" {
		out = s.Command
		for _, a := range s.Args {
			out += fmt.Sprintf(" %q", a)
		}
	}
	for _, table := range []map[string]string{s.Env, s.Headers} {
		for _, key := range sorted(table) {
			out += fmt.Sprintf(" %s=%q", key, table[key])
		}
	}
	if s.Dir != "" {
		out += fmt.Sprintf(" (in %q)", s.Dir)
	}
	return out
}

// Digest is what agreement to the server is bound to; see Hook.Digest.
func (s Server) Digest(tree skill.Digest) skill.Digest {
	return bound(tree, "server", s.Name, s.Command, s.Args, s.Env, s.URL, s.Headers)
}

func bound(tree skill.Digest, what ...any) skill.Digest {
	doc, _ := json.Marshal(append([]any{tree}, what...)) // texts and numbers: it cannot fail
	sum := sha256.Sum256(doc)
	return skill.Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// HooksDigest is that of all hooks and servers of a plugin together, in the order in which
// they are shown; "" = it has none.
func (p Plugin) HooksDigest(tree skill.Digest) skill.Digest {
	var all []any
	for _, h := range p.Hooks {
		all = append(all, h.Digest(tree))
	}
	for _, s := range p.Servers {
		all = append(all, s.Digest(tree))
	}
	if len(all) == 0 {
		return ""
	}
	return bound(tree, all...)
}

// readHooks reads the hooks in both forms that headers have too.
func (p *Plugin) readHooks(fsys fs.FS) {
	for _, v := range p.values(fsys, p.Manifest.Hooks, "hooks") {
		hooks, found := command.ParseHooks(v, skill.Deft)
		for _, d := range found {
			d.File = p.File
			p.Found = append(p.Found, d)
		}
		for _, h := range hooks {
			h.Index = len(p.Hooks)
			p.Hooks = append(p.Hooks, Hook{h, fmt.Sprintf("hook:%s/%d", h.Event, h.Index)})
		}
	}
}

// maxServers bounds the servers of one plugin.
const maxServers = 32

var (
	wholeVariable = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
	anyVariable   = regexp.MustCompile(`\$\{[^}]*\}`)
	escapedNUL    = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\u0000`)
	pluginRoot    = regexp.MustCompile(`\$\{(?:CLAUDE_)?PLUGIN_ROOT\}`)
)

// readServers reads the servers, each by itself.
func (p *Plugin) readServers(fsys fs.FS) {
	for _, v := range p.values(fsys, p.MCPServers, "mcpServers") {
		m, ok := v.(map[string]any)
		if !ok {
			p.note("plugin_manifest", p.File, "mcpServers is no object of servers")
			continue
		}
		for _, name := range sorted(m) {
			if len(p.Servers) == maxServers {
				p.note("plugin_manifest", p.File, "mcpServers has more than %d servers", maxServers)
				return
			}
			if slices.ContainsFunc(p.Servers, func(s Server) bool { return s.Name == name }) {
				continue
			}
			p.Servers = append(p.Servers, server(name, m[name]))
		}
	}
}

// server reads one server. What can't be taken over as it is makes it one that is shown,
// and never started.
func server(name string, v any) Server {
	var raw struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
		Cwd     string            `json:"cwd"`
	}
	s := Server{ID: "server:" + name, Name: name, Headers: map[string]string{}}
	src, _ := json.Marshal(v) // it was decoded from JSON
	if err := json.Unmarshal(src, &raw); err != nil {
		s.Problem = "a value is of another type than servers have"
		return s
	}
	s.Command, s.Args, s.Env, s.URL = raw.Command, raw.Args, raw.Env, raw.URL
	for header, value := range raw.Headers {
		m := wholeVariable.FindStringSubmatch(value)
		if m == nil {
			s.Problem = fmt.Sprintf("the header %s is not the value of one variable", header)
			continue
		}
		s.Headers[header] = m[1]
	}
	var inRoot bool
	s.Dir, inRoot = within(raw.Cwd)
	switch texts := append([]string{raw.Command, raw.URL}, raw.Args...); {
	case (raw.Command == "") == (raw.URL == ""):
		s.Problem = "it has not one of command and url"
	case holdsNUL(src):
		s.Problem = "a value holds a NUL byte"
	case !inRoot:
		s.Problem = "it wants to run in a folder outside of the plugin"
	case slices.ContainsFunc(texts, func(t string) bool { return anyVariable.MatchString(pluginRoot.ReplaceAllString(t, "")) }):
		s.Problem = "its command or address holds a variable other than the plugin's folder"
	}
	return s
}

// within is a folder of the plugin as its manifest writes it, "" for the plugin's own.
func within(cwd string) (dir string, ok bool) {
	if at := pluginRoot.FindStringIndex(cwd); at != nil && at[0] == 0 {
		cwd = "." + cwd[at[1]:]
	}
	dir = path.Clean(cwd)
	switch {
	case dir == ".":
		return "", true
	case !filepath.IsLocal(filepath.FromSlash(dir)), anyVariable.MatchString(dir), strings.Contains(dir, `\`):
		return "", false
	}
	return dir, true
}

// holdsNUL reports whether a text in JSON that was encoded here holds a NUL: no process takes
// one, and before a name it would mean a variable that nobody was shown.
func holdsNUL(src []byte) bool { return escapedNUL.Match(src) }

// At is the server with the plugin's folder in the place of the variable for it. Values of
// Env that stand for a variable of deft's own environment are returned by themselves.
func (s Server) At(dir string) (at Server, fromEnv map[string]string) {
	here := func(t string) string { return pluginRoot.ReplaceAllLiteralString(t, dir) }
	at, fromEnv = s, map[string]string{}
	at.Command, at.Args, at.Env = here(s.Command), nil, map[string]string{}
	for _, a := range s.Args {
		at.Args = append(at.Args, here(a))
	}
	for key, v := range s.Env {
		if m := wholeVariable.FindStringSubmatch(here(v)); m != nil {
			fromEnv[key] = m[1]
			continue
		}
		at.Env[key] = here(v)
	}
	return at, fromEnv
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
