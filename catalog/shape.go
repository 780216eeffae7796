package catalog

import "github.com/deftskills/deft/skill"

type shapeID string

// shape is one format as one dialect writes it.
type shape struct {
	id       shapeID
	located  bool // entries say where the skill's file is
	name     func(string) string
	location func(string) string
	// entry appends an entry with its final newline; desc is not escaped, "" = none.
	entry func(b []byte, l *line, desc string) []byte
}

const (
	openTag  = "<available_skills>"
	closeTag = "</available_skills>"
)

// shapeOf returns the shape of a format; ok is false where there is none.
func shapeOf(d skill.Dialect, f Format) (s shape, ok bool) {
	switch f {
	case List:
		return shape{id: "list", name: handle, entry: listEntry}, true
	case XML:
		s = shape{id: "xml", located: true, name: xmlEscapes.Replace, location: xmlEscapes.Replace, entry: xmlEntry}
		if d == skill.AgentSkills { // its reference shows paths verbatim
			s.id, s.location = "xml-agentskills", defuse
		}
		return s, true
	}
	return shape{}, false
}

func listEntry(b []byte, l *line, desc string) []byte {
	b = append(append(b, "- "...), l.name...)
	if desc != "" {
		b = append(append(b, ": "...), escapeList(desc)...)
	}
	return append(append(b, l.reasons...), '\n')
}

func xmlEntry(b []byte, l *line, desc string) []byte {
	b = append(append(append(b, "<skill>\n<name>\n"...), l.name...), "\n</name>\n"...)
	if desc != "" {
		b = append(append(append(b, "<description>\n"...), xmlEscapes.Replace(desc)...), "\n</description>\n"...)
	}
	b = append(append(append(b, "<location>\n"...), l.loc...), "\n</location>\n"...)
	return append(b, "</skill>\n"...)
}
