package skill

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parseYAML reads text with the YAML library and refuses what a header may not hold.
func parseYAML(text string, h headerText) (root *Node, why *fault) {
	defer func() {
		// The library reads strangers' text; a defect of it costs one skill, not the scan.
		if p := recover(); p != nil {
			root, why = nil, &fault{code: "yaml_syntax", line: h.first, column: 1, message: "header cannot be read"}
		}
	}()
	masked, mask := maskBreaks(text)
	dec := yaml.NewDecoder(strings.NewReader(masked))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return emptyMapping(h.first), nil
		}
		return nil, syntaxFault(err, text, h.first)
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err == nil:
		return nil, &fault{code: "yaml_documents", line: second.Line + h.first - 1, column: max(second.Column, 1),
			message: "header holds more than one document"}
	default:
		return nil, syntaxFault(err, text, h.first)
	}
	c := converter{text: text, header: h, mask: mask}
	c.lineStart = append(c.lineStart, 0)
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			c.lineStart = append(c.lineStart, i+1)
		}
	}
	if len(doc.Content) == 0 {
		return emptyMapping(h.first), nil
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.Value == "" && top.Style == 0 {
		return emptyMapping(h.first), nil
	}
	root, _ = c.node(top, 0, 1)
	if c.why != nil {
		return nil, c.why
	}
	if root.Kind != MappingNode {
		return nil, &fault{code: "yaml_not_mapping", line: root.Line, column: root.Column,
			message: "header is a " + root.Kind.String() + ", not a mapping"}
	}
	return root, nil
}

func emptyMapping(line int) *Node {
	return &Node{Kind: MappingNode, Style: BlockStyle, Line: line, Column: 1, EndLine: line}
}

// syntaxFault turns an error of the library into a located one of ours.
func syntaxFault(err error, text string, first int) *fault {
	cause := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if rest, ok := strings.CutPrefix(cause, "line "); ok {
		number, after, found := strings.Cut(rest, ": ")
		if n, bad := strconv.Atoi(number); bad == nil && found {
			line, cause = n, after
		}
	}
	// The library counts from 1 in its scanner and from 0 in its parser.
	for _, p := range []string{"<document start>", "node content", "key", "','", "'-' indicator"} {
		if strings.HasPrefix(cause, "did not find expected "+p) {
			line++
			break
		}
	}
	f := &fault{code: "yaml_syntax", line: max(line, 1) + first - 1, column: 1, message: "header is no YAML: " + cause}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		indent := l[:blanks(l, 0)]
		if at := strings.IndexByte(indent, '\t'); at >= 0 && len(indent) < len(l) && strings.Contains(cause, "cannot start any token") {
			return &fault{code: "yaml_tab", line: i + first, column: at + 1, message: "tab in the indentation"}
		}
		if at := strings.IndexFunc(l, refused); at >= 0 && strings.Contains(cause, "control characters") {
			f.line, f.column = i+first, utf8.RuneCountInString(l[:at])+1
			return f
		}
		if strings.HasPrefix(cause, "unknown anchor") {
			name := strings.TrimSuffix(strings.TrimPrefix(cause, "unknown anchor '"), "' referenced")
			if at := strings.Index(l, "*"+name); at >= 0 {
				return &fault{code: "yaml_alias", line: i + first, column: utf8.RuneCountInString(l[:at]) + 1,
					message: "alias *" + clip(name, 40) + " is not read"}
			}
		}
	}
	n := f.line - first
	if n < 0 || n >= len(lines) {
		return f
	}
	f.column = blanks(lines[n], 0) + 1
	switch {
	case strings.Contains(cause, "<document start>") && slices.ContainsFunc(lines[:n], isDocumentMark):
		f.code, f.message = "yaml_documents", "header holds more than one document"
	case strings.HasPrefix(cause, "mapping values are not allowed"):
		key, value, _ := strings.Cut(lines[n], ": ")
		if at := strings.Index(value, ": "); at >= 0 {
			f.column = utf8.RuneCountInString(key+": "+value[:at]) + 1
		}
	}
	return f
}

// isDocumentMark reports the lines that end or begin a document within a header.
func isDocumentMark(line string) bool {
	return line == "..." || strings.HasPrefix(line, "... ") || strings.HasPrefix(line, "--- ")
}

// refused reports the characters that YAML takes nowhere.
func refused(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' && r != 0x85 || r == 0xFFFE || r == 0xFFFF
}

