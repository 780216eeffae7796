package fetch

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// defaultRegistry is npm's own default.
const defaultRegistry = "https://registry.npmjs.org/"

// Bounds of a settings file of npm: far above what people write.
const (
	maxNPMRC     = 1 << 20
	maxNPMRCLine = 8 << 10
)

// NPMConfig is what npm's own settings say of registries.
type NPMConfig struct {
	registry string
	scopes   map[string]string
	// auth is what a registry is told of who asks, by "//host[:port]/path/" as npm writes it.
	auth  map[string]map[string]string
	from  map[string]string // of a registry: the file that names it
	Notes []Note            // lines that were left out
}

// NPMFile is one settings file of npm.
type NPMFile struct {
	Name string // for messages
	Text []byte
	// Own says that it is the person's own. Variables are filled in there alone: the file of
	// a folder could otherwise send any of them to an address that it names.
	Own bool
}

// ReadNPM reads the settings of npm: files from the weakest to the strongest, then the
// variable that npm reads. A line that can't be read is left out and noted.
func ReadNPM(files []NPMFile, env func(name string) string) *NPMConfig {
	c := &NPMConfig{registry: defaultRegistry, scopes: map[string]string{}, auth: map[string]map[string]string{}, from: map[string]string{}}
	for _, f := range files {
		if len(f.Text) > maxNPMRC {
			c.note(f.Name, 0, fmt.Sprintf("the file has more than %d bytes", maxNPMRC))
			continue
		}
		c.file(f, env)
	}
	for _, name := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"} {
		if v := env(name); v != "" {
			c.set("registry", v, name, 0)
		}
	}
	return c
}

func (c *NPMConfig) note(file string, line int, why string) {
	at := file
	if line > 0 {
		at = fmt.Sprintf("%s line %d", file, line)
	}
	c.Notes = append(c.Notes, Note{NoteNPMRC, "", at + ": " + why + "; it is left out"})
}

func (c *NPMConfig) file(f NPMFile, env func(string) string) {
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(f.Text), "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == ';' || line[0] == '#' || line[0] == '[' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), unquoted(strings.TrimSpace(value))
		if !ok || !concerns(key) {
			continue // a switch, or a setting of something else
		}
		// No value is repeated in a note: it may be a secret.
		if len(line) > maxNPMRCLine || !utf8.ValidString(line) || strings.IndexFunc(line, unicode.IsControl) >= 0 {
			c.note(f.Name, n, "it is too long, or holds a control character")
			continue
		}
		if strings.Contains(key+value, "${") {
			if !f.Own {
				c.note(f.Name, n, "variables are filled in only in your own .npmrc")
				continue
			}
			key, value = filled(key, env), filled(value, env)
		}
		c.set(key, value, f.Name, n)
	}
}

// concerns reports whether a setting is one of registries.
func concerns(key string) bool {
	return key == "registry" || strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry") || strings.HasPrefix(key, "//")
}

func unquoted(s string) string {
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// filled puts the values of ${NAME} and ${NAME?} into a text, once. A variable that is not
// there stays as it is written, as npm has it.
func filled(s string, env func(string) string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			out.WriteString("${" + rest)
			return out.String()
		}
		bare, optional := strings.CutSuffix(name, "?")
		if v := env(bare); v != "" || optional {
			out.WriteString(v)
		} else {
			out.WriteString("${" + name + "}")
		}
		s = after
	}
}

// authKeys are the settings of who asks, behind the last colon.
var authKeys = map[string]bool{"_authToken": true, "_auth": true, "username": true, "_password": true}

func (c *NPMConfig) set(key, value, file string, line int) {
	if dart, name, ok := cutLast(key, ":"); ok && strings.HasPrefix(key, "//") {
		if !authKeys[name] {
			return
		}
		// The case of a host says nothing, that of a folder does.
		host, folder, _ := strings.Cut(strings.Trim(dart, "/"), "/")
		if dart = strings.TrimSuffix("//"+strings.ToLower(host)+"/"+folder, "/") + "/"; c.auth[dart] == nil {
			c.auth[dart] = map[string]string{}
		}
		c.auth[dart][name] = value
		return
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		c.note(file, line, "it names no registry that can be asked")
		return
	}
	u.Fragment = ""
	registry := strings.TrimSuffix(u.String(), "/") + "/"
	c.from[registry] = file
	if scope, scoped := strings.CutSuffix(key, ":registry"); scoped {
		c.scopes[scope] = registry
	} else {
		c.registry = registry
	}
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Registry is where a package is looked for, and the file that says so, "" for npm's own
// default.
func (c *NPMConfig) Registry(name string) (address, file string) {
	address = c.registry
	if scope, _, ok := strings.Cut(name, "/"); ok {
		if own := c.scopes[scope]; own != "" {
			address = own
		}
	}
	return address, c.from[address]
}

// Credential is what an address is told of who asks: what the settings have for the host
// and the longest folder above it, over https alone. "" = nothing.
func (c *NPMConfig) Credential(u *url.URL) string {
	if u.Scheme != "https" {
		return ""
	}
	at := strings.ToLower("//"+u.Host) + u.EscapedPath()
	for {
		i := strings.LastIndex(at, "/")
		if i < 2 {
			return ""
		}
		if auth := c.auth[at[:i+1]]; auth != nil {
			return authorization(auth)
		}
		at = at[:i]
	}
}

func authorization(auth map[string]string) string {
	switch {
	case auth["_authToken"] != "":
		return "Bearer " + auth["_authToken"]
	case auth["_auth"] != "":
		return "Basic " + auth["_auth"]
	case auth["username"] != "" && auth["_password"] != "":
		password, err := base64.StdEncoding.DecodeString(auth["_password"])
		if err == nil {
			return "Basic " + basic(auth["username"], string(password))
		}
	}
	return ""
}
