package skill

import "strings"

// NodeKind says what a Node is.
type NodeKind uint8

// The kinds of nodes.
const (
	ScalarNode NodeKind = iota
	MappingNode
	SequenceNode
)

// String returns the word that messages use for the kind.
func (k NodeKind) String() string {
	switch k {
	case MappingNode:
		return "mapping"
	case SequenceNode:
		return "list"
	default:
		return "text"
	}
}

// NodeStyle says how a Node is written.
type NodeStyle uint8

// The styles: the first five are of scalars, the last two of collections.
const (
	PlainStyle NodeStyle = iota
	SingleQuotedStyle
	DoubleQuotedStyle
	LiteralStyle // |
	FoldedStyle  // >
	BlockStyle   // one entry a line
	FlowStyle    // [a, b] and {a: b}
)

// Node is one value of a header, in the order and with the text of the file. Nodes
// are never changed after they are built.
type Node struct {
	Kind  NodeKind
	Style NodeStyle
	// Source is the text as it stands in the header (CRLF read as LF): for a scalar
	// with its quotes or block indicator, for a flow collection with its brackets, ""
	// for a block collection and for an empty value.
	Source string
	// Value is the scalar as YAML reads it, "" for collections. No type is applied:
	// 007 stays "007", yes stays "yes".
	Value string
	// Line and Column are where the node starts in the file, from 1, Column in code
	// points. EndLine is its last line.
	Line, Column, EndLine int
	// Content holds the items of a sequence, or key, value, key, value … of a mapping.
	Content []*Node
}

// Len returns the number of pairs of a mapping or items of a sequence, else 0. It
// may be called on nil.
func (n *Node) Len() int {
	switch {
	case n == nil:
		return 0
	case n.Kind == MappingNode:
		return len(n.Content) / 2
	default:
		return len(n.Content)
	}
}

// Pair returns key and value number i of a mapping.
func (n *Node) Pair(i int) (key, value *Node) { return n.Content[2*i], n.Content[2*i+1] }

// Get returns the value of key, spelt exactly so, or nil. It may be called on nil
// and on nodes that are no mapping.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// Path follows keys from mapping to mapping and returns the node there, or nil.
func (n *Node) Path(keys ...string) *Node {
	for _, k := range keys {
		n = n.Get(k)
	}
	return n
}

// IsNull reports whether the node says nothing: nil, an empty plain value, null or ~.
func (n *Node) IsNull() bool {
	if n == nil {
		return true
	}
	if n.Kind != ScalarNode || n.Style != PlainStyle {
		return false
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// Text returns the text of a scalar: the source of a one-line plain scalar, else the
// value as YAML reads it. ok is false for nil, null and collections.
func (n *Node) Text() (text string, ok bool) {
	if n == nil || n.Kind != ScalarNode || n.IsNull() {
		return "", false
	}
	return n.Value, true
}

// Equal reports whether two nodes hold the same values, wherever and however they
// are written.
func (n *Node) Equal(o *Node) bool {
	if n == nil || o == nil {
		return n == o
	}
	if n.Kind != o.Kind || n.Value != o.Value || len(n.Content) != len(o.Content) {
		return false
	}
	for i := range n.Content {
		if !n.Content[i].Equal(o.Content[i]) {
			return false
		}
	}
	return true
}

// short returns the node's text for a message, on one line and cut to 60 code points.
func (n *Node) short() string {
	text := n.Value
	if n.Kind != ScalarNode {
		text = n.Source
	}
	return clip(text, 60)
}

func clip(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	count := 0
	for i := range text {
		if count == limit {
			return text[:i] + "…"
		}
		count++
	}
	return text
}
