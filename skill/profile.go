package skill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deftskills/deft/internal/limits"
)

// Profile names a host whose rules judge a SKILL.md.
type Profile string

// The profiles. Each is a table of rules; see profile_tables.go.
const (
	ProfileDeft         Profile = "deft"        // deft's own reading, with what was repaired as an error
	ProfileAgentskills  Profile = "agentskills" // the open standard's reference validator, text for text
	ProfileClaudeAI     Profile = "claude-ai"   // upload to claude.ai
	ProfileCodex        Profile = "codex"
	ProfileClaudeCode   Profile = "claude-code"
	ProfileMastra       Profile = "mastra"
	ProfileBlade        Profile = "blade"
	ProfilePluginStrict Profile = "plugin-strict" // MiniMax Code plugins
)

// Profiles returns every profile in the order of the documentation.
func Profiles() []Profile {
	return []Profile{
		ProfileDeft, ProfileAgentskills, ProfileClaudeAI, ProfileCodex,
		ProfileClaudeCode, ProfileMastra, ProfileBlade, ProfilePluginStrict,
	}
}

// Input is what Validate judges: one file's bytes and what is around it.
type Input struct {
	Source    []byte            // the bytes of SKILL.md
	ReadError error             // why there are none; then Source is ignored
	Path      string            // shown as the file of diagnostics; "" means FileName
	DirName   string            // base name of the directory; "" leaves name and directory unchecked
	FileName  string            // base name of the file; "" means SKILL.md
	Sidecars  map[string][]byte // by their path in the directory
	Files     []string          // paths in the package, "/" separated; nil leaves the package unchecked

	ExpectedName string // profile plugin-strict: the name a plugin declares; "" means DirName
	AgentSkills  bool   // profile plugin-strict: its option agentSkills
	Limits       limits.Skill
}

// Report is the verdict of one profile on one file. OK is true when no diagnostic
// is an error. A report never says whether deft loads the skill: Parse does.
type Report struct {
	Profile     Profile
	Path        string
	OK          bool
	Diagnostics []Diagnostic // in the order of the profile's rules
	Properties  Properties   // as far as the header could be read
}

// Properties are the standard's six fields. A nil pointer means absent, which
// differs from empty. AllowedTools is one string whatever its spelling.
type Properties struct {
	Name          string            `json:"name"`
	Description   string            `json:"description"`
	License       *string           `json:"license,omitempty"`
	Compatibility *string           `json:"compatibility,omitempty"`
	AllowedTools  *string           `json:"allowed-tools,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`

	Body string `json:"-"` // trimmed, line ends LF
}

// Validate judges in by p's rules. It is pure and strict, and independent of
// Parse's leniency: a verdict never stops a load. An unknown profile is judged as
// ProfileDeft.
func Validate(in Input, p Profile) Report {
	in = in.withDefaults()
	spec, ok := specOf(p)
	if !ok {
		p = ProfileDeft
		spec, _ = specOf(p)
	}
	v := verdict{in: in, spec: spec}
	v.run()
	return v.report(p)
}

func (in Input) withDefaults() Input {
	if in.FileName == "" {
		in.FileName = "SKILL.md"
	}
	if in.Path == "" {
		in.Path = in.FileName
	}
	if in.DirName == "." || in.DirName == "/" {
		in.DirName = ""
	}
	in.Limits = in.Limits.WithDefaults()
	return in
}

// profileSpec is one profile as data.
type profileSpec struct {
	judge func(*verdict) // takes the place of all below
	split func(src string) hostHeader
	allow yamlAllowed
	bom   bool   // a byte order mark stays where it is
	bare  bool   // a missing header is no fault
	yaml  string // before the cause of a YAML fault
	texts map[string]string
	code  string // the one code this host knows; "" keeps the rule's
	rules []hostRule
}

// hostRule is one sentence of a profile. bad says what is wrong, "" when nothing is; f
// is the field of key, nil when the header has none.
type hostRule struct {
	key   string
	code  string
	level Level // "" means error
	bad   func(v *verdict, f *hostField) string
	fix   string
}

// hostField is one top-level entry of a header, as a strict reader sees it.
type hostField struct {
	key   string
	line  int // of the key, in the file
	col   int
	value *yaml.Node
	at    [2]int // line and column of the value, in the file
}

// scalar returns the source text of a scalar, "" for anything else.
func (f *hostField) scalar() string {
	if f == nil || f.value.Kind != yaml.ScalarNode {
		return ""
	}
	return f.value.Value
}

// isText reports whether the value is a scalar: to the reference every scalar is a
// string, and an empty value is the empty string.
func (f *hostField) isText() bool { return f != nil && f.value.Kind == yaml.ScalarNode }

// verdict is one run of one profile.
type verdict struct {
	in     Input
	spec   profileSpec
	fields []hostField
	body   string
	found  []Diagnostic
	props  Properties // of a profile with a reader of its own
}

func (v *verdict) field(key string) *hostField {
	for i := range v.fields {
		if v.fields[i].key == key {
			return &v.fields[i]
		}
	}
	return nil
}

