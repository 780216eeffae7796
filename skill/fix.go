package skill

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fix applies to src the repairs that diags propose and that need no judgement:
// quoting a value, correcting the spelling of a key or of a yes or no, adding or
// correcting the name. All other bytes stay as they are. diags are those of src
// itself, of Parse or Validate; what does not match src is left alone. Fix returns
// the diagnostics whose repair was applied; repairing the result again changes
// nothing. Renaming the file (file_name) or the directory is left to the caller.
func Fix(src []byte, diags []Diagnostic) (out []byte, applied []Diagnostic) {
	f := newFixer(src)
	if f == nil {
		return src, nil
	}
	var edits []edit
	for _, d := range diags {
		repair := repairOf(d.Code)
		if repair == nil || slices.Contains(sidecarNames(), path.Base(d.File)) || strings.HasSuffix(d.File, SidecarOpenAI) {
			continue
		}
		e, ok := repair(f, d)
		if !ok || string(src[e.start:e.end]) == e.text {
			continue
		}
		same := func(o edit) bool { return o.start == e.start && o.end == e.end && o.text == e.text }
		overlaps := func(o edit) bool { return e.start < o.end && o.start < e.end }
		switch {
		case slices.ContainsFunc(edits, same):
		case slices.ContainsFunc(edits, overlaps):
			continue
		default:
			edits = append(edits, e)
		}
		applied = append(applied, d)
	}
	// From the end, so that offsets stay right; an insertion comes after the change of
	// what stands there.
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(b.start-a.start, b.end-a.end) })
	out = src
	for _, e := range edits {
		out = slices.Concat(out[:e.start], []byte(e.text), out[e.end:])
	}
	if len(edits) > 0 && f.valid && !Parse(out, ParseOptions{}).Valid {
		return src, nil // YAML has corners where a line more is a line too much
	}
	return out, applied
}

// edit replaces the bytes [start, end) by text.
type edit struct {
	start, end int
	text       string
}

// fixer knows where lines of the header begin.
type fixer struct {
	src   []byte
	root  *Node
	first int   // the file's line of the header's first byte
	lines []int // offsets in src of the header's lines, and of the closing fence
	valid bool
}

