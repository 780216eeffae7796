package skill

import (
	"strings"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/limits"
)

// fastReader reads the plain common subset of headers by hand: "key: value" lines
// with one-line scalars, > and | blocks of uniform indentation, one-line flow and
// block lists of such scalars, and mappings one level deep. Whatever it is not sure
// of is left to the library; FuzzFastPathEqualsLibrary holds it to the library's tree.
type fastReader struct {
	text string
	at   int // start of the current line
	line int // its number in the file

	nodes []Node  // slab: a header costs a few allocations, not one a node
	links []*Node // slab of Content
	stack []*Node // children of the collections that are open
	count int
	limit int
}

// readFast returns the tree of text, or nil when the text is not for it.
func readFast(text string, first int, lim limits.Skill) *Node {
	return new(fastReader).read(text, first, lim)
}

// read returns the tree of text, or nil when the text is not for it. The tree of a
// former text is overwritten: a reader that is kept costs no allocation a header.
func (r *fastReader) read(text string, first int, lim limits.Skill) *Node {
	if lim.Depth < 3 || !plainBytes(text) {
		return nil
	}
	slab := min(2*strings.Count(text, "\n")+6, 256)
	*r = fastReader{
		text: text, line: first, limit: lim.Nodes,
		nodes: roomy(r.nodes, slab), links: roomy(r.links, slab), stack: roomy(r.stack, 32),
	}
	root := r.mapping(0, 1)
	if root == nil || r.at < len(text) || r.count > lim.Nodes {
		return nil
	}
	return root
}

// roomy returns an empty slice with room for n.
func roomy[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, 0, n)
	}
	return s[:0]
}

// forget drops what the former text left, so that a reader that is kept holds no text.
func (r *fastReader) forget() {
	clear(r.nodes)
	clear(r.links)
	clear(r.stack[:cap(r.stack)])
	*r = fastReader{nodes: r.nodes[:0], links: r.links[:0], stack: r.stack[:0]}
}

// plainBytes reports whether text is free of tabs, controls, and the characters that
// the library treats as line ends or refuses.
func plainBytes(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= 0x20 && c < 0x7f || c == '\n':
		case c < utf8.RuneSelf:
			return false
		case c == 0xc2 && i+1 < len(text) && text[i+1] < 0xa0: // C1 controls and NEL
			return false
		case c == 0xe2 && strings.HasPrefix(text[i:], "\u2028"), c == 0xe2 && strings.HasPrefix(text[i:], "\u2029"):
			return false
		case c == 0xef && i+2 < len(text) && (text[i+1] == 0xbb && text[i+2] == 0xbf || text[i+1] == 0xbf && text[i+2] >= 0xbe):
			return false
		}
	}
	return true
}

func (r *fastReader) node(n Node) *Node {
	if len(r.nodes) == cap(r.nodes) {
		r.nodes = make([]Node, 0, 64)
	}
	r.nodes = append(r.nodes, n)
	r.count++
	return &r.nodes[len(r.nodes)-1]
}

// content moves the children above mark from the stack into the slab of links.
func (r *fastReader) content(mark int) []*Node {
	kids := r.stack[mark:]
	if cap(r.links)-len(r.links) < len(kids) {
		r.links = make([]*Node, 0, len(kids)+64)
	}
	start := len(r.links)
	r.links = append(r.links, kids...)
	r.stack = r.stack[:mark]
	return r.links[start:len(r.links):len(r.links)]
}

// current returns the line at the cursor without its end.
func (r *fastReader) current() string {
	if i := strings.IndexByte(r.text[r.at:], '\n'); i >= 0 {
		return r.text[r.at : r.at+i]
	}
	return r.text[r.at:]
}

func (r *fastReader) next(line string) {
	r.at = min(r.at+len(line)+1, len(r.text))
	r.line++
}

// skipBlank steps over empty lines and returns the next line with its indentation,
// or indent -1 at the end.
func (r *fastReader) skipBlank() (line string, indent int) {
	for r.at < len(r.text) {
		line = r.current()
		indent = spaces(line)
		if indent < len(line) {
			return line, indent
		}
		r.next(line)
	}
	return "", -1
}

func spaces(line string) int {
	i := 0
	for i < len(line) && line[i] == ' ' {
		i++
	}
	return i
}

