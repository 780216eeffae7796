package gate

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// redactText is what a record must not hold, as data.
//
//go:embed redact.txt
var redactText string

// shape is a form of text that gives away a secret.
type shape struct {
	kind     string
	literals []string // one occurs in every match, in lower case where the pattern folds
	folds    bool
	pattern  *regexp.Regexp
}

// redactions is redact.txt, read. That it can be read is tested.
type redactions struct {
	keys   map[string]bool
	shapes []shape
}

var knownRedactions = sync.OnceValue(func() redactions {
	r, err := parseRedactions(redactText)
	if err != nil {
		panic(err) // it is part of the program
	}
	return r
})

func parseRedactions(src string) (redactions, error) {
	out := redactions{keys: map[string]bool{}}
	for i, line := range strings.Split(src, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(f[0], "#"):
			continue
		case f[0] == "key":
			for _, name := range f[1:] {
				out.keys[keyName(name)] = true
			}
			continue
		case len(f) != 3:
			return out, fmt.Errorf("redact.txt:%d: %d columns, want kind, literals and pattern", i+1, len(f))
		}
		p, err := regexp.Compile(f[2])
		if err != nil {
			return out, fmt.Errorf("redact.txt:%d: %w", i+1, err)
		}
		s := shape{kind: f[0], folds: strings.HasPrefix(f[2], "(?i)"), pattern: p}
		for _, l := range strings.Split(strings.ReplaceAll(f[1], `\x20`, " "), ",") {
			if s.folds {
				l = strings.ToLower(l)
			}
			s.literals = append(s.literals, l)
		}
		out.shapes = append(out.shapes, s)
	}
	return out, nil
}

func keyName(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// Redactor takes out of texts and arguments what no record may hold: values that it is
// given, tokens of well-known issuers, credentials in headers and addresses. What goes is
// replaced by [redacted:KIND]. It is for records: what runs is what was checked. The zero
// value knows no values. Safe for concurrent use if Values is.
type Redactor struct {
	// Values replaces values that somebody declared secret, as command.Hider.Hide does; nil =
	// there are none.
	Values func(text string) string
}

// Text returns text without secrets, and whether there were any.
func (r Redactor) Text(text string) (clean string, changed bool) {
	clean = text
	if r.Values != nil {
		if clean = r.Values(clean); clean != text {
			clean = strings.ReplaceAll(clean, "[secret:", "[redacted:")
		}
	}
	folded := ""
	for _, s := range knownRedactions().shapes {
		in := clean
		if s.folds {
			if folded == "" {
				folded = strings.ToLower(clean)
			}
			in = folded
		}
		if !slices.ContainsFunc(s.literals, func(l string) bool { return strings.Contains(in, l) }) {
			continue
		}
		if next := s.redact(clean); next != clean {
			clean, folded = next, ""
		}
	}
	return clean, clean != text
}

// redact replaces every match of s that is not redacted already.
func (s shape) redact(text string) string {
	var out strings.Builder
	done := 0
	for _, m := range s.pattern.FindAllStringSubmatchIndex(text, -1) {
		from, to := m[0], m[1]
		if len(m) > 2 {
			from, to = m[2], m[3]
		}
		if from < done || to <= from || strings.HasPrefix(text[from:], "[redacted:") {
			continue
		}
		out.WriteString(text[done:from])
		out.WriteString("[redacted:" + s.kind + "]")
		done = to
	}
	return out.String() + text[done:]
}

// JSON does so in every string of a value, names of members included, and in whole where a
// member is named like a header that carries credentials. The result is canonical. What is
// no JSON within the bounds of a call's arguments cannot be looked through: none of it stays.
func (r Redactor) JSON(src json.RawMessage) (clean json.RawMessage, changed bool) {
	if len(src) == 0 {
		return src, false
	}
	v, err := parseArgs(src)
	if err != nil {
		return canonical("[redacted:unread]"), true
	}
	v, changed = r.value(v)
	return canonical(v), changed
}

// value leaves v as it is and returns another, in texts that every database takes.
func (r Redactor) value(v any) (_ any, changed bool) {
	switch v := v.(type) {
	case string:
		clean, changed := r.Text(keptText(v))
		return clean, changed
	case []any:
		out := make([]any, len(v))
		for i := range v {
			clean, c := r.value(v[i])
			out[i], changed = clean, changed || c
		}
		return out, changed
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range sortedKeys(v) {
			clean, c := r.value(v[k])
			if kind := keyName(k); knownRedactions().keys[kind] && v[k] != nil && v[k] != "" {
				clean, c = "[redacted:"+kind+"]", true
			}
			name, n := r.Text(keptText(k))
			out[name], changed = clean, changed || c || n
		}
		return out, changed
	}
	return v, false
}
