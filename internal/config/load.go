package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deftskills/deft/skill"
)

// maxFile bounds one settings file; a larger one is refused whole.
const maxFile = 1 << 20

// Input says which files to read and how.
type Input struct {
	Open           func(path string) (io.ReadCloser, error)
	ManagedFile    string // the machine's config.yaml; "" = none
	UserFile       string // config.yaml; "" = none
	ProjectFile    string // .deft/config.yaml; "" = none
	ProjectRoot    string // the repository root, or the workspace: a project's sources stay below it
	ProjectTrusted bool   // a person trusts the folder, or said so for this run
}

// Load reads the files over the defaults. It never fails: a file or value that
// cannot be used leaves the default in place and yields a located diagnostic
// (config_value, config_unknown, project_config_ignored).
func Load(in Input) (*Config, []skill.Diagnostic) {
	c := New()
	l := &loader{config: c, root: in.ProjectRoot}
	l.only = (*loader).ruleKeys
	l.file(in, in.ManagedFile, Managed)
	l.only = nil
	l.file(in, in.UserFile, User)
	c.ProjectTrusted = in.ProjectTrusted || c.TrustProject == TrustAlways
	switch {
	case in.ProjectFile == "" || !exists(in, in.ProjectFile):
	case !c.ProjectTrusted:
		l.add(skill.Diagnostic{
			Code: "project_config_ignored", Level: skill.LevelWarning, File: in.ProjectFile, Offset: -1,
			Message: "settings of a folder that is not trusted are ignored",
			Fix:     "run with --trust-project, or set skills.trust.project: always, when you trust this folder",
		})
		l.only = (*loader).strictKeys
		l.file(in, in.ProjectFile, Project)
		l.only = nil
	default:
		l.file(in, in.ProjectFile, Project)
	}
	l.settle()
	return c, l.diags
}

func exists(in Input, path string) bool {
	f, err := in.Open(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	f.Close()
	return true
}

// loader lays one file after the other over config.
type loader struct {
	config *Config
	root   string // of the project
	path   string
	level  Level
	diags  []skill.Diagnostic
	strict bool                // only true and false are booleans
	only   func(*loader) table // the keys of a file that is another program's; nil = ours
}

func (l *loader) add(d skill.Diagnostic) { l.diags = append(l.diags, d) }

func (l *loader) file(in Input, path string, level Level) {
	if path == "" {
		return
	}
	l.path, l.level = path, level
	f, err := in.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.bad(nil, "settings cannot be read: "+cause(err), "make the file readable or remove it")
		return
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		l.bad(nil, "settings cannot be read: "+cause(err), "make the file readable or remove it")
		return
	}
	if len(text) > maxFile {
		l.bad(nil, fmt.Sprintf("settings are larger than %d bytes; none is read", maxFile), "shorten the file")
		return
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		message := strings.TrimPrefix(err.Error(), "yaml: ")
		at := &yaml.Node{Line: 1, Column: 1}
		if n, _ := fmt.Sscanf(message, "line %d:", &at.Line); n == 1 {
			_, message, _ = strings.Cut(message, ": ")
		}
		l.bad(at, "settings are not YAML: "+message, "correct the named line")
		return
	}
	if len(doc.Content) > 0 {
		keys := l.keys
		if l.only != nil {
			keys = func() table { return l.only(l) }
		}
		l.mapping(doc.Content[0], "", keys)
	}
}

// cause drops the path from an error of the file system: File has it.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func (l *loader) bad(n *yaml.Node, message, fix string) {
	l.add(l.located(n, "config_value", message, fix))
}

func (l *loader) located(n *yaml.Node, code, message, fix string) skill.Diagnostic {
	d := skill.Diagnostic{Code: code, Level: skill.LevelWarning, File: l.path, Offset: -1, Message: message, Fix: fix}
	if n != nil {
		d.Line, d.Column = n.Line, n.Column
	}
	return d
}

func (l *loader) from(n *yaml.Node) From { return From{Level: l.level, File: l.path, Line: n.Line} }