func newFixer(src []byte) *fixer {
	s := Parse(src, ParseOptions{})
	p := Split(src)
	if !p.HasHeader || s.Raw() == nil {
		return nil
	}
	f := &fixer{src: src, root: s.Raw(), valid: s.Valid, first: p.HeaderLine, lines: []int{int(p.Header.Start)}}
	for i := int(p.Header.Start); i < int(p.Header.End); i++ {
		if src[i] == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}

// line returns the bytes of a line of the file without its end.
func (f *fixer) line(n int) (start int, text string, ok bool) {
	i := n - f.first
	if i < 0 || i+1 >= len(f.lines) {
		return 0, "", false
	}
	text = string(f.src[f.lines[i]:f.lines[i+1]])
	return f.lines[i], strings.TrimRight(text, "\r\n"), true
}

// at returns the line that a diagnostic is on, and the offset in it of its column.
func (f *fixer) at(d Diagnostic) (start int, text string, col int, ok bool) {
	start, text, ok = f.line(d.Line)
	for n := 1; ok && n < d.Column; n++ {
		_, size := utf8.DecodeRuneInString(text[col:])
		if size == 0 {
			return 0, "", 0, false
		}
		col += size
	}
	return start, text, col, ok
}

// pair returns the member of the header, at any depth, whose value has a line.
func pairOn(m *Node, line int) (key, value *Node) {
	for i := range m.Len() {
		if m.Kind != MappingNode {
			if k, v := pairOn(m.Content[i], line); k != nil {
				return k, v
			}
			continue
		}
		k, v := m.Pair(i)
		if k.Line == line && v.Kind == ScalarNode {
			return k, v
		}
		if deeper, dv := pairOn(v, line); deeper != nil {
			return deeper, dv
		}
		if k.Line == line {
			return k, v
		}
	}
	return nil, nil
}

// repairOf returns the repair of a code; nil when only a person can choose one.
func repairOf(code string) func(*fixer, Diagnostic) (edit, bool) {
	switch code {
	case "recovered_colon", "recovered_brackets", "recovered_indicator", "recovered_quotes":
		return fixQuoteRest
	case "comment_in_value":
		return fixQuoteComment
	case "hint_brackets":
		return fixQuoteHint
	case "key_typo":
		return fixKey
	case "bool_invalid":
		return fixBool
	case "name_missing":
		return fixAddName
	case "name_length", "name_case", "name_chars", "name_hyphens":
		return fixRename
	}
	return nil
}

// fixQuoteRest quotes what stands after the colon to the end of the line, as the
// text that the lenient reader took it for.
func fixQuoteRest(f *fixer, d Diagnostic) (edit, bool) {
	start, text, col, ok := f.at(d)
	if !ok || col == 0 {
		return edit{}, false
	}
	_, value := pairOn(f.root, d.Line)
	raw := strings.TrimRight(text[col:], " \t")
	if value == nil || value.Kind != ScalarNode || value.Source != raw {
		return edit{}, false
	}
	return edit{start + col, start + col + len(raw), quoted(value.Value)}, true
}

// fixQuoteComment quotes a plain value with the comment that cut it.
func fixQuoteComment(f *fixer, d Diagnostic) (edit, bool) {
	start, text, col, ok := f.at(d)
	if !ok {
		return edit{}, false
	}
	_, value := pairOn(f.root, d.Line)
	if value == nil || value.Kind != ScalarNode || value.Style != PlainStyle || value.Line != d.Line || value.Source == "" {
		return edit{}, false
	}
	from := strings.Index(text, value.Source)
	if from < 0 || from >= col {
		return edit{}, false
	}
	raw := strings.TrimRight(text[from:], " \t")
	return edit{start + from, start + from + len(raw), quoted(raw)}, true
}

func fixQuoteHint(f *fixer, d Diagnostic) (edit, bool) {
	start, text, col, ok := f.at(d)
	if !ok {
		return edit{}, false
	}
	_, value := pairOn(f.root, d.Line)
	if value == nil || value.Style != FlowStyle || value.Line != value.EndLine || !strings.HasPrefix(text[col:], value.Source) || value.Source == "" {
		return edit{}, false
	}
	return edit{start + col, start + col + len(value.Source), quoted(value.Source)}, true
}

// fixKey corrects a key unless the header has the right one too.
func fixKey(f *fixer, d Diagnostic) (edit, bool) {
	want, found := strings.CutPrefix(d.Fix, "did you mean ")
	start, text, col, ok := f.at(d)
	if !found || !ok || !bareKey(want) {
		return edit{}, false
	}
	end := col
	for end < len(text) && (text[end] == '-' || text[end] == '_' || isAlnum(text[end])) {
		end++
	}
	siblings := siblingsOf(f.root, d.Line, d.Column)
	if end == col || siblings == nil || !strings.HasPrefix(strings.TrimLeft(text[end:], " "), ":") {
		return edit{}, false
	}
	if best, _ := find(siblings, want); best.key != nil {
		return edit{}, false
	}
	return edit{start + col, start + end, want}, true
}

// siblingsOf returns the mapping that has a key at line and column.
func siblingsOf(n *Node, line, column int) *Node {
	if n.Kind == ScalarNode {
		return nil
	}
	for i, c := range n.Content {
		if n.Kind == MappingNode && i%2 == 0 {
			if c.Line == line && c.Column == column {
				return n
			}
			continue
		}
		if m := siblingsOf(c, line, column); m != nil {
			return m
		}
	}
	return nil
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func bareKey(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r > unicode7 || !isAlnum(byte(r)) && r != '-' && r != '_'
	}) < 0
}

const unicode7 = 0x7f // the last character that is one byte

func fixBool(f *fixer, d Diagnostic) (edit, bool) {
	want, _ := strings.CutPrefix(d.Fix, "write ")
	start, text, col, ok := f.at(d)
	if !ok || want != "true" && want != "false" {
		return edit{}, false
	}
	_, value := pairOn(f.root, d.Line)
	if value == nil || value.Kind != ScalarNode || value.Source == "" || value.Line != value.EndLine || !strings.HasPrefix(text[col:], value.Source) {
		return edit{}, false
	}
	return edit{start + col, start + col + len(value.Source), want}, true
}

// fixAddName writes the directory's name as the first line of the header.
func fixAddName(f *fixer, d Diagnostic) (edit, bool) {
	name, found := strings.CutPrefix(d.Fix, "add name: ")
	if best, _ := find(f.root, "name"); !found || best.key != nil || strings.TrimSpace(name) == "" || UnsafeName(name) {
		return edit{}, false
	}
	indent := 0
	if f.root.Len() > 0 {
		if f.root.Style == FlowStyle {
			return edit{}, false
		}
		indent = f.root.Content[0].Column - 1
	}
	end := "\n"
	if i := bytes.IndexByte(f.src, '\n'); i > 0 && f.src[i-1] == '\r' {
		end = "\r\n"
	}
	return edit{f.lines[0], f.lines[0], strings.Repeat(" ", indent) + "name: " + scalarText(name) + end}, true
}

func fixRename(f *fixer, d Diagnostic) (edit, bool) {
	handle, found := strings.CutPrefix(d.Fix, "rename to ")
	best, _ := find(f.root, "name")
	if !found || handle == "" || best.key == nil || best.value.Line != d.Line {
		return edit{}, false
	}
	start, text, col, ok := f.at(d)
	v := best.value
	if !ok || v.Kind != ScalarNode || v.Source == "" || v.Line != v.EndLine || !strings.HasPrefix(text[col:], v.Source) {
		return edit{}, false
	}
	return edit{start + col, start + col + len(v.Source), scalarText(handle)}, true
}
