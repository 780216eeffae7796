package catalog

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deftskills/deft/skill"
)

// Shown is one entry of a block, as it was before it was escaped.
type Shown struct {
	Name        string
	Description string // as far as it was shown; a cut one ends with …
	Location    string // XML only
	Untrusted   bool   // list only
	From        string // list only: the kind of source of a name@source entry
}

// Parse reads a stable block back: the exact cleaned fields that Render was given,
// in order, whatever they held. The empty text has no entries. The error names the
// first line that no render writes.
func Parse(d skill.Dialect, f Format, text string) ([]Shown, error) {
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 2 || lines[0] != openTag || lines[len(lines)-1] != closeTag {
		return nil, fmt.Errorf("catalog block: opening or closing tag is missing")
	}
	lines = lines[1 : len(lines)-1]
	first := 2
	if len(lines) > 0 && strings.HasPrefix(lines[0], notePrefix) {
		lines, first = lines[1:], 3
	}
	switch f {
	case List:
		return parseList(lines, first)
	case XML:
		return parseXML(d, lines, first)
	}
	return nil, &OptionError{Option: "format", Value: string(f), Accepted: names(formats())}
}

func parseList(lines []string, first int) ([]Shown, error) {
	out := make([]Shown, 0, len(lines))
	for i, text := range lines {
		rest, ok := strings.CutPrefix(text, "- ")
		var s Shown
		if ok {
			s.Name, rest, ok = cutName(rest)
		}
		if !ok {
			return nil, fmt.Errorf("catalog block line %d: not an entry", first+i)
		}
		if after, found := strings.CutPrefix(rest, " (untrusted)"); found {
			s.Untrusted, rest = true, after
		}
		if after, found := strings.CutPrefix(rest, " (from "); found {
			s.From, rest, _ = strings.Cut(after, ")")
		}
		s.Description = unescapeList(strings.TrimPrefix(rest, ": "))
		out = append(out, s)
	}
	return out, nil
}

// cutName takes the name off an entry. What remains starts with the colon or a
// marker, or is empty.
func cutName(text string) (name, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexByte(text, ' ')
		if end < 0 {
			return text, "", text != ""
		}
		if text[end-1:end] == ":" {
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

func parseXML(d skill.Dialect, lines []string, first int) ([]Shown, error) {
	var out []Shown
	for i := 0; i < len(lines); i++ {
		switch tag := lines[i]; tag {
		case "<skill>":
			out = append(out, Shown{})
		case "</skill>":
		case "<name>", "<description>", "<location>":
			if len(out) == 0 || i+2 >= len(lines) || lines[i+2] != "</"+tag[1:] {
				return nil, fmt.Errorf("catalog block line %d: element is not closed", first+i)
			}
			out[len(out)-1].set(tag, lines[i+1], d)
			i += 2
		default:
			return nil, fmt.Errorf("catalog block line %d: not an element", first+i)
		}
	}
	return out, nil
}

func (s *Shown) set(tag, value string, d skill.Dialect) {
	switch tag {
	case "<name>":
		s.Name = xmlReferences.Replace(value)
	case "<description>":
		s.Description = xmlReferences.Replace(value)
	default:
		s.Location = value
		if d != skill.AgentSkills {
			s.Location = xmlReferences.Replace(value)
		}
	}
}

func names[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func formats() []Format { return []Format{List, XML} }