// mapping reads "key: value" lines indented by indent; nil means: not mine.
func (r *fastReader) mapping(indent, depth int) *Node {
	mark := len(r.stack)
	var m *Node
	for {
		line, in := r.skipBlank()
		if in < indent {
			break
		}
		if in > indent || r.count > r.limit {
			return nil
		}
		colon := simpleKey(line[in:])
		if colon < 0 {
			return nil
		}
		if m == nil {
			m = r.node(Node{Kind: MappingNode, Style: BlockStyle, Line: r.line, Column: indent + 1})
		}
		word := line[in : in+colon]
		key := r.node(Node{Source: word, Value: word, Line: r.line, Column: in + 1, EndLine: r.line})
		value := r.value(line, in, in+colon+1, depth)
		if value == nil {
			return nil
		}
		r.stack = append(r.stack, key, value)
		m.EndLine = value.EndLine
	}
	if m == nil {
		return nil
	}
	m.Content = r.content(mark)
	if first, _ := duplicate(m); first != nil {
		return nil
	}
	return m
}

// simpleKey returns the index of the colon after a plain word, or -1.
func simpleKey(s string) int {
	for i := 0; i < len(s) && i < 128; i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && (c >= '0' && c <= '9' || c == '_' || c == '-'):
		case i > 0 && c == ':' && (i+1 == len(s) || s[i+1] == ' '):
			return i
		default:
			return -1
		}
	}
	return -1
}

// value reads what follows the colon that ends at byte from of line, and moves the
// cursor behind it.
func (r *fastReader) value(line string, indent, from, depth int) *Node {
	start := from + spaces(line[from:])
	text := strings.TrimRight(line[start:], " ")
	if text == "" {
		return r.nested(line, indent, from, depth)
	}
	var n *Node
	switch text[0] {
	case '|', '>':
		return r.block(line, text, start, indent)
	case '[':
		n = r.flow(text, start)
	default:
		n = r.scalar(text, start+1, false)
	}
	if n == nil {
		return nil
	}
	r.next(line)
	if next, in := r.peek(); in > indent || in == 0 && strings.HasPrefix(next, "#") {
		return nil // a wrapped value or a comment
	}
	return n
}

// peek returns the next line that is not blank without moving the cursor.
func (r *fastReader) peek() (string, int) {
	at, line := r.at, r.line
	next, indent := r.skipBlank()
	r.at, r.line = at, line
	return next, indent
}

// nested reads the collection below a key, or the empty value.
func (r *fastReader) nested(line string, indent, from, depth int) *Node {
	number := r.line
	r.next(line)
	next, in := r.peek()
	item := in >= 0 && isItem(next[in:])
	switch {
	case item && in >= indent:
		return r.sequence(in, indent)
	case in > indent && depth < 2:
		return r.mapping(in, depth+1)
	case in > indent:
		return nil
	}
	return r.node(Node{Line: number, Column: from + 1, EndLine: number})
}

func isItem(s string) bool { return s[0] == '-' && (len(s) == 1 || s[1] == ' ') }

// sequence reads "- scalar" lines indented by indent.
func (r *fastReader) sequence(indent, owner int) *Node {
	mark := len(r.stack)
	var seq *Node
	for {
		line, in := r.skipBlank()
		if in < indent || in == owner && !isItem(line[in:]) {
			break
		}
		if in > indent || !isItem(line[in:]) || r.count > r.limit {
			return nil
		}
		start := in + 1 + spaces(line[in+1:])
		text := strings.TrimRight(line[start:], " ")
		if text == "" {
			return nil
		}
		if seq == nil {
			seq = r.node(Node{Kind: SequenceNode, Style: BlockStyle, Line: r.line, Column: in + 1})
		}
		n := r.scalar(text, start+1, false)
		if n == nil {
			return nil
		}
		r.stack = append(r.stack, n)
		seq.EndLine = r.line
		r.next(line)
	}
	seq.Content = r.content(mark)
	return seq
}

// scalar reads a plain or quoted scalar that fills text, which starts at column.
func (r *fastReader) scalar(text string, column int, inFlow bool) *Node {
	n := Node{Source: text, Value: text, Line: r.line, Column: column, EndLine: r.line}
	switch text[0] {
	case '"':
		n.Style = DoubleQuotedStyle
		inner, ok := unquoteDouble(text)
		if !ok {
			return nil
		}
		n.Value = inner
	case '\'':
		n.Style = SingleQuotedStyle
		if len(text) < 2 || text[len(text)-1] != '\'' || strings.IndexByte(text[1:len(text)-1], '\'') >= 0 {
			return nil
		}
		n.Value = text[1 : len(text)-1]
	default:
		if !plainScalar(text, inFlow) {
			return nil
		}
	}
	return r.node(n)
}

