package skill

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// jsType is what a host written in JavaScript calls a value of the header.
func jsType(f *hostField) string {
	if f == nil {
		return "undefined"
	}
	n := f.value
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.SequenceNode:
		return "array"
	case yaml.MappingNode:
		return "object"
	}
	switch n.ShortTag() {
	case "!!null":
		return "null"
	case "!!bool":
		return "boolean"
	case "!!int", "!!float":
		return "number"
	case "!!timestamp":
		return "object" // the library of these hosts makes dates of them
	}
	return "string"
}

// cutMastra refuses a language mark after the opening fence before anything else:
// `---js` would be run as code by the library that these hosts use.
func cutMastra(src string) hostHeader {
	if first, _, _ := strings.Cut(src, "\n"); strings.HasPrefix(first, "---") {
		mark := strings.ToLower(strings.TrimSpace(first[3:]))
		if mark == "js" || mark == "javascript" {
			return hostHeader{
				code: "header_missing", message: "JavaScript frontmatter is not supported",
				fix: "write `---` alone on the first line",
			}
		}
	}
	return cutFences(src)
}

// typed complains when the value is there and not of one of the wanted types.
func typed(want string, null bool) func(*verdict, *hostField) string {
	return func(_ *verdict, f *hostField) string {
		switch got := jsType(f); {
		case f == nil, got == want, null && got == "null":
			return ""
		case got == "null" || got == "array" && want != "object":
			return fmt.Sprintf("%s: Expected %s, received object", f.key, want)
		default:
			return fmt.Sprintf("%s: Expected %s, received %s", f.key, want, got)
		}
	}
}

// mastraText runs check on a field that is a string, and words the other cases.
func mastraText(key string, check func(s string) string) func(*verdict, *hostField) string {
	return func(_ *verdict, f *hostField) string {
		if jsType(f) != "string" {
			return ""
		}
		if message := check(f.scalar()); message != "" {
			return key + ": " + message
		}
		return ""
	}
}

func mastraNeeds(key string) func(*verdict, *hostField) string {
	return func(v *verdict, f *hostField) string {
		if f == nil {
			return key + ": Expected string, received undefined"
		}
		return typed("string", false)(v, f)
	}
}

var mastraName = regexp.MustCompile(`^[a-z0-9-]+$`)

