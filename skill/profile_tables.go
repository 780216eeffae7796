package skill

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/deftskills/deft/internal/fold"
)

// The bounds that hosts state themselves; they do not follow internal/limits, which
// a host of deft may lower.
const (
	standardName        = 64
	standardDescription = 1024
	standardCompat      = 500
	codexDescription    = 1024
	claudeListing       = 1536 // description and when_to_use together
	mastraLines         = 500
	mastraTokens        = 5000
	pluginAliases       = 20
)

// specOf returns a profile as data; ok is false for a profile that there is not.
func specOf(p Profile) (spec profileSpec, ok bool) {
	anyYAML := yamlAllowed{flow: true, tags: true, aliases: pluginAliases}
	switch p {
	case ProfileDeft:
		return profileSpec{judge: judgeDeft}, true
	case ProfileAgentskills, ProfileClaudeAI:
		spec = profileSpec{
			split: cutLiteral, bom: true, yaml: "Invalid YAML in frontmatter: ", rules: standardRules(),
			texts: map[string]string{
				"header_missing":   "SKILL.md must start with YAML frontmatter (---)",
				"header_unclosed":  "SKILL.md frontmatter not properly closed with ---",
				"yaml_not_mapping": "SKILL.md frontmatter must be a YAML mapping",
			},
		}
		if p == ProfileClaudeAI {
			spec.rules = append(spec.rules, uploadRules()...)
		}
		return spec, true
	case ProfileCodex:
		return profileSpec{split: cutFences, allow: anyYAML, rules: codexRules()}, true
	case ProfileClaudeCode:
		return profileSpec{split: cutFences, allow: anyYAML, bare: true, rules: claudeCodeRules()}, true
	case ProfileMastra:
		return profileSpec{
			split: cutMastra, allow: anyYAML, yaml: "Invalid frontmatter: ", rules: mastraRules(),
			texts: map[string]string{"yaml_not_mapping": "Expected object, received text or list"},
		}, true
	case ProfileBlade:
		return profileSpec{
			split: cutFences, allow: anyYAML, yaml: "cannot parse YAML header: ", rules: bladeRules(),
			texts: map[string]string{"header_missing": "missing YAML frontmatter"},
		}, true
	case ProfilePluginStrict:
		return profileSpec{split: cutFences, allow: anyYAML, bom: true, code: "SKILL_SCHEMA_INVALID", rules: pluginRules()}, true
	}
	return profileSpec{}, false
}

// What follows makes the checks that most rules are.

// lacks complains when the header has no such key.
func lacks(message string) func(*verdict, *hostField) string {
	return func(_ *verdict, f *hostField) string {
		if f == nil {
			return message
		}
		return ""
	}
}

// blank complains when the key is there and holds no text.
func blank(message string) func(*verdict, *hostField) string {
	return func(_ *verdict, f *hostField) string {
		if f != nil && strings.TrimSpace(f.scalar()) == "" {
			return message
		}
		return ""
	}
}

// notBlank runs check on the text of a field that holds some.
func notBlank(check func(v *verdict, text string) string) func(*verdict, *hostField) string {
	return func(v *verdict, f *hostField) string {
		if strings.TrimSpace(f.scalar()) == "" {
			return ""
		}
		return check(v, f.scalar())
	}
}

