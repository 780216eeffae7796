package catalog

import (
	"embed"
	"strings"
)

//go:embed guidance_*.md
var guidanceTexts embed.FS

// guidance returns the words about the list. A line that names a tool which the
// model cannot call is left out.
func guidance(d *dialect, mode Mode, in Input) string {
	tools, name := in.Tools, ""
	switch {
	case d.guidance == "", mode == ModeSearch && tools.Search == "":
		return ""
	case d.guidance == "mastra" && mode == ModeSearch:
		name = "mastra_search"
	case d.guidance == "mastra" && in.NoAliases:
		name = "mastra_names"
	case d.guidance == "mastra":
		name = "mastra"
	case mode == ModeSearch:
		name = "search"
	case tools.Skill == "":
		name = "files"
	case mode == ModeRouted:
		name = "routed"
	default:
		name = "stable"
	}
	text, err := guidanceTexts.ReadFile("guidance_" + name + ".md")
	if err != nil {
		return "" // cannot happen: the file is compiled in
	}
	exposed := map[string]string{"{skill}": tools.Skill, "{skill_read}": tools.Read, "{skill_search}": tools.Search}
	var out []string
lines:
	for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		for placeholder, name := range exposed {
			if name == "" && strings.Contains(l, placeholder) {
				continue lines
			}
			l = strings.ReplaceAll(l, placeholder, "`"+name+"`")
		}
		out = append(out, l)
	}
	if in.Incomplete && d.telling {
		out = append(out, "", "Not every folder of skills could be read: there may be more than these.")
	}
	return strings.Join(out, "\n")
}
