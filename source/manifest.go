package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"unicode"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
)

// PluginFormat names whose manifest a plugin has.
type PluginFormat string

// The formats of manifests. A plugin without one has FormatNone.
const (
	FormatNone       PluginFormat = ""
	FormatDeft       PluginFormat = "deft"        // .deft-plugin/plugin.json
	FormatMiniMax    PluginFormat = "minimax"     // .minimax-plugin/plugin.json
	FormatClaudeCode PluginFormat = "claude-code" // .claude-plugin/plugin.json
	FormatCodex      PluginFormat = "codex"       // .codex-plugin/plugin.json
	FormatOpen       PluginFormat = "open"        // plugin.json
)

// manifestFiles lists where a manifest may lie, the first that is there counts, and
// what stands for fields that it leaves out: files that the format's own host reads.
var manifestFiles = [...]struct {
	format         PluginFormat
	file           string
	native         bool // need not bring anything
	servers, hooks string
	commands       string // the folder of command files; "" = the format has none
	agents         string // likewise of definitions of agents
}{
	{format: FormatDeft, file: ".deft-plugin/plugin.json", native: true},
	{format: FormatMiniMax, file: ".minimax-plugin/plugin.json", native: true},
	{format: FormatClaudeCode, file: ".claude-plugin/plugin.json", servers: ".mcp.json", hooks: "hooks/hooks.json", commands: "commands", agents: "agents"},
	{format: FormatCodex, file: ".codex-plugin/plugin.json", servers: ".mcp.json", hooks: "hooks.json"},
	{format: FormatOpen, file: "plugin.json"},
}

// Manifest is what a plugin says of itself. Its contents never change.
type Manifest struct {
	Format      PluginFormat
	File        string // absolute path of the manifest; "" = there is none
	Name        string // as written; Prefix is what addresses use
	DisplayName string
	Version     string // of the manifest, else the name of a version folder; information only
	Description string
	Skills      []string // directories of skills, slash-separated, inside the plugin
	// Commands are command files, or directories of them, and Agents the same of
	// definitions of agents: slash-separated, inside the plugin.
	Commands, Agents []string
	// MCPServers and Hooks are the values as written, or a path in the plugin as a JSON
	// string where the host's own file stands for them; nil = it has none. They belong
	// to the rooms that ask a person first: nothing here is ever started.
	MCPServers, Hooks json.RawMessage
	// Fields are all fields of the manifest, unknown ones included.
	Fields map[string]json.RawMessage
	// Prefix stands before the names of the plugin's skills.
	Prefix string

	native   bool // of a format that may be empty
	declared bool // Skills was written
	broken   bool // the manifest could not be read
}

// MayBeEmpty reports whether the plugin is of a format that need not bring anything.
func (m Manifest) MayBeEmpty() bool { return m.native }

// ReadManifest reads the manifest of the plugin in dir, with what is wrong with it. A
// plugin without a manifest, or with one that cannot be used, is called after its
// directory, and its skills are in skills. Links that leave dir are never followed.
func ReadManifest(dir string) (Manifest, []skill.Diagnostic) {
	r := &manifestReader{dir: filepath.Clean(dir), max: limits.DefaultPlugin(), disk: true}
	if root, err := os.OpenRoot(r.dir); err == nil {
		r.tree = rootTree{root}
		defer root.Close()
		r.find()
	}
	return r.manifest()
}

// ReadManifestIn is ReadManifest of a plugin that is a tree of files, such as one that was
// fetched and lies nowhere yet. dir is what the plugin's directory would be called.
func ReadManifestIn(fsys fs.FS, dir string) (Manifest, []skill.Diagnostic) {
	r := &manifestReader{dir: filepath.Clean(dir), max: limits.DefaultPlugin(), tree: fsPlugin{fsys}}
	r.find()
	return r.manifest()
}

// manifestTree is where the files of a plugin are read.
type manifestTree interface {
	Lstat(name string) (fs.FileInfo, error)
	open(name string) (fs.File, error)
}

// rootTree reads a directory of the disk: no link leads out of it, no special file is
// waited for.
type rootTree struct{ *os.Root }

func (t rootTree) open(name string) (fs.File, error) { return openIn(t.Root, name) }