// unquoteDouble reads "…" with no escapes but \" and \\.
func unquoteDouble(text string) (string, bool) {
	if len(text) < 2 || text[len(text)-1] != '"' {
		return "", false
	}
	inner := text[1 : len(text)-1]
	if strings.IndexByte(inner, '\\') < 0 {
		return inner, strings.IndexByte(inner, '"') < 0
	}
	var b strings.Builder
	b.Grow(len(inner))
	for i := 0; i < len(inner); i++ {
		switch inner[i] {
		case '"':
			return "", false
		case '\\':
			i++
			if i == len(inner) || inner[i] != '"' && inner[i] != '\\' {
				return "", false
			}
		}
		b.WriteByte(inner[i])
	}
	return b.String(), true
}

// plainScalar reports whether text is a whole plain scalar beyond doubt.
func plainScalar(text string, inFlow bool) bool {
	if strings.IndexByte("-?:,[]{}#&*!|>%@`", text[0]) >= 0 {
		// "-x" is plain as well; "--flag" is common enough to be worth the look.
		if text[0] != '-' || len(text) < 2 || strings.IndexByte(" ,[]{}", text[1]) >= 0 {
			return false
		}
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ':':
			if i+1 == len(text) || text[i+1] == ' ' || inFlow {
				return false
			}
		case '#':
			if text[i-1] == ' ' {
				return false
			}
		case ',', '[', ']', '{', '}', '?':
			if inFlow {
				return false
			}
		}
	}
	return true
}

// flow reads a one-line list of scalars.
func (r *fastReader) flow(text string, start int) *Node {
	if text[len(text)-1] != ']' {
		return nil
	}
	mark := len(r.stack)
	seq := r.node(Node{Kind: SequenceNode, Style: FlowStyle, Source: text, Line: r.line, EndLine: r.line, Column: start + 1})
	inner := text[1 : len(text)-1]
	if strings.TrimLeft(inner, " ") == "" {
		return seq
	}
	for from := 0; from <= len(inner); {
		i := from + spaces(inner[from:])
		end := itemEnd(inner, i)
		if end < 0 || r.count > r.limit {
			return nil
		}
		item := strings.TrimRight(inner[i:end], " ")
		if item == "" {
			return nil
		}
		n := r.scalar(item, start+2+utf8.RuneCountInString(inner[:i]), true)
		if n == nil {
			return nil
		}
		r.stack = append(r.stack, n)
		from = end + 1
	}
	seq.Content = r.content(mark)
	return seq
}

// itemEnd returns the index of the comma that ends the item at i, or the end of s;
// -1 for a quote that does not close.
func itemEnd(s string, i int) int {
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		quote := s[i]
		for i++; i < len(s) && s[i] != quote; i++ {
			if s[i] == '\\' && quote == '"' {
				i++
			}
		}
		if i >= len(s) {
			return -1
		}
	}
	if j := strings.IndexByte(s[i:], ','); j >= 0 {
		return i + j
	}
	return len(s)
}

// block reads a > or | scalar, also with "-", whose lines have one indentation.
func (r *fastReader) block(line, mark string, start, owner int) *Node {
	folded := mark[0] == '>'
	if mark != "|" && mark != ">" && mark != "|-" && mark != ">-" {
		return nil
	}
	n := Node{Style: LiteralStyle, Line: r.line, Column: start + 1}
	if folded {
		n.Style = FoldedStyle
	}
	from := r.at + start
	r.next(line)
	indent, empty, last := -1, 0, 0
	var b strings.Builder
	if n := len(r.text) - r.at; n > 0 {
		b.Grow(min(n, 512))
	}
	for r.at < len(r.text) {
		line = r.current()
		in := spaces(line)
		if in == len(line) {
			if in > 0 || indent < 0 {
				return nil
			}
			empty++
			r.next(line)
			continue
		}
		if in <= owner {
			break
		}
		if indent < 0 {
			indent = in
		} else if in != indent || folded && b.Len() == 0 {
			return nil
		}
		if b.Len() > 0 {
			joint(&b, folded, empty)
		}
		empty = 0
		if line[len(line)-1] == ' ' {
			return nil
		}
		b.WriteString(line[in:])
		last = r.at + len(line)
		n.EndLine = r.line
		r.next(line)
	}
	if indent < 0 || empty > 0 {
		return nil
	}
	if len(mark) == 1 && last < len(r.text) {
		b.WriteByte('\n')
	}
	if next, in := r.peek(); in >= 0 && strings.HasPrefix(next[in:], "#") {
		return nil
	}
	n.Source, n.Value = r.text[from:last], b.String()
	return r.node(n)
}

// joint writes what stands between two lines of a block with empty lines between them.
func joint(b *strings.Builder, folded bool, empty int) {
	if folded && empty == 0 {
		b.WriteByte(' ')
		return
	}
	if !folded {
		empty++
	}
	for range empty {
		b.WriteByte('\n')
	}
}
