package skill

import (
	"fmt"
	"strings"

	"github.com/deftskills/deft/internal/limits"
)

// fault is why a header cannot be read.
type fault struct {
	code         string
	line, column int // in the file
	message, fix string
}

func (f *fault) diagnostic(file string) Diagnostic {
	d := newDiagnostic(f.code, file, f.line, f.column, f.message)
	if f.fix != "" {
		d.Fix = f.fix
	}
	return d
}

// headerText is a header as the readers want it: LF line ends only.
type headerText struct {
	text    string
	first   int // the file's line of the first byte
	limits  limits.Skill
	aliases bool // anchors and aliases are read, not refused
	mend    bool // lines that YAML refuses are re-read as raw text
	fast    *fastReader
}

// tree reads the header: by hand where it is plain, else with the library. notes are
// the recoveries made; a fault says that there is no tree.
func (h headerText) tree() (root *Node, notes []Diagnostic, why *fault) {
	fast := h.fast
	if fast == nil {
		fast = new(fastReader)
	}
	if root = fast.read(h.text, h.first, h.limits); root != nil {
		return root, nil, nil
	}
	root, why = h.library(h.text)
	if why == nil || !h.mend || strings.HasPrefix(why.code, "limit_") {
		return root, nil, why
	}
	mended := mend(h)
	if len(mended.lines) == 0 {
		return nil, nil, why
	}
	root, why = h.library(mended.text)
	if why != nil {
		return nil, nil, why
	}
	return root, mended.restore(root), nil
}

// library counts first, so that the YAML library never sees a text that is over a
// limit, then parses and refuses what a header may not hold.
func (h headerText) library(text string) (*Node, *fault) {
	if why := survey(text, h.first, h.limits); why != nil {
		return nil, why
	}
	return parseYAML(text, h)
}

// duplicate returns two equal keys of a mapping, or nil.
func duplicate(m *Node) (first, second *Node) {
	n := m.Len()
	if n > 16 {
		seen := make(map[string]*Node, n)
		for i := range n {
			k := m.Content[2*i]
			if f, ok := seen[k.Value]; ok {
				return f, k
			}
			seen[k.Value] = k
		}
		return nil, nil
	}
	for i := 1; i < n; i++ {
		k := m.Content[2*i]
		for j := range i {
			if f := m.Content[2*j]; f.Value == k.Value {
				return f, k
			}
		}
	}
	return nil, nil
}

func duplicateFault(first, second *Node) *fault {
	return &fault{
		code: "yaml_duplicate_key", line: second.Line, column: second.Column,
		message: fmt.Sprintf("key %q on line %d is a duplicate of line %d", clip(second.Value, 60), second.Line, first.Line),
	}
}

// newDiagnostic takes level and fix from the table of codes.
func newDiagnostic(code, file string, line, column int, message string) Diagnostic {
	spec, _ := LookupCode(code)
	return Diagnostic{Code: code, Level: spec.Level, File: file, Line: line, Column: column, Offset: -1, Message: message, Fix: spec.Fix}
}
