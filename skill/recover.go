package skill

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// textKeys are the top-level keys whose one-line value may be re-read as raw text.
var textKeys = []string{
	"name", "title", "description", "when_to_use", "argument-hint", "license",
	"compatibility", "version", "display-name",
}

// mended is a header in which lines that YAML refuses are quoted.
type mended struct {
	text  string
	lines []mendedLine
}

type mendedLine struct {
	code          string
	line, column  int
	source, value string
	key           string
}

// mend quotes the one-line values of text keys that YAML refuses. It looks at each
// line alone: a value that goes on below, or that YAML takes, is left as it is.
func mend(h headerText) mended {
	lines := strings.Split(h.text, "\n")
	var out mended
	for i, line := range lines {
		if len(out.lines) == h.limits.Recovered {
			break
		}
		key, rest, ok := strings.Cut(line, ":")
		if !ok || !isTextKey(key) || rest == "" || rest[0] != ' ' {
			continue
		}
		if i+1 < len(lines) && continues(lines[i+1:]) {
			continue
		}
		source := strings.TrimSpace(rest)
		code := recovery(key, source)
		if code == "" {
			continue
		}
		if _, why := parseYAML(line, h); why == nil {
			continue
		}
		start := strings.Index(line, source)
		value := source
		if code != "recovered_quotes" {
			value = unquoteOuter(source)
		}
		out.lines = append(out.lines, mendedLine{
			code: code, line: h.first + i, column: utf8.RuneCountInString(line[:start]) + 1,
			source: source, value: value, key: key,
		})
		lines[i] = line[:start] + "'" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	out.text = strings.Join(lines, "\n")
	return out
}

func isTextKey(key string) bool {
	for _, k := range textKeys {
		if key == k || slices.Contains(spellings(k), key) {
			return true
		}
	}
	return false
}

// continues reports whether the first line that is not blank is indented: the value
// above it goes on there.
func continues(lines []string) bool {
	for _, l := range lines {
		if i := blanks(l, 0); i < len(l) {
			return i > 0
		}
	}
	return false
}

// recovery names the rule that takes source as raw text, or returns "".
func recovery(key, source string) string {
	if source == "" {
		return ""
	}
	switch c := source[0]; {
	case c == '"' || c == '\'':
		if end := closingQuote(source); end > 0 && strings.TrimSpace(source[end+1:]) != "" {
			return "recovered_quotes"
		}
		return ""
	case c == '[' || c == '{':
		if keyForms[key].id == keyArgumentHint && c == '[' && balanced(source) {
			return "recovered_brackets"
		}
		return ""
	case strings.IndexByte("@%*&!>|`", c) >= 0:
		if len(source) > 1 {
			return "recovered_indicator"
		}
		return ""
	case strings.Contains(source, ": ") || strings.HasSuffix(source, ":"):
		return "recovered_colon"
	}
	return ""
}

// closingQuote returns the index of the quote that closes the one at 0, or -1.
func closingQuote(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[0] == '"' && s[i] == '\\':
			i++
		case s[i] == s[0] && s[0] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		case s[i] == s[0]:
			return i
		}
	}
	return -1
}

func balanced(s string) bool {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// unquoteOuter removes one pair of matching outer quotes.
func unquoteOuter(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}

// restore puts the file's own text back into the values that were quoted, and reports
// each of them.
func (m mended) restore(root *Node) []Diagnostic {
	var notes []Diagnostic
	for _, l := range m.lines {
		for i := range root.Len() {
			key, value := root.Pair(i)
			if key.Line == l.line && value.Kind == ScalarNode {
				value.Source, value.Style, value.Value = l.source, PlainStyle, l.value
				break
			}
		}
		notes = append(notes, newDiagnostic(l.code, "", l.line, l.column,
			fmt.Sprintf("value of %q is no YAML and is read as text: %s", l.key, clip(l.value, 60))))
	}
	return notes
}