// oneOf complains about a text that is none of allowed.
func oneOf(allowed ...string) func(*verdict, *hostField) string {
	return func(_ *verdict, f *hostField) string {
		if f == nil || slices.Contains(allowed, f.scalar()) {
			return ""
		}
		return fmt.Sprintf("%s %q is not one of %s", f.key, flatText(f.value), strings.Join(allowed, ", "))
	}
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// units counts UTF-16 units, as hosts written in JavaScript do.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

// standardForm of a text: trimmed and in compatibility form.
func standardForm(s string) string { return fold.NFKC(strings.TrimSpace(s)) }

// standardRules are the reference validator's, in the order in which it speaks.
func standardRules() []hostRule {
	keys := []string{"allowed-tools", "compatibility", "description", "license", "metadata", "name"}
	fields := hostRule{"", "key_unknown", "", func(v *verdict, _ *hostField) string { return unexpected(v, keys) }, "move the keys below metadata"}
	return slices.Concat([]hostRule{fields}, standardNameRules(), standardTextRules())
}

func standardNameRules() []hostRule {
	name := func(check func(v *verdict, name string) string) func(*verdict, *hostField) string {
		return notBlank(func(v *verdict, text string) string { return check(v, standardForm(text)) })
	}
	return []hostRule{
		{"name", "name_missing", "", lacks("Missing required field in frontmatter: name"), "add name"},
		{"name", "value_empty", "", blank("Field 'name' must be a non-empty string"), "fill it"},
		{"name", "name_length", "", name(func(_ *verdict, s string) string {
			if n := runes(s); n > standardName {
				return fmt.Sprintf("Skill name '%s' exceeds %d character limit (%d chars)", s, standardName, n)
			}
			return ""
		}), "shorten the name"},
		{"name", "name_case", "", name(func(_ *verdict, s string) string {
			if strings.ToLower(s) != s {
				return fmt.Sprintf("Skill name '%s' must be lowercase", s)
			}
			return ""
		}), "write the name in lower case"},
		{"name", "name_hyphens", "", name(func(_ *verdict, s string) string {
			if strings.HasPrefix(s, "-") || strings.HasSuffix(s, "-") {
				return "Skill name cannot start or end with a hyphen"
			}
			return ""
		}), "remove the hyphen"},
		{"name", "name_hyphens", "", name(func(_ *verdict, s string) string {
			if strings.Contains(s, "--") {
				return "Skill name cannot contain consecutive hyphens"
			}
			return ""
		}), "keep one hyphen"},
		{"name", "name_chars", "", name(func(_ *verdict, s string) string {
			if strings.ContainsFunc(s, notStandard) {
				return fmt.Sprintf("Skill name '%s' contains invalid characters. Only letters, digits, and hyphens are allowed.", s)
			}
			return ""
		}), "use letters, digits, hyphens"},
		{"name", "name_mark", LevelInfo, name(func(_ *verdict, s string) string {
			if i := strings.IndexFunc(s, unicode.IsMark); i >= 0 {
				r, _ := utf8.DecodeRuneInString(s[i:])
				return fmt.Sprintf("combining mark U+%04X counts as neither letter nor digit here", r)
			}
			return ""
		}), "the reference validator refuses it"},
		{"name", "name_directory", "", name(func(v *verdict, s string) string {
			if d := v.in.DirName; d != "" && fold.NFKC(d) != s {
				return fmt.Sprintf("Directory name '%s' must match skill name '%s'", d, s)
			}
			return ""
		}), "rename the directory or the name"},
	}
}

func standardTextRules() []hostRule {
	return []hostRule{
		{"description", "description_missing", "", lacks("Missing required field in frontmatter: description"), "add description"},
		{"description", "value_empty", "", blank("Field 'description' must be a non-empty string"), "fill it"},
		{"description", "description_long", "", notBlank(func(_ *verdict, s string) string {
			if n := runes(s); n > standardDescription {
				return fmt.Sprintf("Description exceeds %d character limit (%d chars)", standardDescription, n)
			}
			return ""
		}), "shorten"},
		{"compatibility", "type_mismatch", "", func(_ *verdict, f *hostField) string {
			if f != nil && !f.isText() {
				return "Field 'compatibility' must be a string"
			}
			return ""
		}, "write text"},
		{"compatibility", "value_range", "", func(_ *verdict, f *hostField) string {
			if n := runes(f.scalar()); n > standardCompat {
				return fmt.Sprintf("Compatibility exceeds %d character limit (%d chars)", standardCompat, n)
			}
			return ""
		}, "shorten"},
	}
}

func notStandard(r rune) bool {
	return r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
}

func unexpected(v *verdict, keys []string) string {
	var extra []string
	for _, f := range v.fields {
		if !slices.Contains(keys, f.key) {
			extra = append(extra, f.key)
		}
	}
	if len(extra) == 0 {
		return ""
	}
	slices.Sort(extra)
	return fmt.Sprintf("Unexpected fields in frontmatter: %s. Only ['%s'] are allowed.",
		strings.Join(extra, ", "), strings.Join(keys, "', '"))
}

func uploadRules() []hostRule {
	angle := notBlank(func(_ *verdict, s string) string {
		if strings.ContainsAny(s, "<>") {
			return "text with `<` or `>`, which the upload refuses"
		}
		return ""
	})
	return []hostRule{
		{"name", "name_chars", "", angle, "remove the angle brackets"},
		{"description", "description_angle", "", angle, "remove the angle brackets"},
		{"name", "name_reserved", "", notBlank(func(_ *verdict, s string) string {
			for _, word := range []string{"claude", "anthropic"} {
				if strings.Contains(strings.ToLower(standardForm(s)), word) {
					return fmt.Sprintf("name holds the reserved word %q", word)
				}
			}
			return ""
		}), "choose another name"},
		{"", "nested_skill", "", func(v *verdict, _ *hostField) string {
			if v.in.Files == nil {
				return ""
			}
			count := 0
			for _, p := range v.in.Files {
				if p == "SKILL.md" || strings.HasSuffix(p, "/SKILL.md") {
					count++
				}
			}
			if count == 1 && slices.Contains(v.in.Files, "SKILL.md") {
				return ""
			}
			return fmt.Sprintf("package with %d files SKILL.md, wanted one, in the root folder", count)
		}, "keep one SKILL.md, in the root folder"},
	}
}

func codexRules() []hostRule {
	known := []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
	folded := func(s string) int { return runes(strings.Join(strings.Fields(s), " ")) }
	return []hostRule{
		{"", "key_foreign", LevelWarning, func(v *verdict, _ *hostField) string {
			var foreign []string
			for _, f := range v.fields {
				if !slices.Contains(known, f.key) {
					foreign = append(foreign, f.key)
				}
			}
			if foreign == nil {
				return ""
			}
			return "keys of other hosts: " + strings.Join(foreign, ", ")
		}, "this host ignores it"},
		{"name", "name_length", "", notBlank(func(_ *verdict, s string) string {
			if n := folded(s); n > standardName {
				return fmt.Sprintf("name of %d code points, limit %d", n, standardName)
			}
			return ""
		}), "shorten the name"},
		{"description", "description_missing", "", lacks("description is missing"), "add description"},
		{"description", "value_empty", "", blank("description is empty"), "fill it"},
		{"description", "description_long", "", notBlank(func(_ *verdict, s string) string {
			if n := folded(s); n > codexDescription {
				return fmt.Sprintf("description of %d code points, limit %d", n, codexDescription)
			}
			return ""
		}), "shorten"},
		{"", "sidecar_invalid", "", func(v *verdict, _ *hostField) string {
			side, ok := v.in.Sidecars["agents/openai.yaml"]
			if !ok {
				return ""
			}
			var n yaml.Node
			if err := yaml.Unmarshal(side, &n); err != nil {
				return "agents/openai.yaml: " + strings.TrimPrefix(err.Error(), "yaml: ")
			}
			if len(n.Content) > 0 && n.Content[0].Kind != yaml.MappingNode {
				return "agents/openai.yaml: not a mapping"
			}
			return ""
		}, "correct the file"},
	}
}

// claudeHookEvents are the events that Claude Code fires.
var claudeHookEvents = []string{
	"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "UserPromptSubmit",
	"Notification", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact",
	"SessionStart", "SessionEnd", "Setup", "TaskCompleted", "TeammateIdle", "ConfigChange",
	"WorktreeCreate", "WorktreeRemove", "InstructionsLoaded",
}

func claudeCodeRules() []hostRule {
	known := []string{
		"name", "description", "when_to_use", "license", "compatibility", "metadata", "version",
		"allowed-tools", "disallowed-tools", "disable-model-invocation", "user-invocable", "argument-hint",
		"arguments", "model", "effort", "context", "agent", "background", "hooks", "paths", "shell",
	}
	return []hostRule{
		{"description", "description_missing", "", func(v *verdict, f *hostField) string {
			if strings.TrimSpace(f.scalar()) != "" || firstProse(v) != "" {
				return ""
			}
			return "no description and no paragraph in its place"
		}, "add description"},
		{"description", "description_long", LevelWarning, func(v *verdict, f *hostField) string {
			if n := runes(f.scalar()) + runes(v.field("when_to_use").scalar()); n > claudeListing {
				return fmt.Sprintf("description and when_to_use of %d code points, limit %d", n, claudeListing)
			}
			return ""
		}, "shorten"},
		{"", "key_unknown", LevelInfo, func(v *verdict, _ *hostField) string {
			var extra []string
			for _, f := range v.fields {
				if !slices.Contains(known, f.key) {
					extra = append(extra, f.key)
				}
			}
			if extra == nil {
				return ""
			}
			return "keys that this host does not know: " + strings.Join(extra, ", ")
		}, "this host ignores it"},
		{"effort", "value_enum", "", func(v *verdict, f *hostField) string {
			if _, err := strconv.Atoi(f.scalar()); err == nil {
				return ""
			}
			return oneOf("low", "medium", "high", "xhigh", "max")(v, f)
		}, "one of low, medium, high, xhigh, max, or a number"},
		{"context", "value_enum", "", oneOf("inline", "fork"), "one of inline, fork"},
		{"hooks", "value_enum", "", badHooks, "one of the host's events, each with a list"},
	}
}

func badHooks(_ *verdict, f *hostField) string {
	if f == nil {
		return ""
	}
	if f.value.Kind != yaml.MappingNode {
		return "hooks is not a map from event to list"
	}
	for i := 0; i+1 < len(f.value.Content); i += 2 {
		event, list := f.value.Content[i], f.value.Content[i+1]
		switch {
		case !slices.Contains(claudeHookEvents, event.Value):
			return fmt.Sprintf("hooks has no event %q", event.Value)
		case list.Kind != yaml.SequenceNode:
			return fmt.Sprintf("hooks of %s are not a list", event.Value)
		}
	}
	return ""
}

var bladeName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]?$`)

func bladeRules() []hostRule {
	return []hostRule{
		{"name", "name_missing", "", func(_ *verdict, f *hostField) string {
			if strings.TrimSpace(f.scalar()) == "" {
				return "Missing required field: name"
			}
			return ""
		}, "add name"},
		{"description", "description_missing", "", func(_ *verdict, f *hostField) string {
			if strings.TrimSpace(f.scalar()) == "" {
				return "Missing required field: description"
			}
			return ""
		}, "add description"},
		{"name", "name_chars", "", notBlank(func(_ *verdict, s string) string {
			if s = strings.TrimSpace(s); !bladeName.MatchString(s) {
				return fmt.Sprintf("Invalid name %q: wanted %s", s, bladeName)
			}
			return ""
		}), "use lower-case letters, digits, hyphens"},
		{"description", "description_long", "", notBlank(func(_ *verdict, s string) string {
			if n := units(s); n > standardDescription {
				return fmt.Sprintf("Description too long: %d characters (max %d)", n, standardDescription)
			}
			return ""
		}), "shorten"},
		{"compatibility", "value_range", "", func(_ *verdict, f *hostField) string {
			if n := units(f.scalar()); n > standardCompat {
				return fmt.Sprintf("compatibility of %d characters, limit %d", n, standardCompat)
			}
			return ""
		}, "shorten"},
		{"scope", "value_enum", "", oneOf("turn", "session"), "one of turn, session"},
	}
}