func mastraRules() []hostRule {
	when := func(bad bool, message string) string {
		if bad {
			return message
		}
		return ""
	}
	name := func(check func(s string) string) func(*verdict, *hostField) string {
		return mastraText("name", func(s string) string {
			if s == "" {
				return ""
			}
			return check(s)
		})
	}
	return []hostRule{
		{"name", "name_missing", "", mastraNeeds("name"), "add name"},
		{"name", "value_empty", "", mastraText("name", func(s string) string {
			return when(s == "", "Skill name cannot be empty")
		}), "fill it"},
		{"name", "name_length", "", name(func(s string) string {
			return when(units(s) > standardName, fmt.Sprintf("Skill name must be %d characters or less", standardName))
		}), "shorten the name"},
		{"name", "name_chars", "", name(func(s string) string {
			return when(!mastraName.MatchString(s), "Skill name must contain only lowercase letters, numbers, and hyphens")
		}), "use lower-case letters, digits, hyphens"},
		{"name", "name_hyphens", "", name(func(s string) string {
			return when(strings.HasPrefix(s, "-") || strings.HasSuffix(s, "-"), "Skill name must not start or end with a hyphen")
		}), "remove the hyphen"},
		{"name", "name_hyphens", "", name(func(s string) string {
			return when(strings.Contains(s, "--"), "Skill name must not contain consecutive hyphens")
		}), "keep one hyphen"},
		{"description", "description_missing", "", mastraNeeds("description"), "add description"},
		{"description", "value_empty", "", mastraText("description", func(s string) string {
			return when(s == "", "Skill description cannot be empty")
		}), "fill it"},
		{"description", "description_long", "", mastraText("description", func(s string) string {
			return when(units(s) > standardDescription, fmt.Sprintf("Skill description must be %d characters or less", standardDescription))
		}), "shorten"},
		{"description", "value_empty", "", mastraText("description", func(s string) string {
			return when(s != "" && strings.TrimSpace(s) == "", "Skill description cannot be only whitespace")
		}), "fill it"},
		{"license", "type_mismatch", "", typed("string", true), "write text"},
		{"user-invocable", "type_mismatch", "", typed("boolean", false), "write true or false"},
		{"metadata", "type_mismatch", "", typed("object", true), "write a map"},
		{"name", "name_directory", "", func(v *verdict, f *hostField) string {
			d := v.in.DirName
			return when(jsType(f) == "string" && d != "" && f.scalar() != d,
				fmt.Sprintf("Skill name %q must match directory name %q", f.scalar(), d))
		}, "rename the directory or the name"},
		{"", "body_over_standard", LevelWarning, func(v *verdict, _ *hostField) string {
			n := strings.Count(v.body, "\n") + 1
			return when(n > mastraLines, fmt.Sprintf("Instructions have %d lines (recommended: <%d). Consider moving content to references/.", n, mastraLines))
		}, "move detail to references/"},
		{"", "body_over_standard", LevelWarning, func(v *verdict, _ *hostField) string {
			n := int(math.Ceil(float64(len(strings.Fields(v.body))) * 1.3))
			return when(n > mastraTokens, fmt.Sprintf("Instructions have ~%d estimated tokens (recommended: <%d). Consider moving content to references/.", n, mastraTokens))
		}, "move detail to references/"},
	}
}

func pluginRules() []hostRule {
	// only holds for plugins that declare agentSkills.
	only := func(check func(*verdict, *hostField) string) func(*verdict, *hostField) string {
		return func(v *verdict, f *hostField) string {
			if !v.in.AgentSkills {
				return ""
			}
			return check(v, f)
		}
	}
	text := only(func(_ *verdict, f *hostField) string {
		if t := jsType(f); t == "string" || t == "undefined" {
			return ""
		}
		return f.key + " is no text"
	})
	return []hostRule{
		{"name", "name_missing", "", only(lacks("name is missing")), "add name"},
		{"name", "name_directory", "", func(v *verdict, f *hostField) string {
			want := v.in.ExpectedName
			if want == "" {
				want = v.in.DirName
			}
			if f == nil || want == "" || strings.TrimSpace(f.scalar()) == want {
				return ""
			}
			return fmt.Sprintf("name %q, the plugin expects %q", f.scalar(), want)
		}, "rename the directory or the name"},
		{"description", "description_missing", "", func(_ *verdict, f *hostField) string {
			if strings.TrimSpace(f.scalar()) == "" {
				return "description is missing"
			}
			return ""
		}, "add description"},
		{"license", "type_mismatch", "", text, "write text"},
		{"allowed-tools", "type_mismatch", "", text, "write one line of text"},
		{"compatibility", "value_range", "", only(func(_ *verdict, f *hostField) string {
			if f == nil {
				return ""
			}
			if n := units(f.scalar()); jsType(f) != "string" || n < 1 || n > standardCompat {
				return fmt.Sprintf("compatibility is no text of 1 to %d characters", standardCompat)
			}
			return ""
		}), "write 1 to 500 characters"},
		{"metadata", "metadata_not_string", "", only(notTextToText), "write strings"},
	}
}

func notTextToText(_ *verdict, f *hostField) string {
	if f == nil {
		return ""
	}
	if f.value.Kind != yaml.MappingNode {
		return "metadata is no map"
	}
	for i := 1; i < len(f.value.Content); i += 2 {
		if n := f.value.Content[i]; jsType(&hostField{value: n}) != "string" {
			return fmt.Sprintf("metadata %q is no text", f.value.Content[i-1].Value)
		}
	}
	return ""
}