// setter lays the value of one key over the config.
type setter func(key string, k, v *yaml.Node)

// table holds the keys of one mapping.
type table map[string]setter

// mapping walks n by the keys of the table that keys returns; others are unknown.
func (l *loader) mapping(n *yaml.Node, prefix string, keys func() table) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		l.bad(n, orElse(strings.TrimSuffix(prefix, "."), "the file")+" is not a mapping of keys", "write keys and values")
		return
	}
	known := keys()
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		set, ok := known[k.Value]
		if !ok {
			set, ok = known["*"]
		}
		if !ok && l.usersOnly(k, prefix) {
			continue
		}
		if !ok {
			l.add(l.located(k, "config_unknown", fmt.Sprintf("key %q is not known here", prefix+k.Value), unknownFix(known)))
			continue
		}
		set(prefix+k.Value, k, v)
	}
}

func unknownFix(known table) string {
	names := make([]string, 0, len(known))
	for name := range known {
		if name != "*" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return "use one of: " + strings.Join(names, ", ")
}

// keys lists the keys of a file. A project's file has fewer: it may only tighten.
func (l *loader) keys() table {
	if l.level == Project {
		return l.with(l.with(l.ruleKeys(), l.commandKeys()), table{"mcp": l.mcp, "skills": func(key string, _, v *yaml.Node) {
			l.mapping(v, key+".", func() table {
				keys := l.lists(&l.config.Project)
				keys["sources"] = l.sources
				return keys
			})
		}})
	}
	c, tuning := l.config, l.tuningKeys()
	sub := func(keys table) setter {
		return func(key string, _, v *yaml.Node) { l.mapping(v, key+".", func() table { return keys }) }
	}
	return l.with(l.with(l.ruleKeys(), l.commandKeys()), table{
		"skills": sub(l.with(l.lists(&c.User), table{
			"external": sub(table{
				"enabled": l.boolean(&c.External), "walkUp": l.boolean(&c.WalkUp),
				"duplicateWarn": l.boolean(&c.DuplicateWarn), "sources": l.roots,
			}),
			"*":       l.ofSkill,
			"sources": l.sources,
			"clients": l.clients,
			"plugins": l.plugins,
			"trust": sub(table{"project": l.text((*string)(&c.TrustProject),
				oneOf([]string{string(TrustAsk), string(TrustAlways), string(TrustNever)}), "ask, always or never")}),
			"walk": tuning["walk"], "builtin": tuning["builtin"], "watch": tuning["watch"], "refresh": tuning["refresh"], "search": tuning["search"],
			"profiles": func(key string, _, v *yaml.Node) {
				l.mapping(v, key+".", func() table { return table{"*": l.profile} })
			},
		})),
		"model":     l.text(&c.Model, func(s string) bool { return strings.Contains(s, "/") || strings.Contains(s, ":") }, "PROVIDER/NAME"),
		"db":        l.database,
		"blobs":     l.blobs,
		"hooks":     l.hooks,
		"mcp":       l.mcp,
		"web":       l.webKeys,
		"install":   l.installKeys,
		"scan":      l.scanKeys,
		"trust":     l.signingKeys,
		"stats":     l.boolean(&c.Stats),
		"telemetry": sub(table{"content": l.boolean(&c.Content)}),

		"scenarios": sub(table{"enabled": l.boolean(&c.Scenarios.Enabled), "model": l.boolean(&c.Scenarios.Model)}),
		"placement": l.text(&c.Placement, isPlacement, placements),
		"computer":  sub(table{"backend": l.text(&c.Computer, isPlacement, placements)}),
		"models": func(key string, _, v *yaml.Node) {
			l.mapping(v, key+".", func() table { return table{"*": l.provider} })
		},
	})
}

// placements are the words for where tools run.
const placements = "local, sandbox or remote:NAME"

func isPlacement(s string) bool {
	name, remote := strings.CutPrefix(s, "remote:")
	return s == "local" || s == "sandbox" || remote && name != ""
}

func (l *loader) boolean(into *bool) setter {
	return func(key string, _, v *yaml.Node) {
		var b bool
		if v.Kind != yaml.ScalarNode || v.Decode(&b) != nil || l.strict && v.ShortTag() != "!!bool" {
			l.bad(v, fmt.Sprintf("%s is %s, not true or false; the default stays", key, describe(v)), "write true or false")
			return
		}
		*into = b
		l.config.Mark(key, l.from(v))
	}
}

func (l *loader) text(into *string, valid func(string) bool, want string) setter {
	return func(key string, _, v *yaml.Node) {
		if v.Kind != yaml.ScalarNode || !valid(v.Value) {
			l.bad(v, fmt.Sprintf("%s is %s, not %s; the default stays", key, describe(v), want), "write "+want)
			return
		}
		*into = v.Value
		l.config.Mark(key, l.from(v))
	}
}

// database takes an address. What is wrong with one is said without it: it may hold a
// password.
func (l *loader) database(key string, _, v *yaml.Node) {
	const want = "sqlite:PATH or postgres://USER@HOST/NAME"
	if scheme, _, ok := strings.Cut(v.Value, ":"); v.Kind != yaml.ScalarNode || !ok || !slices.Contains([]string{"sqlite", "postgres", "postgresql"}, scheme) {
		l.bad(v, key+" is no address of a database; the default stays", "write "+want)
		return
	}
	l.config.DB = v.Value
	l.config.Mark(key, l.from(v))
}

// blobs takes the address of a place of files; like database it does not repeat it.
func (l *loader) blobs(key string, _, v *yaml.Node) {
	if scheme, _, ok := strings.Cut(v.Value, ":"); v.Kind != yaml.ScalarNode || !ok || scheme != "file" && scheme != "s3" {
		l.bad(v, key+" is no place of files; the default stays", "write file:PATH or s3://BUCKET?region=…&endpoint=…&prefix=…")
		return
	}
	l.config.Blobs = v.Value
	l.config.Mark(key, l.from(v))
}

// clients takes a list, or names by comma in one string.
func (l *loader) clients(key string, _, v *yaml.Node) {
	var list []string
	switch {
	case v.Kind == yaml.ScalarNode && v.Tag == "!!str":
		list = SplitList(v.Value)
	case v.Kind == yaml.SequenceNode && !slices.ContainsFunc(v.Content, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode }):
		for _, n := range v.Content {
			list = append(list, n.Value)
		}
	default:
		l.bad(v, fmt.Sprintf("%s is %s, not a list of names; the default stays", key, describe(v)), "write a list, as in [cursor, gemini-cli]")
		return
	}
	l.config.Clients = list
	l.config.Mark(key, l.from(v))
}