// fsPlugin reads a tree without links.
type fsPlugin struct{ fs.FS }

func (t fsPlugin) Lstat(name string) (fs.FileInfo, error) { return fs.Stat(t.FS, name) }
func (t fsPlugin) open(name string) (fs.File, error)      { return t.FS.Open(name) }

// manifest is what was read, with what stands for the fields that were left out.
func (r *manifestReader) manifest() (Manifest, []skill.Diagnostic) {
	m := &r.m
	m.Prefix = r.prefix()
	if m.Version == "" {
		if base := filepath.Base(r.dir); looksLikeVersion(base) {
			m.Version = base
		}
	}
	if !m.declared {
		m.Skills = []string{"skills"}
	}
	return r.m, r.diags
}

type manifestReader struct {
	dir   string
	tree  manifestTree
	disk  bool // dir is a directory of this machine
	max   limits.Plugin
	text  []byte
	doc   map[string]jsonField
	m     Manifest
	diags []skill.Diagnostic
}

// note adds a finding about the manifest, at a byte of it; -1 = the file as a whole.
func (r *manifestReader) note(code string, at int, format string, args ...any) {
	file := r.m.File
	if file == "" {
		file = r.dir
	}
	d := finding(code, file, format, args...)
	if at >= 0 {
		before := r.text[:min(at, len(r.text))]
		d.Line = bytes.Count(before, []byte("\n")) + 1
		d.Column = at - bytes.LastIndexByte(before, '\n')
		d.Offset = int64(at)
	}
	r.diags = append(r.diags, d)
}

// find reads the first manifest that is there. One that cannot be used hides those of
// other formats: which file speaks for a plugin does not depend on its contents.
func (r *manifestReader) find() {
	for _, f := range manifestFiles {
		if _, err := r.tree.Lstat(f.file); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		r.m.Format, r.m.native = f.format, f.native
		r.m.File = filepath.Join(r.dir, filepath.FromSlash(f.file))
		r.read(f.file)
		r.stand(&r.m.MCPServers, f.servers)
		r.stand(&r.m.Hooks, f.hooks)
		r.standPath(&r.m.Commands, "commands", f.commands)
		r.standPath(&r.m.Agents, "agents", f.agents)
		return
	}
}

// stand lets a file of the plugin stand for a field that is not written.
func (r *manifestReader) stand(field *json.RawMessage, file string) {
	if *field != nil || file == "" {
		return
	}
	if st, err := r.tree.Lstat(file); err == nil && st.Mode().IsRegular() {
		*field = json.RawMessage(`"./` + file + `"`)
	}
}

// standPath takes a list of paths of a format that has it, or the format's own folder.
func (r *manifestReader) standPath(field *[]string, name, folder string) {
	if folder == "" {
		return
	}
	if f, ok := r.doc[name]; ok {
		*field, _ = r.paths(name, f)
		return
	}
	if st, err := r.tree.Lstat(folder); err == nil && st.IsDir() {
		*field = []string{folder}
	}
}

func (r *manifestReader) read(file string) {
	f, err := r.tree.open(file)
	if err == nil {
		f, err = regular(f)
	}
	if err != nil {
		r.m.broken = true
		r.note("plugin_manifest", -1, "manifest cannot be read: %v", cause(err))
		return
	}
	defer f.Close()
	r.text, _, _, err = readFile(f, r.m.File, nil, r.max.Manifest)
	switch st, _ := f.Stat(); {
	case err != nil:
		r.note("plugin_manifest", -1, "manifest cannot be read: %v", cause(err))
	case st != nil && st.Size() > r.max.Manifest || int64(len(r.text)) > r.max.Manifest:
		r.note("plugin_manifest", -1, "manifest has more than %d bytes", r.max.Manifest)
	default:
		r.fields()
		return
	}
	r.m.broken = true
}

