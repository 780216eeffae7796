package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// jsonDepth bounds the nesting of a JSON sidecar.
const jsonDepth = 32

// parseJSON reads one JSON value as a tree; keys that stand twice are refused. The
// first byte of src is at line and column.
func parseJSON(src []byte, line, column int) (*Node, *fault) {
	if code, _, reason := badByte(src); code != "" {
		return nil, &fault{code: code, line: line, column: column, message: reason}
	}
	j := jsonReader{src: src, line: line, column: column}
	j.dec = json.NewDecoder(bytes.NewReader(src))
	j.dec.UseNumber()
	n := j.value(1)
	if j.why == nil {
		if _, err := j.dec.Token(); !errors.Is(err, io.EOF) {
			j.fail("text after the value")
		}
	}
	return n, j.why
}

type jsonReader struct {
	src          []byte
	dec          *json.Decoder
	line, column int // of byte at
	at           int
	why          *fault
}

func (j *jsonReader) fail(format string, args ...any) {
	if j.why == nil {
		j.move(int(j.dec.InputOffset()))
		j.why = &fault{code: "sidecar_invalid", line: j.line, column: j.column, message: fmt.Sprintf(format, args...)}
	}
}

// move counts lines and columns up to offset.
func (j *jsonReader) move(offset int) {
	for j.at < offset && j.at < len(j.src) {
		r, n := utf8.DecodeRune(j.src[j.at:])
		if j.at += n; r == '\n' {
			j.line, j.column = j.line+1, 1
		} else {
			j.column++
		}
	}
}

// token returns the next token and a node at its place.
func (j *jsonReader) token() (json.Token, *Node) {
	from := int(j.dec.InputOffset())
	for from < len(j.src) && bytes.IndexByte([]byte(" \t\r\n,:"), j.src[from]) >= 0 {
		from++
	}
	j.move(from)
	n := &Node{Line: j.line, Column: j.column, EndLine: j.line}
	t, err := j.dec.Token()
	if err != nil {
		var syntax *json.SyntaxError
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			j.fail("file ends within a value")
		case errors.As(err, &syntax):
			j.move(int(syntax.Offset) - 1)
			j.fail("file is no JSON: %s", syntax.Error())
		default:
			j.fail("file is no JSON")
		}
		return nil, n
	}
	n.Source = string(j.src[from:j.dec.InputOffset()])
	return t, n
}

func (j *jsonReader) value(depth int) *Node {
	t, n := j.token()
	if j.why != nil {
		return n
	}
	start := int(j.dec.InputOffset()) - len(n.Source)
	switch t := t.(type) {
	case string:
		n.Style, n.Value = DoubleQuotedStyle, t
	case json.Delim:
		if depth > jsonDepth {
			j.fail("nesting is over the limit of %d levels", jsonDepth)
			return n
		}
		n.Kind, n.Style = SequenceNode, FlowStyle
		if t == '{' {
			n.Kind = MappingNode
		}
		j.children(n, depth)
		n.Source = string(j.src[start:j.dec.InputOffset()])
	default:
		n.Value = n.Source
	}
	return n
}

func (j *jsonReader) children(n *Node, depth int) {
	for j.why == nil && j.dec.More() {
		if n.Kind == MappingNode {
			t, key := j.token()
			text, ok := t.(string)
			if j.why != nil || !ok {
				j.fail("key is no text")
				return
			}
			key.Style, key.Value = DoubleQuotedStyle, text
			n.Content = append(n.Content, key)
		}
		n.Content = append(n.Content, j.value(depth+1))
	}
	if j.why != nil {
		return
	}
	_, end := j.token()
	n.EndLine = end.Line
	if n.Kind == MappingNode && j.why == nil {
		if first, second := duplicate(n); first != nil {
			why := duplicateFault(first, second)
			j.why = &fault{code: "sidecar_invalid", line: why.line, column: why.column, message: why.message}
		}
	}
}
