package skill

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// hostCase is one header that a profile refuses, with what its errors or warnings
// say. plain is what every profile passes.
type hostCase struct {
	profile Profile
	lines   string // header lines; "\x00" before text means the whole file
	code    string
	text    string
	change  func(*Input)
}

const plain = "name: a-skill\ndescription: Drafts the notes of a release."

func hostInput(lines string, change func(*Input)) Input {
	src, whole := strings.CutPrefix(lines, "\x00")
	if !whole {
		src = "---\n" + lines + "\n---\nDo it.\n"
	}
	in := Input{Source: []byte(src), DirName: "a-skill"}
	if change != nil {
		change(&in)
	}
	return in
}

func hostCases() []hostCase {
	long := func(n int) string { return strings.Repeat("x", n) }
	desc := "description: d\n"
	ask := func(in *Input) { in.AgentSkills = true }
	files := func(names ...string) func(*Input) { return func(in *Input) { in.Files = names } }
	openai := func(text string) func(*Input) {
		return func(in *Input) { in.Sidecars = map[string][]byte{"agents/openai.yaml": []byte(text)} }
	}
	return []hostCase{
		{ProfileAgentskills, desc, "name_missing", "field in frontmatter: name", nil},
		{ProfileAgentskills, "name: ''\n" + desc, "value_empty", "'name'", nil},
		{ProfileAgentskills, "name: " + long(65) + "\n" + desc, "name_length", "65", nil},
		{ProfileAgentskills, "name: A\n" + desc, "name_case", "lowercase", nil},
		{ProfileAgentskills, "name: a-\n" + desc, "name_hyphens", "start or end", nil},
		{ProfileAgentskills, "name: a--b\n" + desc, "name_hyphens", "consecutive", nil},
		{ProfileAgentskills, "name: a_b\n" + desc, "name_chars", "invalid", nil},
		{ProfileAgentskills, "name: हिन्दी\n" + desc, "name_mark", "U+093F", nil},
		{ProfileAgentskills, "name: b\n" + desc, "name_directory", "'a-skill'", nil},
		{ProfileAgentskills, plain + "\nmodel: m\nhooks: h", "key_unknown", "hooks, model", nil},
		{ProfileAgentskills, "name: a-skill", "description_missing", "description", nil},
		{ProfileAgentskills, "name: a-skill\ndescription: ' '", "value_empty", "'description'", nil},
		{ProfileAgentskills, "name: a-skill\ndescription: " + long(1025), "description_long", "1025", nil},
		{ProfileAgentskills, plain + "\ncompatibility:\n  - a", "type_mismatch", "must be a string", nil},
		{ProfileAgentskills, plain + "\ncompatibility: " + long(501), "value_range", "501", nil},

		{ProfileClaudeAI, "name: a<b\ndescription: d", "name_chars", "`<` or `>`", nil},
		{ProfileClaudeAI, "name: a-skill\ndescription: a <b>", "description_angle", "`<` or `>`", nil},
		{ProfileClaudeAI, "name: my-claude\ndescription: d", "name_reserved", "claude", nil},
		{ProfileClaudeAI, "name: Anthropic-x\ndescription: d", "name_reserved", "anthropic", nil},
		{ProfileClaudeAI, plain, "nested_skill", "2 files", files("SKILL.md", "b/SKILL.md")},
		{ProfileClaudeAI, plain, "nested_skill", "1 files", files("b/SKILL.md")},
		{ProfileClaudeAI, plain + "\nmodel: m", "key_unknown", "model", nil},

		{ProfileCodex, "\x00Text.\n", "header_missing", "no header", nil},
		{ProfileCodex, "name: [a", "yaml_syntax", "", nil},
		{ProfileCodex, "name: " + long(65) + "\n" + desc, "name_length", "65 code points, limit 64", nil},
		{ProfileCodex, "name: a", "description_missing", "missing", nil},
		{ProfileCodex, "description: ' '", "value_empty", "empty", nil},
		{ProfileCodex, "description: " + long(1025), "description_long", "1025", nil},
		{ProfileCodex, plain + "\nhooks: h", "key_foreign", "hooks", nil},
		{ProfileCodex, plain, "sidecar_invalid", "openai.yaml", openai("a: [")},
		{ProfileCodex, plain, "sidecar_invalid", "not a mapping", openai("- a")},

		{ProfileClaudeCode, "\x00---\nname: a\n---\n# Only a heading\n", "description_missing", "no paragraph", nil},
		{ProfileClaudeCode, desc + "when_to_use: " + long(1536), "description_long", "1537", nil},
		{ProfileClaudeCode, desc + "stages: x", "key_unknown", "stages", nil},
		{ProfileClaudeCode, desc + "effort: huge", "value_enum", "huge", nil},
		{ProfileClaudeCode, desc + "context: thread", "value_enum", "thread", nil},
		{ProfileClaudeCode, desc + "hooks: x", "value_enum", "not a map", nil},
		{ProfileClaudeCode, desc + "hooks: {Later: []}", "value_enum", "Later", nil},
		{ProfileClaudeCode, desc + "hooks: {Stop: x}", "value_enum", "not a list", nil},
		{ProfileClaudeCode, "name: [a", "yaml_syntax", "", nil},

		{ProfileMastra, "\x00---js\nname: a\n---\n", "header_missing", "JavaScript frontmatter is not supported", nil},
		{ProfileMastra, "name: [a", "yaml_syntax", "Invalid frontmatter: ", nil},
		{ProfileMastra, "- a", "yaml_not_mapping", "Expected object", nil},
		{ProfileMastra, desc, "name_missing", "name: Expected string, received undefined", nil},
		{ProfileMastra, "name: 12\n" + desc, "name_missing", "name: Expected string, received number", nil},
		{ProfileMastra, "name:\n" + desc, "name_missing", "name: Expected string, received object", nil},
		{ProfileMastra, "name: ''\n" + desc, "value_empty", "name: Skill name cannot be empty", nil},
		{ProfileMastra, "name: " + long(65) + "\n" + desc, "name_length", "64 characters or less", nil},
		{ProfileMastra, "name: Invalid_Name\n" + desc, "name_chars", "only lowercase letters", nil},
		{ProfileMastra, "name: a-\n" + desc, "name_hyphens", "start or end", nil},
		{ProfileMastra, "name: a--b\n" + desc, "name_hyphens", "consecutive", nil},
		{ProfileMastra, "name: a-skill", "description_missing", "description: Expected string, received undefined", nil},
		{ProfileMastra, "name: a-skill\ndescription: [a]", "description_missing", "received object", nil},
		{ProfileMastra, "name: a-skill\ndescription: ''", "value_empty", "cannot be empty", nil},
		{ProfileMastra, "name: a-skill\ndescription: ' '", "value_empty", "only whitespace", nil},
		{ProfileMastra, "name: a-skill\ndescription: " + strings.Repeat("😀", 513), "description_long", "1024", nil},
		{ProfileMastra, plain + "\nlicense: 12", "type_mismatch", "license: Expected string, received number", nil},
		{ProfileMastra, plain + "\nuser-invocable: 'no'", "type_mismatch", "user-invocable: Expected boolean, received string", nil},
		{ProfileMastra, plain + "\nmetadata: [a]", "type_mismatch", "metadata: Expected object, received array", nil},
		{ProfileMastra, "name: b\n" + desc, "name_directory", `Skill name "b" must match directory name "a-skill"`, nil},
		{ProfileMastra, "\x00---\n" + plain + "\n---\n" + strings.Repeat("x\n", 501), "body_over_standard", "501 lines", nil},
		{ProfileMastra, "\x00---\n" + plain + "\n---\n" + strings.Repeat("x ", 3847), "body_over_standard", "~5002 estimated tokens", nil},

		{ProfileBlade, "\x00Text.\n", "header_missing", "missing YAML frontmatter", nil},
		{ProfileBlade, "description: [unclosed", "yaml_syntax", "parse YAML", nil},
		{ProfileBlade, desc, "name_missing", "Missing required field: name", nil},
		{ProfileBlade, "name: a", "description_missing", "Missing required field: description", nil},
		{ProfileBlade, "name: Invalid_Name_123\n" + desc, "name_chars", `Invalid name "Invalid_Name_123"`, nil},
		{ProfileBlade, "name: -a\n" + desc, "name_chars", "Invalid name", nil},
		{ProfileBlade, "name: " + long(65) + "\n" + desc, "name_chars", "Invalid name", nil},
		{ProfileBlade, "name: a\ndescription: " + long(1025), "description_long", "Description too long: 1025 characters (max 1024)", nil},
		{ProfileBlade, "name: a\ndescription: '" + long(1020) + "          '", "description_long", "1030", nil},
		{ProfileBlade, plain + "\ncompatibility: " + long(501), "value_range", "501", nil},
		{ProfileBlade, plain + "\nscope: forever", "value_enum", "forever", nil},

		{ProfilePluginStrict, "\x00Text.\n", "SKILL_SCHEMA_INVALID", "", nil},
		{ProfilePluginStrict, "\x00---\nname: a\n", "SKILL_SCHEMA_INVALID", "", nil},
		{ProfilePluginStrict, "\x00\uFEFF---\n" + plain + "\n---\n", "SKILL_SCHEMA_INVALID", "", nil},
		{ProfilePluginStrict, "- a", "SKILL_SCHEMA_INVALID", "mapping", nil},
		{ProfilePluginStrict, plain + "\nname: a-skill", "SKILL_SCHEMA_INVALID", "duplicate", nil},
		{ProfilePluginStrict, plain + "\na: &x 1\nb: [" + strings.Repeat("*x, ", 21) + "]", "SKILL_SCHEMA_INVALID", "alias", nil},
		{ProfilePluginStrict, "name: a-skill", "SKILL_SCHEMA_INVALID", "description", nil},
		{ProfilePluginStrict, "name: b\n" + desc, "SKILL_SCHEMA_INVALID", `expects "a-skill"`, nil},
		{ProfilePluginStrict, plain, "SKILL_SCHEMA_INVALID", `expects "z"`, func(in *Input) { in.ExpectedName = "z" }},
		{ProfilePluginStrict, desc, "SKILL_SCHEMA_INVALID", "name is missing", ask},
		{ProfilePluginStrict, plain + "\nlicense: 1", "SKILL_SCHEMA_INVALID", "license", ask},
		{ProfilePluginStrict, plain + "\nallowed-tools: [a]", "SKILL_SCHEMA_INVALID", "allowed-tools", ask},
		{ProfilePluginStrict, plain + "\ncompatibility: ''", "SKILL_SCHEMA_INVALID", "1 to 500", ask},
		{ProfilePluginStrict, plain + "\ncompatibility: " + long(501), "SKILL_SCHEMA_INVALID", "1 to 500", ask},
		{ProfilePluginStrict, plain + "\nmetadata: {a: {b: c}}", "SKILL_SCHEMA_INVALID", "metadata", ask},
		{ProfilePluginStrict, plain + "\nmetadata: x", "SKILL_SCHEMA_INVALID", "no map", ask},
	}
}

func TestProfilesRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range hostCases() {
		r := Validate(hostInput(c.lines, c.change), c.profile)
		found := false
		for _, d := range r.Diagnostics {
			if d.Code == c.code && strings.Contains(d.Message, c.text) {
				found = true
			}
			if d.File != "SKILL.md" || d.Line < 1 || d.Fix == "" {
				t.Errorf("%s: diagnostic without place or fix: %+v", c.profile, d)
			}
			if _, ok := LookupCode(d.Code); !ok {
				t.Errorf("%s: code %q is not in the table", c.profile, d.Code)
			}
		}
		if !found {
			t.Errorf("%s: %.60q: want %s %q, got %+v", c.profile, c.lines, c.code, c.text, r.Diagnostics)
		}
	}
}

func TestProfilesPass(t *testing.T) {
	t.Parallel()
	cases := []hostCase{
		{profile: ProfileClaudeAI, lines: plain, change: func(in *Input) { in.Files = []string{"SKILL.md", "references/a.md"} }},
		{profile: ProfileCodex, lines: "name: anything goes\ndescription: " + strings.Repeat("x", 1000) + strings.Repeat("    ", 100) + "y"},
		{profile: ProfileCodex, lines: plain, change: func(in *Input) {
			in.Sidecars = map[string][]byte{"agents/openai.yaml": []byte("interface:\n  display_name: A\n")}
		}},
		{profile: ProfileClaudeCode, lines: "\x00Just a paragraph.\n"},
		{profile: ProfileClaudeCode, lines: "model: opus\ndescription: d\neffort: 3\ncontext: fork\nhooks:\n  Stop:\n    - hooks: []"},
		{profile: ProfileMastra, lines: plain + "\nlicense:\nuser-invocable: false\nmetadata: {a: [1]}\ncompatibility: {a: b}"},
		{profile: ProfileMastra, lines: "name: other\ndescription: d", change: func(in *Input) { in.DirName = "" }},
		{profile: ProfileBlade, lines: "name: a-\ndescription: d\nscope: turn"},
		{profile: ProfileBlade, lines: "\x00\uFEFF---\n" + plain + "\n---\n"},
		{profile: ProfilePluginStrict, lines: "description: d"},
		{profile: ProfilePluginStrict, lines: plain + "\na: &x 1\nb: [" + strings.Repeat("*x, ", 20) + "]"},
		{profile: ProfilePluginStrict, lines: plain + "\nlicense: MIT\ncompatibility: c\nmetadata: {a: b}", change: func(in *Input) { in.AgentSkills = true }},
	}
	for _, p := range Profiles() {
		cases = append(cases, hostCase{profile: p, lines: plain})
	}
	for _, c := range cases {
		if r := Validate(hostInput(c.lines, c.change), c.profile); !r.OK {
			t.Errorf("%s: %.60q: %+v", c.profile, c.lines, r.Diagnostics)
		}
	}
}

