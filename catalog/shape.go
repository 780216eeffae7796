package catalog

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/deftskills/deft/skill"
)

// shapeID names a shape; part is "tail" where lines carry reasons.
type shapeID struct {
	dialect skill.Dialect
	format  Format
	part    string
}

func (i shapeID) String() string { return string(i.dialect) + "/" + string(i.format) + "/" + i.part }

// shape is one format as one dialect writes it. The text of a block is open, the note,
// start, the entries, end; it never ends with a newline.
type shape struct {
	id               shapeID
	d                *dialect
	located          bool // entries say where the skill's file is
	sourced          bool // entries say where it comes from
	open, start, end string
	none             string // in place of start and end where no entry is shown
	last             string // what the final newline of the last entry is, where it is another
	around           int    // bytes of an entry beside its fields, for the size of a block
	name, text, path func(string) string
	// entry appends an entry with its final newline; desc is escaped, "" = none.
	entry func(b []byte, l *line, desc string) []byte
}

const (
	openTag  = "<available_skills>"
	closeTag = "</available_skills>"
)

// formats lists all of them in the order of the documentation.
func formats() []Format { return []Format{List, XML, JSON, Markdown, Codex, Minara} }

// shapes holds the shape of every format in every dialect.
var shapes = func() map[shapeID]*shape {
	all := map[shapeID]*shape{}
	for of := range dialects {
		for _, f := range formats() {
			s := newShape(of, f)
			all[s.id] = s
		}
	}
	return all
}()

// shapeOf returns the shape of a format; ok is false where there is none.
func shapeOf(of skill.Dialect, f Format) (s *shape, ok bool) {
	s, ok = shapes[idOf(of, f)]
	return s, ok
}

func idOf(of skill.Dialect, f Format) shapeID { return shapeID{of, f, ""} }

func newShape(of skill.Dialect, f Format) *shape {
	d := dialects[of]
	s := &shape{id: idOf(of, f), d: d, around: 24, name: defuse, text: defuse, path: defuse}
	if d.escaped {
		s.name, s.text, s.path = handle, escapeList, escapeList
	}
	switch f {
	case List:
		s.open, s.end, s.entry = openTag+"\n", closeTag, listEntry
	case XML:
		s.xml(of)
	case JSON:
		s.around = 100
		s.located, s.sourced, s.entry = true, true, jsonEntry
		s.open, s.start, s.end, s.none, s.last = "Available Skills:\n\n", "[\n", "]", "[]", "  }\n"
		s.name, s.text, s.path = jsonText(d.escaped), jsonText(d.escaped), jsonText(d.escaped)
	case Markdown:
		s.located, s.sourced, s.open, s.entry = true, true, "# Available Skills\n\n", markdownEntry
	case Codex:
		s.located, s.open, s.entry = true, "## Skills\n", codexEntry
	case Minara:
		s.entry = minaraEntry
		plain := s.name
		s.name = func(name string) string { // a line may not look like a note or a path
			if shown := plain(name); shown != "Note" && !strings.HasPrefix(shown, "/") {
				return shown
			}
			return quoted(name)
		}
	}
	if d.escaped && (f == Markdown || f == Codex) {
		s.name = func(name string) string { return escapeMarks(handle(name)) }
		s.path = func(path string) string { return escapeMarks(escapeList(path)) }
	}
	return s
}

// xml writes elements as the open standard's reference does where its dialect is asked
// for: values on lines of their own, paths as they are, no source.
func (s *shape) xml(of skill.Dialect) {
	s.open, s.end, s.located, s.around = openTag+"\n", closeTag, true, 160
	if of == skill.AgentSkills {
		s.name, s.text, s.path, s.entry = htmlEscapes.Replace, htmlEscapes.Replace, defuse, standardEntry
		return
	}
	s.sourced, s.entry = true, xmlEntry
	s.name, s.text, s.path = xmlEscapes.Replace, xmlEscapes.Replace, xmlEscapes.Replace
}