// fields takes what the manifest says. A field that cannot be used falls back alone.
func (r *manifestReader) fields() {
	r.text = bytes.TrimPrefix(r.text, []byte("\uFEFF"))
	doc, fault := readObject(r.text, r.max.Depth)
	if fault != nil {
		r.m.broken = true
		r.note("plugin_manifest", fault.at, "manifest is no usable JSON object: %s", fault.text)
		return
	}
	r.doc = doc
	r.m.Fields = make(map[string]json.RawMessage, len(doc))
	for name, f := range doc {
		r.m.Fields[name] = f.raw
	}
	for _, t := range [...]struct {
		name string
		into *string
	}{{"name", &r.m.Name}, {"displayName", &r.m.DisplayName}, {"version", &r.m.Version}, {"description", &r.m.Description}} {
		if f, ok := doc[t.name]; ok && json.Unmarshal(f.raw, t.into) != nil {
			r.note("plugin_manifest", f.at, "%s is no text", t.name)
		}
	}
	if f, ok := doc["skills"]; ok {
		r.m.Skills, r.m.declared = r.paths("skills", f)
	}
	r.m.MCPServers = r.handed(doc, "mcpServers")
	r.m.Hooks = r.handed(doc, "hooks")
}

// paths takes the path or list of paths of a field; false = it is neither.
func (r *manifestReader) paths(name string, f jsonField) (out []string, ok bool) {
	var one string
	list := []json.RawMessage{f.raw}
	if json.Unmarshal(f.raw, &one) != nil && json.Unmarshal(f.raw, &list) != nil || string(f.raw) == "null" {
		r.note("plugin_manifest", f.at, "%s is neither a path nor a list of paths", name)
		return nil, false
	}
	if len(list) > r.max.Paths {
		r.note("plugin_manifest", f.at, "%s names %d paths; the limit is %d", name, len(list), r.max.Paths)
		list = list[:r.max.Paths]
	}
	for _, raw := range list {
		var p string
		if json.Unmarshal(raw, &p) != nil || p == "" {
			r.note("plugin_manifest", f.at, "%s holds an entry that is no path", name)
			continue
		}
		if rel, ok := r.inside(name, p, f.at); ok {
			out = append(out, rel)
		}
	}
	return out, true
}

// handed returns a value for another room: an object, a list, or a path in the plugin.
func (r *manifestReader) handed(doc map[string]jsonField, name string) json.RawMessage {
	f, ok := doc[name]
	if !ok || len(f.raw) == 0 {
		return nil
	}
	switch s := string(f.raw); {
	case s == "null" || s == "{}" || s == "[]" || s == `""`:
		return nil
	case s[0] == '"':
		var p string
		if json.Unmarshal(f.raw, &p) != nil {
			return nil
		}
		if _, ok := r.inside(name, p, f.at); !ok {
			return nil
		}
	case s[0] != '{' && s[0] != '[':
		r.note("plugin_manifest", f.at, "%s is neither an object nor a path", name)
		return nil
	}
	return f.raw
}

// rootVariables may stand before a path of a manifest: they mean the plugin itself.
var rootVariables = [...]string{"${CLAUDE_PLUGIN_ROOT}/", "${PLUGIN_ROOT}/"}

