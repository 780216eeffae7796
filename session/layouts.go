package session

import (
	"fmt"
	"path"
	"strings"

	"github.com/deftskills/deft/internal/safetext"
)

// wholeFile is dialect minimax's text: the file as it stands, header included, below
// the name that was asked for and the place.
func wholeFile(c *candidate) string {
	head := "# Skill: " + field(c.asked) + "\n"
	if at := c.act.Location; strings.HasPrefix(at, "files://") {
		head += "Location: " + at + "\n"
	}
	return head + "\n" + c.body.File
}

// bareBody is dialect mastra's text: the body, then the files of three folders.
func bareBody(c *candidate) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(c.content))
	for _, dir := range [...]string{"references", "scripts", "assets"} {
		list(&b, "\n\n## "+strings.ToUpper(dir[:1])+dir[1:], "\n- %s", c.below(dir, false))
	}
	return b.String()
}

// sections is dialect blade's text: what the skill is and where, what lies beside it,
// its body between two rules, and a reminder.
func sections(c *candidate) string {
	a := &c.act
	var b strings.Builder
	fmt.Fprintf(&b, "# Skill: %s\n\nYou are now working in the mode of the skill %q. Follow its instructions.", field(a.Name), field(a.Name))
	if a.Dir != "" {
		fmt.Fprintf(&b, "\n\n**Skill Base Path:** %s", clean(a.Dir))
	}
	if strings.TrimSpace(a.Args) != "" {
		fmt.Fprintf(&b, "\n\n**Invocation Arguments:** %s", a.Args)
	}
	for _, dir := range [...]struct{ name, title string }{
		{"scripts", "Available Scripts"}, {"references", "References"}, {"templates", "Templates"},
	} {
		var lines []string
		for _, p := range c.below(dir.name, true) {
			lines = append(lines, path.Base(p)+": "+p)
		}
		list(&b, "\n\n## "+dir.title+"\n", "\n- %s", lines)
	}
	fmt.Fprintf(&b, "\n\n---\n\n%s\n\n---\n\nRemember: the instructions of the skill %q apply until its task is done.", strings.TrimSpace(c.content), field(a.Name))
	return b.String()
}

// elements is the open standard's suggestion: the body and the files in two elements.
// A body that writes our closing tag does not close it.
func elements(c *candidate) string {
	var b strings.Builder
	body := strings.ReplaceAll(strings.TrimSpace(c.content), "</skill_content", "&lt;/skill_content")
	fmt.Fprintf(&b, "<skill_content name=\"%s\">\n%s", attribute.Replace(field(c.act.Address)), body)
	if c.appended != "" {
		b.WriteString("\n\n" + c.appended)
	}
	if c.act.Dir != "" {
		fmt.Fprintf(&b, "\n\nSkill directory: %s\nRelative paths in this skill are relative to the skill directory.", clean(c.act.Dir))
	}
	var files []string
	for _, f := range c.body.Files[:min(maxFiles, len(c.body.Files))] {
		files = append(files, attribute.Replace(clean(f.Path)))
	}
	list(&b, "\n\n<skill_resources>", "\n  <file>%s</file>", files)
	if n := len(c.body.Files) - len(files); n > 0 {
		fmt.Fprintf(&b, "\n  … %d more", n)
	}
	if len(files) > 0 {
		b.WriteString("\n</skill_resources>")
	}
	b.WriteString("\n</skill_content>")
	return b.String()
}

// inserted is dialect mastra's text of a skill that was loaded on demand: it stands in
// the prompt, below its name.
func inserted(c *candidate) string {
	return fmt.Sprintf("[Skill: %s]\n\n%s", field(c.act.Name), strings.TrimSpace(c.content))
}

// below returns the files of one folder, bytewise; direct leaves its folders out.
func (c *candidate) below(dir string, direct bool) []string {
	var out []string
	for _, f := range c.body.Files {
		rest, ok := strings.CutPrefix(f.Path, dir+"/")
		if ok && !(direct && strings.Contains(rest, "/")) {
			out = append(out, clean(f.Path))
		}
	}
	return out
}

// list writes a head and one line an entry, nothing where there is none.
func list(b *strings.Builder, head, line string, entries []string) {
	if len(entries) == 0 {
		return
	}
	b.WriteString(head)
	for _, e := range entries {
		fmt.Fprintf(b, line, e)
	}
}

// clean makes a path one line without shortening it: it has to work as it stands.
func clean(text string) string {
	out, _ := safetext.Field(text)
	return out
}
