package toolset

import (
	"embed"
	"strconv"
	"strings"

	"github.com/deftskills/deft/internal/safetext"
)

//go:embed text/*.md
var texts embed.FS

// describe returns a description with the exposed names put in. A line that names a
// tool which the options do not let exist is left out.
func (o Options) describe(text string) string {
	names := map[string]string{
		"{skill}": o.Name(NameSkill), "{skill_read}": o.Name(NameSkillRead), "{skill_search}": o.SearchName(),
		"{activate_skills}": o.Name(NameActivate), "{deactivate_skill}": o.Name(NameDeactivate),
		"{tool_invoke}": o.Name(NameToolInvoke), "{tool_search}": o.Name(NameToolSearch), "{loader}": o.LoaderName(),
	}
	var out []string
lines:
	for l := range strings.SplitSeq(description(text), "\n") {
		for placeholder, name := range names {
			if name == "" && strings.Contains(l, placeholder) {
				continue lines
			}
			l = strings.ReplaceAll(l, placeholder, name)
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

// description returns the embedded text of a tool. That each tool has one is tested.
func description(base string) string {
	b, err := texts.ReadFile("text/" + base + ".md")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// show makes a foreign text one clean line of bounded length.
func show(text string) string {
	clean, _ := safetext.Field(text)
	return safetext.Clip(clean, 200)
}

// quote is show in quotes that nothing inside can close.
func quote(text string) string { return strconv.Quote(show(text)) }
