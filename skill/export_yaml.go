package skill

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quoted writes text as a double-quoted scalar of one line. Three hyphens in a row
// are broken by an escape: the open standard's reference ends a header at them.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '-' && strings.HasPrefix(text[i:], "---"):
			b.WriteString(`\x2d`)
		case r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\uFEFF' || !printable(r):
			if r > 0xffff {
				fmt.Fprintf(&b, `\U%08X`, r)
			} else {
				fmt.Fprintf(&b, `\u%04X`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// printable reports what YAML lets stand in a file as it is.
func printable(r rune) bool {
	return r == 0x85 || r >= 0x20 && r < 0x7f || r >= 0xa0 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000
}

// scalarText writes text plain where every YAML reader takes it for that string, else
// double-quoted.
func scalarText(text string) string {
	if plainSafe(text) && yamlString(text) && !ambiguous(text) {
		return text
	}
	return quoted(text)
}

// plainSafe reports whether text can stand unquoted as a value of one line.
func plainSafe(text string) bool {
	if text == "" || text != strings.TrimSpace(text) || !utf8.ValidString(text) {
		return false
	}
	if strings.ContainsRune("-?:,[]{}#&*!|>'\"%@`", rune(text[0])) || strings.HasSuffix(text, ":") ||
		strings.Contains(text, ": ") || strings.Contains(text, " #") || strings.Contains(text, "---") ||
		strings.HasPrefix(text, "...") {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !printable(r) || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\uFEFF' || r == 0xa0
	})
}

// ambiguous reports words that some reader of YAML 1.1 takes for something else than
// text: yes and no, sexagesimal and octal numbers, dates.
func ambiguous(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "<<", "=":
		return true
	}
	return text[0] >= '0' && text[0] <= '9' || text[0] == '.' || text[0] == '+'
}

// yamlWriter writes a tree in block style, so that readers without flow collections
// take it.
type yamlWriter struct{ b strings.Builder }

// keyText writes a key.
func keyText(key string) string {
	if bareKey(key) && yamlString(key) && !ambiguous(key) && key[0] != '-' && !strings.Contains(key, "---") {
		return key
	}
	if plainSafe(key) && !strings.Contains(key, ":") && yamlString(key) && !ambiguous(key) && len(key) < 120 {
		return key
	}
	return quoted(key)
}

// pair writes "key: value" at an indent.
func (w *yamlWriter) pair(indent int, key string, v *Node) {
	w.b.WriteString(strings.Repeat(" ", indent) + keyText(key) + ":")
	w.value(indent, v)
}

// value writes what follows a colon or a dash, with the line end.
func (w *yamlWriter) value(indent int, v *Node) {
	switch {
	case v.Kind == ScalarNode:
		if text := w.scalar(v); text != "" {
			w.b.WriteByte(' ')
			w.b.WriteString(text)
		}
		w.b.WriteByte('\n')
	case v.Len() == 0 && v.Kind == MappingNode:
		w.b.WriteString(" {}\n")
	case v.Len() == 0:
		w.b.WriteString(" []\n")
	case v.Kind == MappingNode:
		w.b.WriteByte('\n')
		for i := range v.Len() {
			k, val := v.Pair(i)
			w.pair(indent+2, k.Value, val)
		}
	default:
		w.b.WriteByte('\n')
		for _, item := range v.Content {
			w.b.WriteString(strings.Repeat(" ", indent+2) + "-")
			if item.Kind != MappingNode || item.Len() == 0 {
				w.value(indent+2, item)
				continue
			}
			for i := range item.Len() { // the first pair beside its dash
				k, val := item.Pair(i)
				if i > 0 {
					w.b.WriteString(strings.Repeat(" ", indent+3))
				}
				w.b.WriteString(" " + keyText(k.Value) + ":")
				w.value(indent+4, val)
			}
		}
	}
}

// scalar keeps a plain value plain, so that numbers and booleans stay what they are.
func (w *yamlWriter) scalar(v *Node) string {
	if v.Style == PlainStyle {
		switch {
		case v.Value == "":
			return ""
		case plainSafe(v.Value):
			return v.Value
		case len(v.Value) > 1 && (v.Value[0] == '-' || v.Value[0] == ':' || v.Value[0] == '?') && v.Value[1] != ' ' && plainSafe("x"+v.Value):
			return v.Value // a negative number, say
		}
		return quoted(v.Value)
	}
	return scalarText(v.Value)
}

// jsonText writes a tree as compact JSON. Plain numbers, booleans and nulls keep
// their type.
func jsonText(v *Node) string {
	var b strings.Builder
	writeJSON(&b, v)
	return b.String()
}

func writeJSON(b *strings.Builder, v *Node) {
	switch v.Kind {
	case MappingNode:
		b.WriteByte('{')
		for i := range v.Len() {
			k, val := v.Pair(i)
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(jsonString(k.Value) + ":")
			writeJSON(b, val)
		}
		b.WriteByte('}')
	case SequenceNode:
		b.WriteByte('[')
		for i, c := range v.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, c)
		}
		b.WriteByte(']')
	default:
		switch {
		case v.IsNull():
			b.WriteString("null")
		case v.Style == PlainStyle && (v.Value == "true" || v.Value == "false" || jsonInt(v.Value)):
			b.WriteString(v.Value)
		default:
			b.WriteString(jsonString(v.Value))
		}
	}
}

// jsonInt reports a whole number that JSON writes in the same way.
func jsonInt(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == text
}
