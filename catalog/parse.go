package catalog

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/deftskills/deft/skill"
)

// Shown is one entry of a block, as it was before it was escaped.
type Shown struct {
	Name        string
	Description string // as far as it was shown; a cut one ends with …
	Location    string // formats that show places only
	Source      string // xml, json and markdown only
	Untrusted   bool   // list and minara only
	From        string // list and minara only: the kind of source of a name@source entry
	Hint        string // list of dialect blade only: what follows the name
}

// Parse reads a stable block back: the exact cleaned fields that Render was given, in
// order, whatever they held. The empty text has no entries. The error names the first
// line that no render writes. Dialects that show fields as they are leave names with a
// colon and a blank in them, and block tags in any field, open to doubt.
func Parse(d skill.Dialect, f Format, text string) ([]Shown, error) {
	if d == "" {
		d = skill.Deft
	}
	s, ok := shapeOf(d, f)
	if !ok {
		return nil, &OptionError{Option: "format", Value: string(f), Accepted: names(formats())}
	}
	if text == "" {
		return nil, nil
	}
	p := parser{s: s, dialect: d}
	body, ok := strings.CutPrefix(text+"\n", s.open)
	if ok && s.end != "" {
		body, ok = strings.CutSuffix(body, s.end+"\n")
	}
	if !ok {
		if f == JSON && text == s.open+s.none {
			return nil, nil
		}
		return nil, fmt.Errorf("catalog block: opening or closing line is missing")
	}
	if f == JSON {
		return p.json(body + s.end)
	}
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	p.line = strings.Count(s.open, "\n") + 1
	if note.MatchString(lines[0]) {
		lines, p.line = lines[1:], p.line+1
	}
	if len(lines) == 1 && lines[0] == "" {
		return nil, nil
	}
	if f == XML {
		return p.elements(lines)
	}
	return p.list(f, lines)
}

// note is any line that tells what is not shown.
var note = regexp.MustCompile(`^(Note: \d+ of \d+ skills? (are listed|descriptions are shortened)\.( .*)?|Skill descriptions were shortened to fit the catalog budget\.|Some skills were omitted because not every skill name .*)$`)

type parser struct {
	s       *shape
	dialect skill.Dialect
	line    int
	roots   map[string]string
}

func (p *parser) fault(what string) error {
	return fmt.Errorf("catalog block line %d: %s", p.line, what)
}

func (p *parser) list(f Format, lines []string) ([]Shown, error) {
	read := map[Format]func(string) (Shown, bool){List: p.item, Minara: p.bare, Codex: p.filed, Markdown: p.marked}[f]
	out := make([]Shown, 0, len(lines))
	for _, text := range lines {
		if name, path, ok := strings.Cut(text, "="); ok && f == Codex && strings.HasPrefix(name, "$R") {
			if p.roots == nil {
				p.roots = map[string]string{}
			}
			p.roots[name] = path
			continue
		}
		s, ok := read(text)
		if !ok {
			return nil, p.fault("not an entry")
		}
		out = append(out, s)
		p.line++
	}
	return out, nil
}

func (p *parser) item(text string) (Shown, bool) {
	rest, ok := strings.CutPrefix(text, "- ")
	if !ok {
		return Shown{}, false
	}
	return p.bare(rest)
}

// bare reads a name, what is said about it, and a description.
func (p *parser) bare(text string) (s Shown, ok bool) {
	name, rest, ok := p.name(text)
	if !ok {
		return s, false
	}
	s.Name = name
	if !p.s.d.escaped {
		s.Hint, s.Description, _ = strings.Cut(rest, ": ")
		s.Hint = strings.TrimPrefix(s.Hint, " ")
		return s, true
	}
	if after, found := strings.CutPrefix(rest, " (untrusted)"); found {
		s.Untrusted, rest = true, after
	}
	if after, found := strings.CutPrefix(rest, " (from "); found {
		s.From, rest, _ = strings.Cut(after, ")")
	}
	s.Description = unescapeList(strings.TrimPrefix(rest, ": "))
	return s, true
}

// filed reads an entry that ends with the place of its file.
func (p *parser) filed(text string) (s Shown, ok bool) {
	text, ok = strings.CutSuffix(text, ")")
	at := strings.LastIndex(text, " (file: ")
	if !ok || at < 0 {
		return s, false
	}
	loc := text[at+len(" (file: "):]
	if text, ok = strings.CutPrefix(text[:at], "- "); !ok {
		return s, false
	}
	if p.s.d.escaped {
		loc = unescapeList(markReferences.Replace(loc))
		if text, ok = unmarkedName(text); !ok {
			return s, false
		}
	}
	if s, ok = p.bare(text); !ok {
		return s, false
	}
	if name, rest, found := strings.Cut(loc, "/"); found && p.roots[name] != "" {
		loc = p.roots[name] + "/" + rest
	}
	s.Location = loc
	return s, true
}

