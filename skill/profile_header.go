package skill

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deftskills/deft/internal/limits"
)

// hostHeader is a file cut into header and body by one host's rule. code is set
// when there is no header to read.
type hostHeader struct {
	header, body string
	base         int // line in the file of the header's first line
	code         string
	message, fix string
}

// cutLiteral is the reference's rule: the file starts with three hyphens, and the
// next three hyphens, wherever they are, end the header. Python's text mode has
// made every line end LF by then.
func cutLiteral(src string) hostHeader {
	src = strings.ReplaceAll(strings.ReplaceAll(src, "\r\n", "\n"), "\r", "\n")
	const mark = "---"
	if !strings.HasPrefix(src, mark) {
		return hostHeader{
			code: "header_missing", message: "no header at the start of the file",
			fix: "add a header with name and description",
		}
	}
	header, body, closed := strings.Cut(src[len(mark):], mark)
	if !closed {
		return hostHeader{
			code: "header_unclosed", message: "header without an end",
			fix: "add a line `---` after the last key",
		}
	}
	return hostHeader{header: header, body: strings.TrimSpace(body), base: 1}
}

// cutFences is the rule of every other host: fences are lines of their own.
func cutFences(src string) hostHeader {
	src = strings.ReplaceAll(src, "\r\n", "\n")
	fence := func(line string) bool { return strings.TrimRight(line, " \t") == "---" }
	first, rest, _ := strings.Cut(src, "\n")
	if !fence(first) {
		return hostHeader{
			body: strings.TrimSpace(src), code: "header_missing",
			message: "no header at the start of the file", fix: "add a header with name and description",
		}
	}
	for at := 0; at <= len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if fence(line) {
			return hostHeader{header: rest[:at], body: strings.TrimSpace(rest[min(at+len(line)+1, len(rest)):]), base: 2}
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return hostHeader{
		code: "header_unclosed", message: "header without an end",
		fix: "add a line `---` after the last key",
	}
}

// yamlAllowed says which YAML a host reads beyond block mappings, block lists and
// scalars. Duplicate keys are refused by every host.
type yamlAllowed struct {
	flow, tags bool
	aliases    int // references; 0 refuses anchors too
}

// headerFault is the one reason why a header cannot be read.
type headerFault struct {
	code         string
	line, col    int
	message, fix string
}

// readFields reads a header with the YAML library and refuses what the host does.
// The library's nodes keep the source text of plain scalars, and aliases stay
// unexpanded, so that a bomb of them costs nothing.
func readFields(h hostHeader, allow yamlAllowed, l limits.Skill) ([]hostField, *headerFault) {
	shift := h.base - 1
	if len(h.header) > l.Header {
		return nil, &headerFault{
			code: "limit_header", line: h.base, col: 1, fix: "shorten; move detail to references/",
			message: fmt.Sprintf("limit_header: header of %d bytes, limit %d", len(h.header), l.Header),
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(h.header))
	var doc yaml.Node
	err := dec.Decode(&doc)
	if err == nil {
		var second yaml.Node
		if again := dec.Decode(&second); !errors.Is(again, io.EOF) {
			return nil, &headerFault{"yaml_documents", h.base, 1, "more than one document", "write `key: value` lines"}
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, &headerFault{"yaml_not_mapping", h.base, 1, "header is empty", "write `key: value` lines"}
	case err != nil:
		return nil, libraryFault(err, h.base)
	}
	root := doc.Content[0]
	w := nodeWalk{allow: allow, limits: l, shift: shift}
	if f := w.node(root, 1); f != nil {
		return nil, f
	}
	if root.Kind != yaml.MappingNode {
		if root.Kind == yaml.ScalarNode && root.Tag == "!!null" { // comments only
			return nil, &headerFault{"yaml_not_mapping", h.base, 1, "header is empty", "write `key: value` lines"}
		}
		return nil, &headerFault{"yaml_not_mapping", root.Line + shift, root.Column, "header is not a mapping", "write `key: value` lines"}
	}
	fields := make([]hostField, 0, len(root.Content)/2)
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, val := root.Content[i], root.Content[i+1]
		fields = append(fields, hostField{
			key: k.Value, line: k.Line + shift, col: k.Column, value: val,
			at: [2]int{val.Line + shift, val.Column},
		})
	}
	return fields, nil
}

var libraryLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func libraryFault(err error, base int) *headerFault {
	message := err.Error()
	f := &headerFault{code: "yaml_syntax", line: base, col: 1, fix: "correct the YAML"}
	if m := libraryLine.FindStringSubmatch(message); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			f.line = n + base - 1
		}
		message = message[len(m[0]):]
	}
	switch {
	case strings.Contains(message, "unknown anchor"):
		f.code, f.fix = "yaml_alias", "write the value out"
	case strings.Contains(message, "tab character"):
		f.code, f.fix = "yaml_tab", "indent with blanks"
	}
	f.message = message
	return f
}

// nodeWalk refuses what the host's YAML does not have, and counts.
type nodeWalk struct {
	allow   yamlAllowed
	limits  limits.Skill
	shift   int
	nodes   int
	aliases int
}

func (w *nodeWalk) fault(n *yaml.Node, code, fix, format string, args ...any) *headerFault {
	return &headerFault{code, n.Line + w.shift, n.Column, fmt.Sprintf(format, args...), fix}
}

func (w *nodeWalk) node(n *yaml.Node, depth int) *headerFault {
	const out = "write the value out"
	const shorten = "shorten; move detail to references/"
	if w.nodes++; w.nodes > w.limits.Nodes {
		return w.fault(n, "limit_nodes", shorten, "limit_nodes: header of more than %d nodes", w.limits.Nodes)
	}
	nested := n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode
	if nested && depth > w.limits.Depth {
		return w.fault(n, "limit_depth", shorten, "limit_depth: header nested deeper than %d", w.limits.Depth)
	}
	switch {
	case n.Anchor != "" && w.allow.aliases == 0:
		return w.fault(n, "yaml_alias", out, "anchor %q", n.Anchor)
	case n.Kind == yaml.AliasNode:
		if w.aliases++; w.aliases > w.allow.aliases {
			return w.fault(n, "yaml_alias", out, "alias %q", n.Value)
		}
		return nil
	case n.Style&yaml.TaggedStyle != 0 && !w.allow.tags:
		return w.fault(n, "yaml_tag", out, "tag %q", n.Tag)
	case n.Style&yaml.FlowStyle != 0 && !w.allow.flow:
		return w.fault(n, "yaml_syntax", "write one entry a line", "flow collection")
	}
	if n.Kind == yaml.MappingNode {
		if f := w.keys(n); f != nil {
			return f
		}
	}
	for _, c := range n.Content {
		if f := w.node(c, depth+1); f != nil {
			return f
		}
	}
	return nil
}

func (w *nodeWalk) keys(n *yaml.Node) *headerFault {
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Tag == "!!merge" && w.allow.aliases == 0 {
			return w.fault(k, "yaml_merge", "write the value out", "merge key")
		}
		if k.Kind != yaml.ScalarNode {
			if k.Kind == yaml.AliasNode || k.Style&yaml.FlowStyle != 0 {
				continue // refused as what it is
			}
			return w.fault(k, "yaml_syntax", "write `key: value` lines", "key that is no text")
		}
		if line, ok := first[k.Value]; ok {
			return w.fault(k, "yaml_duplicate_key", "remove one of the two", "duplicate key %q, first on line %d", k.Value, line)
		}
		first[k.Value] = k.Line + w.shift
	}
	return nil
}
