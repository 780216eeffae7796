package toolset

import (
	"embed"
	"strconv"
	"strings"

	"github.com/deftskills/deft/internal/safetext"
)

//go:embed text/*.md
var texts embed.FS

// describe returns the description of a tool with the exposed names put in.
func (o Options) describe(base string) string {
	return strings.NewReplacer(
		"{skill}", o.name(NameSkill), "{skill_read}", o.name(NameSkillRead),
		"{skill_search}", o.name(NameSkillSearch), "{activate_skills}", o.name(NameActivate),
		"{deactivate_skill}", o.name(NameDeactivate), "{loader}", o.loader(),
	).Replace(description(base))
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