// unmarkedName takes the backslashes out of the name at the start of an entry: it
// reaches up to the first blank, or to the end of its JSON string.
func unmarkedName(text string) (string, bool) {
	plain := text
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] == '\\' {
			i++
			continue
		}
		if i == len(text) || text[i] == ' ' {
			plain = markReferences.Replace(text[:i]) + text[i:]
			if !strings.HasPrefix(plain, `"`) || json.Valid([]byte(strings.TrimSuffix(markReferences.Replace(text[:i]), ":"))) {
				return plain, true
			}
		}
	}
	return plain, true
}

// marked reads an entry of Markdown.
func (p *parser) marked(text string) (s Shown, ok bool) {
	text, ok = strings.CutPrefix(text, "- **")
	name, rest, found := cutOpen(text, "** [")
	source, rest, bracketed := strings.Cut(rest, "] (")
	loc, rest, closed := cutOpen(rest, ")")
	if !ok || !found || !bracketed || !closed {
		return s, false
	}
	s.Source, s.Location, s.Description = source, loc, strings.TrimPrefix(rest, ": ")
	if !p.s.d.escaped {
		s.Name = name
		return s, true
	}
	s.Name, _, ok = p.name(markReferences.Replace(name))
	s.Location = unescapeList(markReferences.Replace(loc))
	s.Description = unescapeList(s.Description)
	return s, ok
}

// cutOpen cuts at the first separator that no backslash stands before.
func cutOpen(text, sep string) (before, after string, ok bool) {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
			continue
		}
		if strings.HasPrefix(text[i:], sep) {
			return text[:i], text[i+len(sep):], true
		}
	}
	return text, "", false
}

// name takes the name off an entry. What remains starts with the colon or a marker, or
// is empty.
func (p *parser) name(text string) (name, rest string, ok bool) {
	if !p.s.d.escaped {
		sep := ": "
		if p.s.d.hinted {
			sep = " "
		}
		end := strings.Index(text, sep)
		if end < 0 {
			return text, "", text != ""
		}
		if p.s.d.hinted && text[end-1:end] == ":" {
			end--
		}
		return text[:end], text[end:], end > 0
	}
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexByte(text, ' ')
		if end < 0 {
			return text, "", text != ""
		}
		if end > 0 && text[end-1] == ':' {
			end--
		}
		return text[:end], text[end:], end > 0
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			err := json.Unmarshal([]byte(unescapeList(text[:i+1])), &name)
			return name, text[i+1:], err == nil
		}
	}
	return "", "", false
}

func (p *parser) json(body string) ([]Shown, error) {
	if first, rest, ok := strings.Cut(body, "\n"); ok && note.MatchString(first) {
		body = rest
	}
	var entries []struct{ Name, Description, Location, Source string }
	if err := json.Unmarshal([]byte(body), &entries); err != nil {
		return nil, fmt.Errorf("catalog block: not an array of entries: %w", err)
	}
	out := make([]Shown, 0, len(entries))
	for _, e := range entries {
		out = append(out, Shown{Name: e.Name, Description: e.Description, Location: e.Location, Source: e.Source})
	}
	return out, nil
}

// elements reads XML with every tag, or every element, on a line of its own.
func (p *parser) elements(lines []string) ([]Shown, error) {
	var out []Shown
	for i := 0; i < len(lines); i++ {
		at := p.line + i
		text := lines[i]
		if p.dialect != skill.AgentSkills {
			text = strings.TrimLeft(text, " ")
		}
		switch text {
		case "<skill>":
			out = append(out, Shown{})
			continue
		case "</skill>":
			continue
		}
		tag, value, ok := strings.Cut(text, ">")
		closing := "</" + strings.TrimPrefix(tag, "<") + ">"
		if p.dialect == skill.AgentSkills {
			if ok = ok && i+2 < len(lines) && lines[i+2] == closing; ok {
				value = lines[i+1]
				i += 2
			}
		} else if ok {
			value, ok = strings.CutSuffix(value, closing)
		}
		if !ok || len(out) == 0 || !out[len(out)-1].set(tag, value, p.dialect) {
			p.line = at
			return nil, p.fault("not an element")
		}
	}
	return out, nil
}

func (s *Shown) set(tag, value string, d skill.Dialect) bool {
	switch tag {
	case "<name":
		s.Name = xmlReferences.Replace(value)
	case "<description":
		s.Description = xmlReferences.Replace(value)
	case "<source":
		s.Source = value
	case "<location":
		s.Location = value
		if d != skill.AgentSkills {
			s.Location = xmlReferences.Replace(value)
		}
	default:
		return false
	}
	return true
}

func names[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