// inside cleans a path of the manifest; false, and a finding, when it leaves the plugin.
func (r *manifestReader) inside(field, p string, at int) (rel string, ok bool) {
	for _, v := range rootVariables {
		p = strings.TrimPrefix(p, v)
	}
	clean := path.Clean(p)
	switch {
	case strings.IndexByte(p, 0) >= 0, strings.HasPrefix(p, "~"), strings.HasPrefix(p, "$"), path.IsAbs(p),
		!filepath.IsLocal(filepath.FromSlash(clean)), strings.Contains(p, `\`) && !filepath.IsLocal(strings.ReplaceAll(clean, `\`, "/")):
		r.note("plugin_bad_path", at, "%s %q leads out of the plugin", field, p)
		return "", false
	}
	if !r.disk {
		return clean, true
	}
	full := filepath.Join(r.dir, filepath.FromSlash(clean))
	if real, err := filepath.EvalSymlinks(full); err == nil && !within(real, resolved(r.dir)) {
		r.note("plugin_bad_path", at, "%s %q is a link to %q, outside of the plugin", field, p, real)
		return "", false
	}
	return clean, true
}

var commitName = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// looksLikeVersion says whether a directory is named after a version or a commit: its
// name changes with each update and can address nothing.
func looksLikeVersion(name string) bool {
	return skill.IsVersion(name) || commitName.MatchString(strings.ToLower(name))
}

// IsVersion reports whether a directory is named after a version or a commit, and so can
// name no plugin.
func IsVersion(name string) bool { return looksLikeVersion(name) }

// PluginName returns a name as it stands before a skill's: what separates parts of an
// address, and what can't be typed or seen, is replaced; "" = nothing is left.
func PluginName(name string) string { return cleanPrefix(name, limits.DefaultPlugin().Name) }

// unversioned returns the directory above those that are named after a version.
func unversioned(dir string) string {
	for looksLikeVersion(filepath.Base(dir)) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	return dir
}

// prefix is the manifest's name, else that of the directory; a version folder is
// called after the one above it.
func (r *manifestReader) prefix() string {
	if name := cleanPrefix(r.m.Name, r.max.Name); name != "" {
		if name != strings.TrimSpace(r.m.Name) {
			r.note("plugin_name", -1, "plugin name %q cannot stand before a skill's; %q is used", r.m.Name, name)
		}
		return name
	}
	base := filepath.Base(unversioned(r.dir))
	if name, _, ok := strings.Cut(base, "@"); ok && name != "" { // name@where it came from
		base = name
	}
	if name := cleanPrefix(base, r.max.Name); name != "" {
		return name
	}
	return "plugin"
}

// cleanPrefix returns a name with everything replaced that separates parts of an
// address, or that cannot be typed or seen.
func cleanPrefix(name string, max int) string {
	name = strings.Map(func(c rune) rune {
		if strings.ContainsRune(`:@/\`, c) || unicode.IsSpace(c) || !unicode.IsGraphic(c) || c == unicode.ReplacementChar {
			return '-'
		}
		return c
	}, fold.NFC(strings.TrimSpace(name)))
	name = strings.Trim(name, "-.")
	if runes := []rune(name); len(runes) > max {
		name = string(runes[:max])
	}
	return name
}

// jsonField is one field of an object: its value as written and where that begins.
type jsonField struct {
	raw json.RawMessage
	at  int
}

// jsonFault says what is wrong with a JSON text, and at which byte.
type jsonFault struct {
	at   int
	text string
}

// readObject reads a JSON object strictly: one value, nothing behind it, no key twice
// at any level, at most depth levels.
func readObject(text []byte, depth int) (map[string]jsonField, *jsonFault) {
	if fault := checkJSON(text, depth); fault != nil {
		return nil, fault
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, &jsonFault{0, "it is no object"}
	}
	doc := map[string]jsonField{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, &jsonFault{int(dec.InputOffset()), err.Error()}
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, &jsonFault{int(dec.InputOffset()), err.Error()}
		}
		doc[key.(string)] = jsonField{bytes.Clone(raw), int(dec.InputOffset()) - len(raw)}
	}
	return doc, nil
}

// checkJSON walks the tokens once: the standard decoder takes keys that are given
// twice, and which of the two counts would depend on the reader.
func checkJSON(text []byte, depth int) *jsonFault {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	type level struct {
		keys map[string]bool // nil in a list
		key  bool            // the next token is a key
	}
	var stack []level
	for {
		start := int(dec.InputOffset())
		t, err := dec.Token()
		if err != nil {
			return faultOf(err, start)
		}
		if n := len(stack); n > 0 && stack[n-1].keys != nil && t != json.Delim('}') {
			top := &stack[n-1]
			if top.key {
				name := t.(string)
				if top.keys[name] {
					return &jsonFault{start, fmt.Sprintf("key %q is given twice", name)}
				}
				top.keys[name] = true
			}
			top.key = !top.key
		}
		switch t {
		case json.Delim('{'):
			stack = append(stack, level{keys: map[string]bool{}, key: true})
		case json.Delim('['):
			stack = append(stack, level{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
		if len(stack) > depth {
			return &jsonFault{start, fmt.Sprintf("it is nested deeper than %d levels", depth)}
		}
		if len(stack) == 0 {
			break
		}
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		return &jsonFault{int(dec.InputOffset()), "something follows the object"}
	}
	return nil
}

func faultOf(err error, at int) *jsonFault {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = int(max(syntax.Offset-1, 0))
	}
	return &jsonFault{at, err.Error()}
}
