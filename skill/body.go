package skill

import (
	"bytes"
	"strings"
)

// heading returns the text of the first level-1 heading outside code fences, "" when
// there is none. With fences, headings inside them count too.
func heading(body []byte, fences bool) string {
	w := lineWalker{rest: body}
	var before string // the paragraph line above, for a heading underlined with =
	for w.next() {
		if w.fenced && !fences {
			before = ""
			continue
		}
		text := strings.TrimSpace(string(bytes.TrimRight(w.line, "\r")))
		if !w.indented {
			if title, ok := atx(text); ok {
				return title
			}
			if before != "" && !fences && strings.Trim(text, "=") == "" && text != "" {
				return before
			}
		}
		before = ""
		if text != "" && !w.indented && !strings.HasPrefix(text, "#") {
			before = text
		}
	}
	return ""
}

// atx returns the text of a "# title" line; an empty one is none.
func atx(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "#")
	if !ok || rest == "" || rest[0] != ' ' && rest[0] != '\t' {
		return "", false
	}
	rest = strings.TrimSpace(rest)
	if closed := strings.TrimRight(rest, "#"); closed == "" || strings.HasSuffix(closed, " ") {
		rest = strings.TrimSpace(closed)
	}
	return rest, rest != ""
}

// lineWalker steps over the lines of a body and knows fenced code.
type lineWalker struct {
	rest     []byte
	line     []byte
	number   int // of line, from 1
	fenced   bool
	indented bool // four blanks or a tab: code, or a list's text
	fence    byte
	length   int
}

func (w *lineWalker) next() bool {
	if len(w.rest) == 0 {
		return false
	}
	line, rest, _ := bytes.Cut(w.rest, []byte("\n"))
	w.line, w.rest = line, rest
	w.number++
	trimmed := bytes.TrimLeft(line, " ")
	w.indented = len(line)-len(trimmed) >= 4 || bytes.HasPrefix(trimmed, []byte("\t"))
	inside := w.length > 0
	w.fenced = inside
	if w.indented || len(trimmed) < 3 || trimmed[0] != '`' && trimmed[0] != '~' {
		return true
	}
	run := len(trimmed) - len(bytes.TrimLeft(trimmed, string(trimmed[0])))
	tail := bytes.TrimSpace(trimmed[run:])
	switch {
	case inside && trimmed[0] == w.fence && run >= w.length && len(tail) == 0:
		w.length = 0
	case !inside && run >= 3 && (trimmed[0] == '~' || bytes.IndexByte(tail, '`') < 0):
		w.fence, w.length, w.fenced = trimmed[0], run, true
	}
	return true
}

// paragraph returns the first prose paragraph of body folded to one line, and the
// line where it starts: headings, comments, code, rules and the markers of lists and
// quotes are skipped.
func paragraph(body []byte) (text string, line int) {
	w := lineWalker{rest: body}
	var words []string
	comment := false
	for w.next() {
		raw := strings.TrimSpace(string(w.line))
		if comment {
			comment = !strings.Contains(raw, "-->")
			continue
		}
		switch {
		case w.fenced, raw == "", isRule(raw), strings.HasPrefix(raw, "#") && isHeading(raw), w.indented && len(words) == 0:
			if len(words) > 0 {
				return strings.Join(words, " "), line
			}
			continue
		case strings.HasPrefix(raw, "<!--"):
			comment = !strings.Contains(raw, "-->")
			continue
		case len(words) > 0 && strings.Trim(raw, "=") == "", len(words) > 0 && strings.Trim(raw, "-") == "":
			words = words[:0] // it was a heading
			continue
		}
		item := unmark(raw)
		if len(words) > 0 && item != raw {
			break
		}
		if item == "" {
			continue
		}
		if len(words) == 0 {
			line = w.number
		}
		words = append(words, strings.Fields(item)...)
	}
	return strings.Join(words, " "), line
}

func isHeading(line string) bool {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	return level <= 6 && (level == len(line) || line[level] == ' ' || line[level] == '\t')
}

// isRule reports a thematic break.
func isRule(line string) bool {
	bare := strings.ReplaceAll(strings.ReplaceAll(line, " ", ""), "\t", "")
	return len(bare) >= 3 && (strings.Trim(bare, "-") == "" || strings.Trim(bare, "*") == "" || strings.Trim(bare, "_") == "")
}

// unmark drops the marker of a list item or quote.
func unmark(line string) string {
	for {
		rest := line
		switch {
		case strings.HasPrefix(line, ">"):
			rest = line[1:]
		case len(line) > 1 && strings.IndexByte("-*+", line[0]) >= 0 && (line[1] == ' ' || line[1] == '\t'):
			rest = line[2:]
		default:
			i := 0
			for i < len(line) && i < 9 && line[i] >= '0' && line[i] <= '9' {
				i++
			}
			if i > 0 && i+1 < len(line) && (line[i] == '.' || line[i] == ')') && line[i+1] == ' ' {
				rest = line[i+2:]
			}
		}
		if rest = strings.TrimSpace(rest); rest == line {
			return line
		}
		line = rest
	}
}

// firstLines is the paragraph as dialect MiniMax takes it: only headings and blank
// lines are skipped, lines are trimmed and joined by LF.
func firstLines(body []byte) (text string, line int) {
	var out []string
	for number := 1; len(body) > 0; number++ {
		raw, rest, _ := bytes.Cut(body, []byte("\n"))
		body = rest
		trimmed := strings.TrimSpace(string(raw))
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			if len(out) > 0 {
				break
			}
			continue
		}
		if len(out) == 0 {
			line = number
		}
		out = append(out, trimmed)
	}
	return strings.Join(out, "\n"), line
}