// converter turns the library's nodes into ours and finds their text.
type converter struct {
	text      string
	header    headerText
	mask      map[rune]rune
	lineStart []int
	count     int
	why       *fault

	// The place of the last look-up: the next one goes on from there.
	line, column, offset int
}

func (c *converter) fail(code string, n *yaml.Node, format string, args ...any) {
	if c.why == nil {
		c.why = &fault{code: code, line: n.Line + c.header.first - 1, column: max(n.Column, 1), message: fmt.Sprintf(format, args...)}
	}
}

// at returns the byte offset of a line and column of the library.
func (c *converter) at(line, column int) int {
	if line < 1 || line > len(c.lineStart) {
		return len(c.text)
	}
	if line != c.line || column < c.column {
		c.line, c.column, c.offset = line, 1, c.lineStart[line-1]
	}
	for c.column < column && c.offset < len(c.text) && c.text[c.offset] != '\n' {
		_, n := utf8.DecodeRuneInString(c.text[c.offset:])
		c.offset += n
		c.column++
	}
	return c.offset
}

// node converts n, whose parent collection starts at column owner, and returns the
// offset of its end.
func (c *converter) node(n *yaml.Node, owner, depth int) (*Node, int) {
	c.count++
	lim := c.header.limits
	switch {
	case c.why != nil:
		return &Node{}, 0
	case c.count > lim.Nodes:
		c.fail("limit_nodes", n, "header has over %d values, the limit", lim.Nodes)
		return &Node{}, 0
	case n.Kind != yaml.ScalarNode && n.Kind != yaml.AliasNode && depth > lim.Depth:
		c.fail("limit_depth", n, "nesting of the header is over the limit of %d levels", lim.Depth)
		return &Node{}, 0
	}
	if !c.header.aliases {
		switch {
		case n.Kind == yaml.AliasNode:
			c.fail("yaml_alias", n, "alias *%s is not read", clip(n.Value, 40))
			return &Node{}, 0
		case n.Anchor != "":
			c.fail("yaml_alias", n, "anchor &%s is not read", clip(n.Anchor, 40))
			return &Node{}, 0
		}
	}
	start := c.at(n.Line, n.Column)
	if n.Kind == yaml.AliasNode {
		target, _ := c.node(n.Alias, owner, depth)
		return target, start + 1 + len(n.Value)
	}
	if n.Style&yaml.TaggedStyle != 0 || c.nonSpecific(n, start) {
		c.fail("yaml_tag", n, "tag %s is not read", clip(firstWord(c.text[start:]), 40))
		return &Node{}, 0
	}
	start = c.skipAnchor(start)
	out := &Node{Line: n.Line + c.header.first - 1, Column: n.Column}
	out.EndLine = out.Line
	if n.Kind == yaml.ScalarNode {
		return out, c.scalar(out, n, start, owner)
	}
	return out, c.collection(out, n, start, depth)
}

// nonSpecific reports the tag "!", which the library does not mark.
func (c *converter) nonSpecific(n *yaml.Node, start int) bool {
	return start < len(c.text) && c.text[start] == '!' && !(n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 && n.Tag == "!!null" && c.header.aliases)
}

// skipAnchor steps over "&name" and the blanks after it.
func (c *converter) skipAnchor(at int) int {
	if at >= len(c.text) || c.text[at] != '&' {
		return at
	}
	at += len(firstWord(c.text[at:]))
	for at < len(c.text) && strings.IndexByte(" \t\n", c.text[at]) >= 0 {
		at++
	}
	return at
}

func firstWord(s string) string {
	if i := strings.IndexAny(s, " \t\n,]}"); i >= 0 {
		return s[:i]
	}
	return s
}

func (c *converter) scalar(out *Node, n *yaml.Node, start, owner int) (end int) {
	out.Value = c.unmask(n.Value)
	switch {
	case n.Style&yaml.SingleQuotedStyle != 0:
		out.Style, end = SingleQuotedStyle, c.quoted(start, '\'')
	case n.Style&yaml.DoubleQuotedStyle != 0:
		out.Style, end = DoubleQuotedStyle, c.quoted(start, '"')
	case n.Style&yaml.LiteralStyle != 0:
		out.Style, end = LiteralStyle, c.block(start, owner)
	case n.Style&yaml.FoldedStyle != 0:
		out.Style, end = FoldedStyle, c.block(start, owner)
	default:
		end = c.plain(start, out.Value)
	}
	out.Source = c.text[start:end]
	if out.Style == PlainStyle && out.Source == out.Value {
		out.Value = out.Source // share the header's bytes
	}
	out.EndLine += strings.Count(out.Source, "\n")
	return end
}