// Every rule of every table has a fixture that breaks it; the plain one breaks none.
func TestEveryRuleHasItsFixture(t *testing.T) {
	t.Parallel()
	for _, p := range Profiles() {
		spec, _ := specOf(p)
		for i, r := range spec.rules {
			broken := false
			for _, c := range hostCases() {
				if c.profile != p && !(p == ProfileClaudeAI && c.profile == ProfileAgentskills) {
					continue
				}
				v := verdict{in: hostInput(c.lines, c.change).withDefaults(), spec: spec}
				if v.bytes() && v.header() && r.bad(&v, v.field(r.key)) != "" {
					broken = true
				}
			}
			if !broken {
				t.Errorf("%s: no fixture breaks rule %d, %s of %q", p, i, r.code, r.key)
			}
		}
	}
}

func TestUnknownProfileIsDeft(t *testing.T) {
	t.Parallel()
	if r := Validate(hostInput(plain, nil), "nobody"); r.Profile != ProfileDeft {
		t.Error(r.Profile)
	}
}

func TestJSTypeOfAliasIsTheTargets(t *testing.T) {
	t.Parallel()
	n := &yaml.Node{Kind: yaml.AliasNode, Alias: &yaml.Node{Kind: yaml.SequenceNode}}
	if got := jsType(&hostField{value: n}); got != "array" {
		t.Error(got)
	}
}

func FuzzValidate(f *testing.F) {
	for _, c := range hostCases() {
		f.Add(hostInput(c.lines, nil).Source)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, p := range Profiles() {
			r := Validate(Input{Source: src, DirName: "x"}, p)
			for _, d := range r.Diagnostics {
				if d.Code == "" || d.Message == "" {
					t.Errorf("%s: %+v", p, d)
				}
			}
		}
	})
}
