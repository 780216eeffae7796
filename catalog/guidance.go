package catalog

import (
	_ "embed"
	"strings"
)

//go:embed guidance_stable.md
var guidanceStable string

//go:embed guidance_routed.md
var guidanceRouted string

//go:embed guidance_files.md
var guidanceFiles string

// guidance returns the words before the list. A line that names a tool which the
// model cannot call is left out.
func guidance(mode Mode, tools ToolNames) string {
	text := guidanceStable
	switch {
	case tools.Skill == "":
		text = guidanceFiles
	case mode == ModeRouted:
		text = guidanceRouted
	}
	exposed := map[string]string{"{skill}": tools.Skill, "{skill_read}": tools.Read, "{skill_search}": tools.Search}
	var out []string
lines:
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		for placeholder, name := range exposed {
			if name == "" && strings.Contains(l, placeholder) {
				continue lines
			}
			l = strings.ReplaceAll(l, placeholder, "`"+name+"`")
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}