// SplitList splits names by comma and drops blanks.
func SplitList(s string) []string {
	var list []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func (l *loader) sources(key string, _, v *yaml.Node) {
	if v.Kind != yaml.SequenceNode {
		l.bad(v, fmt.Sprintf("%s is %s, not a list; none is read", key, describe(v)), "write a list of paths")
		return
	}
	for i, n := range v.Content {
		item, ok := l.source(fmt.Sprintf("%s[%d]", key, i), n)
		if ok && l.level == Project && !l.inside(item) {
			l.add(l.located(n, "root_outside_project",
				fmt.Sprintf("%s leads out of the project, to %q; it is skipped", key, item.Path),
				"add the path to your own config.yaml, or give it with --source"))
			continue
		}
		if ok {
			l.config.Sources = append(l.config.Sources, item)
		}
	}
	l.config.Mark(key, l.from(v))
}

// inside reports whether a project's source stays below the project, as text: what
// links make of it is judged by the rule for links of project roots.
func (l *loader) inside(item SourceItem) bool {
	if strings.HasPrefix(item.Path, "~") || strings.HasPrefix(item.Path, "$") {
		return false
	}
	path := item.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(item.Base, path)
	}
	rel, err := filepath.Rel(l.root, path)
	return err == nil && filepath.IsLocal(rel)
}