// plain returns the end of a plain scalar: its words in order, with any blanks and
// line ends between them.
func (c *converter) plain(start int, value string) int {
	if strings.HasPrefix(c.text[start:], value) {
		return start + len(value)
	}
	i := start
	for j := 0; j < len(value); {
		if isBlank(value[j]) {
			j++
			continue
		}
		for i < len(c.text) && isBlank(c.text[i]) {
			i++
		}
		if i == len(c.text) {
			break
		}
		i++
		j++
	}
	return i
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\n' }

func (c *converter) quoted(start int, quote byte) int {
	for i := start + 1; i < len(c.text); i++ {
		switch {
		case quote == '"' && c.text[i] == '\\':
			i++
		case c.text[i] != quote:
		case quote == '\'' && i+1 < len(c.text) && c.text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return len(c.text)
}

// block returns the end of a block scalar: the last line that is not blank and is
// indented more than the collection that holds it.
func (c *converter) block(start, owner int) int {
	end := c.lineEnd(start)
	for at := end + 1; at < len(c.text); {
		eol := c.lineEnd(at)
		line := c.text[at:eol]
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if indent < len(line) {
			if indent < owner {
				break
			}
			end = eol
		}
		at = eol + 1
	}
	return end
}

// lineEnd returns the offset of the line end at or after at, or of the end of the text.
func (c *converter) lineEnd(at int) int {
	if i := strings.IndexByte(c.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(c.text)
}

func (c *converter) collection(out *Node, n *yaml.Node, start, depth int) (end int) {
	out.Kind, out.Style = SequenceNode, BlockStyle
	if n.Kind == yaml.MappingNode {
		out.Kind = MappingNode
	}
	if n.Style&yaml.FlowStyle != 0 {
		out.Style = FlowStyle
	}
	end = start + 1
	out.Content = make([]*Node, 0, len(n.Content))
	for i, child := range n.Content {
		isKey := out.Kind == MappingNode && i%2 == 0
		if isKey && child.Kind != yaml.ScalarNode {
			c.fail("yaml_syntax", child, "key is no text")
		}
		if isKey && child.Tag == "!!merge" && !c.header.aliases {
			c.fail("yaml_merge", child, "merge key << is not read")
		}
		kid, kidEnd := c.node(child, n.Column, depth+1)
		if c.why != nil {
			return end
		}
		out.Content = append(out.Content, kid)
		if child.Kind != yaml.AliasNode {
			out.EndLine = max(out.EndLine, kid.EndLine)
		}
		end = max(end, kidEnd)
	}
	if out.Style == FlowStyle {
		end = c.flowEnd(end, out.Kind)
		out.Source = c.text[start:end]
		out.EndLine = out.Line + strings.Count(out.Source, "\n")
	}
	if out.Kind == MappingNode {
		if first, second := duplicate(out); first != nil {
			c.why = duplicateFault(first, second)
		}
	}
	return end
}

// flowEnd returns the offset after the bracket that closes a flow collection whose
// last value ends at: only blanks, commas, colons and comments stand before it.
func (c *converter) flowEnd(at int, kind NodeKind) int {
	closing := byte(']')
	if kind == MappingNode {
		closing = '}'
	}
	for at < len(c.text) {
		switch c.text[at] {
		case closing:
			return at + 1
		case '#':
			at = c.lineEnd(at)
		default:
			at++
		}
	}
	return len(c.text)
}

// maskBreaks replaces the characters that the library reads as line ends, or drops,
// but that are text here: lone CR, NEL, LS, PS, and a byte order mark. Each becomes a
// private character that text does not hold, so that columns stay.
func maskBreaks(text string) (string, map[rune]rune) {
	if !strings.ContainsAny(text, "\r\u0085\u2028\u2029\ufeff") {
		return text, nil
	}
	mask, next := make(map[rune]rune), rune(0xE000)
	for _, r := range "\r\u0085\u2028\u2029\ufeff" {
		for strings.ContainsRune(text, next) {
			next++
		}
		text = strings.ReplaceAll(text, string(r), string(next))
		mask[next] = r
		next++
	}
	return text, mask
}

func (c *converter) unmask(value string) string {
	if c.mask == nil {
		return value
	}
	return strings.Map(func(r rune) rune {
		if was, ok := c.mask[r]; ok {
			return was
		}
		return r
	}, value)
}
