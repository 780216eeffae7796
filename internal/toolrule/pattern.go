package toolrule

import (
	"errors"
	"fmt"
	"strings"
)

// Pattern is one parsed entry of a tool list. The zero Pattern matches nothing.
type Pattern struct {
	name    string // may end in "*"
	spec    string // "" or "*": none
	words   []word // of a spec, for shell tools
	literal string // the text as written
}

// ErrPattern is what every error of Parse wraps.
var ErrPattern = errors.New("tool pattern is malformed")

// maxPattern bounds a pattern: longer ones are no rule that a person wrote.
const maxPattern = 4096

// Parse reads one pattern. It never panics; the error says what is wrong.
func Parse(text string) (Pattern, error) {
	p := Pattern{literal: text}
	text = strings.TrimSpace(text)
	if len(text) > maxPattern {
		return p, fmt.Errorf("%w: longer than %d bytes", ErrPattern, maxPattern)
	}
	name, spec, has := strings.Cut(text, "(")
	p.name = strings.TrimSpace(name)
	if why := badName(p.name); why != "" {
		return p, fmt.Errorf("%w: %s", ErrPattern, why)
	}
	if !has {
		return p, nil
	}
	body, closed := strings.CutSuffix(spec, ")")
	if !closed {
		return p, fmt.Errorf("%w: no closing parenthesis", ErrPattern)
	}
	p.spec = strings.TrimSpace(body)
	switch {
	case p.spec == "":
		return p, fmt.Errorf("%w: empty parentheses", ErrPattern)
	case p.name == "*":
		return p, fmt.Errorf("%w: a bare * takes no parentheses", ErrPattern)
	case strings.ContainsAny(p.spec, "\x00\n\r"):
		return p, fmt.Errorf("%w: a line end or NUL inside", ErrPattern)
	case p.spec == "*":
		p.spec = ""
		return p, nil
	}
	spec = p.spec
	if cut, ok := strings.CutSuffix(spec, ":*"); ok {
		spec = cut + " *"
	}
	p.words = splitWords(spec)
	return p, nil
}

func badName(name string) string {
	stem := strings.TrimSuffix(name, "*")
	switch {
	case name == "":
		return "no tool name"
	case name == "*":
		return ""
	case stem == "" || strings.Contains(stem, "*") && !strings.HasPrefix(stem, "mcp__"):
		return "* stands only at the end of a tool name"
	}
	bad := "()\"'`,;|&$<>\\"
	if !strings.HasPrefix(stem, "mcp__") {
		bad += "[]{}?" // no glob there: a rule that looks like one must not be void
	}
	for _, r := range stem {
		if r <= ' ' || r == 0x7F || strings.ContainsRune(bad, r) {
			return fmt.Sprintf("%q in a tool name", r)
		}
	}
	return ""
}

// Expand returns p with every ${NAME} of values put into its words and its path.
// A value is one text: blanks and quotes in it split nothing.
func (p Pattern) Expand(values map[string]string) Pattern {
	if p.spec == "" || len(values) == 0 {
		return p
	}
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, "${"+name+"}", value)
	}
	r := strings.NewReplacer(pairs...)
	if r.Replace(p.spec) == p.spec {
		return p
	}
	words := make([]word, len(p.words))
	for i, w := range p.words {
		words[i] = w.replace(r)
	}
	p.words = words
	p.spec = joinWords(words)
	p.literal = p.name + "(" + p.spec + ")"
	return p
}

// String returns the pattern as it was written, or with its values in place after
// Expand; Parse of it gives an equal pattern.
func (p Pattern) String() string { return p.literal }