func (l *loader) source(key string, n *yaml.Node) (SourceItem, bool) {
	item := SourceItem{From: l.from(n), Base: filepath.Dir(l.path)}
	if l.level == Project {
		// .deft/config.yaml speaks of the folder that holds .deft.
		item.Base = filepath.Dir(item.Base)
	}
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		item.Path = n.Value
		return item, true
	}
	if n.Kind != yaml.MappingNode {
		l.bad(n, fmt.Sprintf("%s is %s, not a path; it is skipped", key, describe(n)), "write a path, or {path, kind, priority, trust, namespace, enabled}")
		return item, false
	}
	enabled, priority := true, math.NaN()
	keys := table{
		"path":     l.text(&item.Path, func(s string) bool { return s != "" }, "a path"),
		"kind":     l.text(&item.Kind, oneOf(kinds), strings.Join(kinds, ", ")),
		"priority": l.number(&priority),
		"enabled":  l.boolean(&enabled),
	}
	modes := policies
	if l.level == Project {
		modes = []string{"deny"}
	}
	keys["shell"] = l.text(&item.Shell, oneOf(modes), strings.Join(modes, ", "))
	keys["hooks"] = l.text(&item.Hooks, oneOf(modes), strings.Join(modes, ", "))
	if l.level == User {
		keys["trust"] = l.text(&item.Trust, oneOf(trusts), strings.Join(trusts, ", "))
		keys["namespace"] = l.text(&item.Namespace, prefixName, "a name without blanks, colons, slashes and @")
	}
	l.mapping(n, key+".", func() table { return keys })
	item.Off = !enabled
	if !math.IsNaN(priority) {
		item.Priority = &priority
	}
	if item.Path == "" {
		l.bad(n, key+" has no path; it is skipped", "add path: DIR")
		return item, false
	}
	return item, true
}

func (l *loader) number(into *float64) setter {
	return func(key string, _, v *yaml.Node) {
		var f float64
		if v.Kind != yaml.ScalarNode || v.Decode(&f) != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			l.bad(v, fmt.Sprintf("%s is %s, not a finite number; the default stays", key, describe(v)), "write a number")
			return
		}
		*into = f
	}
}

func (l *loader) roots(key string, _, v *yaml.Node) {
	old := map[string]bool{}
	l.mapping(v, key+".", func() table {
		return table{"*": func(key string, k, v *yaml.Node) {
			id := k.Value
			if now, isOld := aliases[id]; isOld {
				if _, set := l.config.Roots[now]; set && !old[now] {
					return
				}
				old[now], id = true, now
			} else {
				delete(old, id)
			}
			l.config.Roots[id] = l.switchOf(key, v)
		}}
	})
	l.config.Mark(key, l.from(v))
}

func (l *loader) switchOf(key string, v *yaml.Node) Switch {
	s := Switch{From: l.from(v)}
	enabled, priority := true, math.NaN()
	set := l.boolean(&enabled)
	l.mapping(v, key+".", func() table {
		return table{
			"enabled":  func(key string, k, v *yaml.Node) { set(key, k, v); s.Enabled = &enabled },
			"priority": l.number(&priority),
		}
	})
	if !math.IsNaN(priority) {
		s.Priority = &priority
	}
	return s
}

func (l *loader) provider(key string, k, v *yaml.Node) {
	p := Provider{From: l.from(k)}
	l.mapping(v, key+".", func() table {
		return table{
			"base_url": l.text(&p.BaseURL, address, "an http or https address"),
			"api":      l.text(&p.API, oneOf([]string{"chat", "responses"}), "chat or responses"),
			"key_env":  l.text(&p.KeyEnv, variable, "a variable's name"),
		}
	})
	l.config.Models[k.Value] = p
	l.config.Mark("models", l.from(k))
}

// describe names a value for a message without quoting more than a little of it.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	value := []rune(n.Value)
	if len(value) > 40 {
		value = append(value[:40], '…')
	}
	return fmt.Sprintf("%q", string(value))
}
