package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// escapeList makes a field safe inside a list: angle brackets become references,
// an ampersand only where it starts one, so that ordinary text stays readable.
func escapeList(s string) string {
	if !strings.ContainsAny(s, "<>&") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '<':
			b.WriteString("&lt;")
		case c == '>':
			b.WriteString("&gt;")
		case c == '&' && startsReference(s[i+1:]):
			b.WriteString("&amp;")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// escapeReason makes a reason safe between the brackets that hold it.
func escapeReason(s string) string { return strings.ReplaceAll(escapeList(s), "]", "&#93;") }

// startsReference reports whether rest, which follows an ampersand, makes a
// character reference of it: a name or a number and a semicolon.
func startsReference(rest string) bool {
	rest = strings.TrimPrefix(rest, "#")
	end := strings.IndexByte(rest, ';')
	if end < 1 {
		return false
	}
	for i := 0; i < end; i++ {
		c := rest[i]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

var listReferences = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// unescapeList undoes escapeList.
func unescapeList(s string) string { return listReferences.Replace(s) }

var (
	xmlEscapes    = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
	htmlEscapes   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;")
	xmlReferences = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#x27;", "'")

	markEscapes    = strings.NewReplacer(`\`, `\\`, "*", `\*`, "[", `\[`, "]", `\]`, "(", `\(`, ")", `\)`, "`", "\\`")
	markReferences = strings.NewReplacer(`\\`, `\`, `\*`, "*", `\[`, "[", `\]`, "]", `\(`, "(", `\)`, ")", "\\`", "`")
)

// escapeMarks keeps a value from ending the bold or bracketed part it stands in.
func escapeMarks(s string) string { return markEscapes.Replace(s) }

// handle returns a name as a list shows it: plain where it cannot be mistaken for
// anything else, else as a JSON string.
func handle(name string) string {
	if plainName(name) {
		return name
	}
	return quoted(name)
}

func quoted(name string) string { return escapeList(encode(name, false)) }

func plainName(name string) bool {
	if name == "" || strings.HasSuffix(name, ":") {
		return false
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.@:/", r) {
			return false
		}
	}
	return true
}

// defuse keeps a value that a format shows verbatim from opening or closing a block
// that only the host may write.
func defuse(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '<' && opensBlock(s[i+1:]) {
			b.WriteString("&lt;")
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func opensBlock(rest string) bool {
	rest = strings.TrimLeft(rest, " ")
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "/"), " ")
	for _, tag := range []string{"available_skills", "relevant_skills", "skills_changed", "system-reminder"} {
		if len(rest) >= len(tag) && strings.EqualFold(rest[:len(tag)], tag) {
			return true
		}
	}
	return false
}

func runes(s string) int { return utf8.RuneCountInString(s) }