// line appends an entry; desc is not escaped.
func (s *shape) line(b []byte, l *line, desc string) []byte {
	if desc != "" {
		desc = s.text(desc)
	}
	return s.entry(b, l, desc)
}

// block writes the whole text. Lines stand in the order of display.
func (s *shape) block(lines []*line, out outcome) string {
	if out.lines != nil {
		lines = out.lines
	}
	size, final := len(s.open)+len(out.roots)+len(out.note)+len(s.start)+len(s.end)+8, -1
	for i, l := range lines {
		if out.levelOf(i) != levelOmitted {
			size += len(l.name) + len(l.loc) + len(l.source) + len(l.reasons) + out.end(i, l) + s.around
			final = i
		}
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(s.open)
	b.WriteString(out.roots)
	if out.note != "" {
		b.WriteString(out.note)
		b.WriteByte('\n')
	}
	if final < 0 && s.none != "" {
		b.WriteString(s.none)
		return b.String()
	}
	b.WriteString(s.start)
	var entry []byte
	for i, l := range lines[:final+1] {
		if out.levelOf(i) == levelOmitted {
			continue
		}
		entry = s.line(entry[:0], l, out.text(i, l))
		if i == final && s.last != "" {
			entry = append(bytes.TrimSuffix(entry, []byte(",\n")), '\n')
		}
		b.Write(entry)
	}
	b.WriteString(s.end)
	return strings.TrimRight(b.String(), "\n")
}

func listEntry(b []byte, l *line, desc string) []byte {
	return minaraEntry(append(b, "- "...), l, desc)
}

func minaraEntry(b []byte, l *line, desc string) []byte {
	b = append(b, l.name...)
	if desc != "" {
		b = append(append(b, ": "...), desc...)
	}
	return append(append(b, l.reasons...), '\n')
}

func codexEntry(b []byte, l *line, desc string) []byte {
	b = listEntry(b, l, desc)
	return append(append(append(b[:len(b)-1], " (file: "...), l.loc...), ")\n"...)
}

func markdownEntry(b []byte, l *line, desc string) []byte {
	b = append(append(append(b, "- **"...), l.name...), "** ["...)
	b = append(append(append(append(b, l.source...), "] ("...), l.loc...), ')')
	if desc != "" {
		b = append(append(b, ": "...), desc...)
	}
	return append(append(b, l.reasons...), '\n')
}

func jsonEntry(b []byte, l *line, desc string) []byte {
	if desc == "" {
		desc = `""`
	}
	b = append(append(b, "  {\n    \"name\": "...), l.name...)
	b = append(append(b, ",\n    \"description\": "...), desc...)
	b = append(append(b, ",\n    \"location\": "...), l.loc...)
	b = append(append(b, ",\n    \"source\": \""...), l.source...)
	return append(b, "\"\n  },\n"...)
}

func xmlEntry(b []byte, l *line, desc string) []byte {
	b = append(append(append(b, "  <skill>\n    <name>"...), l.name...), "</name>\n"...)
	if desc != "" {
		b = append(append(append(b, "    <description>"...), desc...), "</description>\n"...)
	}
	b = append(append(append(b, "    <location>"...), l.loc...), "</location>\n    <source>"...)
	return append(append(b, l.source...), "</source>\n  </skill>\n"...)
}

func standardEntry(b []byte, l *line, desc string) []byte {
	b = append(append(append(b, "<skill>\n<name>\n"...), l.name...), "\n</name>\n"...)
	if desc != "" {
		b = append(append(append(b, "<description>\n"...), desc...), "\n</description>\n"...)
	}
	b = append(append(append(b, "<location>\n"...), l.loc...), "\n</location>\n"...)
	return append(b, "</skill>\n"...)
}

// jsonText writes a string as JSON; wholly escaped ones hold no angle bracket at all.
func jsonText(escaped bool) func(string) string {
	return func(s string) string {
		if !escaped {
			s = defuse(s)
		}
		return encode(s, escaped)
	}
}

func encode(s string, escaped bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escaped)
	if err := enc.Encode(s); err != nil {
		return `""` // cannot happen: a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