func (v *verdict) add(code string, level Level, line, col int, message, fix string) {
	if level == "" {
		level = LevelError
	}
	if v.spec.code != "" && level == LevelError {
		code = v.spec.code
	}
	v.found = append(v.found, Diagnostic{
		Code: code, Level: level, File: v.in.Path, Line: line, Column: col, Offset: -1,
		Message: message, Fix: fix,
	})
}

// text returns the profile's own wording for a code, or ours.
func (v *verdict) text(code, ours string) string {
	if t, ok := v.spec.texts[code]; ok {
		return t
	}
	return ours
}

func (v *verdict) run() {
	if !v.bytes() {
		return
	}
	if v.spec.judge != nil {
		v.spec.judge(v)
		return
	}
	if !v.header() {
		return
	}
	for _, r := range v.spec.rules {
		f := v.field(r.key)
		message := r.bad(v, f)
		if message == "" {
			continue
		}
		line, col := 1, 1
		if f != nil {
			line, col = f.at[0], f.at[1]
		}
		v.add(r.code, r.level, line, col, message, r.fix)
	}
}

// bytes judges what no header rule can: reading, size, UTF-8, NUL.
func (v *verdict) bytes() bool {
	src := v.in.Source
	at := func(code string, offset int, format string, args ...any) bool {
		v.add(code, LevelError, 1+bytes.Count(src[:offset], []byte("\n")), 0, fmt.Sprintf(format, args...), "save as UTF-8 without NUL")
		v.found[len(v.found)-1].Offset = int64(offset)
		return false
	}
	if v.in.ReadError != nil {
		v.add("file_unreadable", LevelError, 0, 0, fmt.Sprintf("%s cannot be read: %v", v.in.Path, osCause(v.in.ReadError)), "make it a readable regular file")
		return false
	}
	if n, most := int64(len(src)), v.in.Limits.File; n > most {
		v.add("limit_file", LevelError, 1, 0, fmt.Sprintf("limit_file: file of %d bytes or more, limit %d", n, most), "shorten; move detail to references/")
		return false
	}
	switch code, i, reason := badByte(src); code {
	case "":
		return true
	case "nul_byte":
		return at(code, i, "%s%s", v.spec.yaml, reason)
	default:
		return at(code, i, "%s", reason)
	}
}

// header splits and reads the header; false when that is all there is to say.
func (v *verdict) header() bool {
	src := string(v.in.Source)
	if strings.HasPrefix(src, "\uFEFF") {
		if !v.spec.bom {
			src = src[len("\uFEFF"):]
		}
	}
	h := v.spec.split(src)
	v.body = h.body
	switch {
	case h.code == "header_missing" && v.spec.bare:
		return true
	case h.code != "":
		v.add(h.code, LevelError, 1, 1, v.text(h.code, h.message), h.fix)
		return false
	}
	fields, fault := readFields(h, v.spec.allow, v.in.Limits)
	if fault == nil {
		v.fields = fields
		return true
	}
	message := v.spec.yaml + fault.message
	if fault.code == "yaml_not_mapping" || strings.HasPrefix(fault.code, "limit_") {
		message = v.text(fault.code, fault.message)
	}
	v.add(fault.code, LevelError, fault.line, fault.col, message, fault.fix)
	return false
}

func (v *verdict) report(p Profile) Report {
	r := Report{Profile: p, Path: v.in.Path, OK: true, Diagnostics: v.found, Properties: v.properties()}
	for _, d := range v.found {
		if d.Level == LevelError {
			r.OK = false
		}
	}
	return r
}

func (v *verdict) properties() Properties {
	if v.spec.judge != nil {
		return v.props
	}
	optional := func(key string) *string {
		f := v.field(key)
		if f == nil {
			return nil
		}
		s := flatText(f.value)
		return &s
	}
	p := Properties{
		Name:          strings.TrimSpace(v.field("name").scalar()),
		Description:   strings.TrimSpace(v.field("description").scalar()),
		License:       optional("license"),
		Compatibility: optional("compatibility"),
		AllowedTools:  optional("allowed-tools"),
		Body:          v.body,
	}
	if f := v.field("metadata"); f != nil && f.value.Kind == yaml.MappingNode {
		p.Metadata = make(map[string]string, len(f.value.Content)/2)
		for i := 0; i+1 < len(f.value.Content); i += 2 {
			p.Metadata[f.value.Content[i].Value] = nestedText(f.value.Content[i+1])
		}
	}
	return p
}

// flatText is a value as one string: a list is its items with blanks between.
func flatText(n *yaml.Node) string {
	if n.Kind != yaml.SequenceNode {
		return nestedText(n)
	}
	items := make([]string, len(n.Content))
	for i, c := range n.Content {
		items[i] = nestedText(c)
	}
	return strings.Join(items, " ")
}

// nestedText is a scalar's source text, or compact JSON of anything nested, keys in
// their order and every scalar a string.
func nestedText(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	var b strings.Builder
	writeNested(&b, n)
	return b.String()
}

func writeNested(b *strings.Builder, n *yaml.Node) {
	quote := func(s string) {
		q, _ := json.Marshal(s) // a string always marshals
		b.Write(q)
	}
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(n.Content[i].Value)
			b.WriteByte(':')
			writeNested(b, n.Content[i+1])
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			writeNested(b, c)
		}
		b.WriteByte(']')
	default: // an alias is shown by its name: resolving it could not end
		quote(n.Value)
	}
}
