package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// page is one generated page, in Markdown.
type page struct {
	name   string
	text   []byte
	skills int
}

// skillPages are the catalog pages: of the skills in the program, and of those in the
// workspace. They depend on nothing else, not on what is switched or trusted.
func skillPages(snap *registry.Snapshot, workspace string) []page {
	var builtin, external []*registry.Record
	for _, rec := range snap.All {
		switch {
		case !rec.Skill.Valid:
		case rec.Source.Kind == source.Builtin:
			builtin = append(builtin, rec)
		case below(workspace, rec.Dir):
			external = append(external, rec)
		}
	}
	return []page{
		newPage("builtin.md", "Built-in skills", "These come with the program.", builtin, ""),
		newPage("external.md", "External skills", "These lie in this project.", external, workspace),
	}
}

// below returns whether dir lies inside root.
func below(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return dir != "" && err == nil && filepath.IsLocal(rel)
}

func newPage(name, title, about string, list []*registry.Record, workspace string) page {
	place := func(r *registry.Record) string {
		if workspace == "" {
			return ""
		}
		rel, _ := filepath.Rel(workspace, r.Dir) // below has seen it
		return filepath.ToSlash(rel)
	}
	slices.SortFunc(list, func(a, b *registry.Record) int {
		return cmp.Or(cmp.Compare(a.Skill.ID(), b.Skill.ID()), cmp.Compare(place(a), place(b)))
	})
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!-- Made by \"deft docs skills\" from the SKILL.md files. Do not edit. -->\n\n# %s\n\n%s\n", title, about)
	if len(list) == 0 {
		b.WriteString("\nThere are none.\n")
	} else {
		b.WriteString("\n| skill | what it does |\n|---|---|\n")
	}
	for _, r := range list {
		fmt.Fprintf(&b, "| %s | %s |\n", plainText(r.Skill.Name), plainText(r.Skill.Description))
	}
	for _, r := range list {
		writeSkill(&b, r.Skill, place(r))
	}
	return page{name, b.Bytes(), len(list)}
}

// writeSkill writes the part of one skill: only what its header says.
func writeSkill(b *bytes.Buffer, s *skill.Skill, place string) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", plainText(s.Name), plainText(s.Description))
	m := &s.Meta
	routing, needs := m.Routing, m.Conditions
	if routing == nil {
		routing = &skill.Routing{}
	}
	if needs == nil {
		needs = &skill.Conditions{}
	}
	id := ""
	if string(s.ID()) != s.Name {
		id = string(s.ID())
	}
	manual := ""
	if m.DisableModelInvocation {
		manual = "by a person alone"
	}
	first := true
	for _, row := range []struct {
		what   string
		values []string
	}{
		{"Id", []string{id}}, {"Starts", []string{manual}}, {"When", []string{m.WhenToUse}},
		{"Keywords", routing.Keywords}, {"Stages", routing.Stages}, {"Signals", routing.SignalSources}, {"Assets", routing.AssetClasses},
		{"Tools", m.ToolNames}, {"Needs variables", needs.RequiresEnv}, {"Needs tools", slices.Concat(needs.RequiresTools, needs.RequiresToolsets)},
		{"Needs programs", slices.Concat(needs.RequiresBins, needs.AnyBins)}, {"Needs skills", needs.RequiresSkills}, {"Needs servers", needs.RequiresMCP},
		{"Platforms", needs.Platforms}, {"Licence", []string{m.License}}, {"Folder", []string{place}},
	} {
		var shown []string
		for _, v := range row.values {
			if v = plainText(v); v != "" {
				shown = append(shown, v)
			}
		}
		if len(shown) == 0 {
			continue
		}
		if first {
			b.WriteString("\n")
			first = false
		}
		fmt.Fprintf(b, "- %s: %s\n", row.what, strings.Join(shown, ", "))
	}
}

// plainText is a text of a skill as one line of Markdown that is nothing but text.
func plainText(s string) string {
	s = strings.Join(strings.Fields(safetext.Line(s)), " ")
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '<':
			b.WriteString("&lt;")
			continue
		case c == '&':
			b.WriteString("&amp;")
			continue
		case strings.ContainsRune("\\`*_[]|~#!", c):
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}
