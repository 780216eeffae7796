package route

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deftskills/deft/skill"
)

// scenarioKeys are the keys of a file, each with how its value is read.
var scenarioKeys = map[string]func(s *Scenario, n *yaml.Node) string{
	"id": func(s *Scenario, n *yaml.Node) string {
		s.ID = n.Value
		if n.Kind != yaml.ScalarNode || n.Value == "" || len(n.Value) > 128 || strings.ContainsFunc(n.Value, notInID) {
			return "not 1 to 128 of a-z, 0-9, '.', '_' and '-'"
		}
		return ""
	},
	"kind": func(s *Scenario, n *yaml.Node) string {
		if s.Primary = n.Value == "primary"; !s.Primary && n.Value != "composable" {
			return "not primary or composable"
		}
		return ""
	},
	"keywords":            func(s *Scenario, n *yaml.Node) string { return texts(n, &s.Keywords) },
	"suggested_skill_ids": func(s *Scenario, n *yaml.Node) string { return texts(n, &s.Skills) },
	"examples":            func(s *Scenario, n *yaml.Node) string { return texts(n, &s.Examples) },
	"playbook": func(s *Scenario, n *yaml.Node) string {
		s.Playbook = n.Value
		if n.Kind != yaml.ScalarNode {
			return "not a text"
		}
		return ""
	},
}

func notInID(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c)
}

func texts(n *yaml.Node, into *[]string) string {
	if n.Kind != yaml.SequenceNode || len(n.Content) > 256 || n.Decode(into) != nil {
		return "not a list of at most 256 texts"
	}
	return ""
}

// ParseScenario reads one file: id, kind (primary or composable), keywords,
// suggested_skill_ids, playbook and examples, of which id and kind are required. A file with an
// unknown key or a wrong value is no scenario; the findings say where.
func ParseScenario(src []byte, path string) (*Scenario, []skill.Diagnostic) {
	s := &Scenario{Path: path}
	var diags []skill.Diagnostic
	bad := func(n *yaml.Node, format string, args ...any) {
		d := skill.Finding("scenario_invalid", path, format, args...)
		d.Line, d.Column = n.Line, n.Column
		diags = append(diags, d)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		at := &yaml.Node{Line: 1, Column: 1}
		message := strings.TrimPrefix(err.Error(), "yaml: ")
		if n, _ := fmt.Sscanf(message, "line %d:", &at.Line); n == 1 {
			_, message, _ = strings.Cut(message, ": ")
		}
		bad(at, "scenario is not YAML: %s", message)
		return nil, diags
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		bad(&yaml.Node{Line: 1, Column: 1}, "scenario is no mapping of keys")
		return nil, diags
	}
	top, seen := doc.Content[0], map[string]bool{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		k, v := top.Content[i], top.Content[i+1]
		read := scenarioKeys[k.Value]
		switch {
		case read == nil:
			bad(k, "key %q is not known here", k.Value)
		case seen[k.Value]:
			bad(k, "key %q stands twice", k.Value)
		default:
			if why := read(s, v); why != "" {
				bad(v, "%s is %s", k.Value, why)
			}
		}
		seen[k.Value] = true
	}
	for _, key := range []string{"id", "kind"} {
		if !seen[key] {
			bad(top, "%s is missing", key)
		}
	}
	if len(diags) > 0 {
		return nil, diags
	}
	return s, nil
}
