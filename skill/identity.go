package skill

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/fold"
)

// name settles Name, Key and Handle.
func (b *builder) name(hasHeader bool) {
	s := b.s
	field, bl := b.pick(keyName)
	text := b.textOf(field, bl)
	at := &Node{Line: 1, Column: 1}
	switch {
	case b.o.Dialect == ClaudeCode && b.o.DirName != "":
		if s.Meta.DisplayName == "" {
			s.Meta.DisplayName = text
		}
		text = b.o.DirName
	case text == "":
		b.emptyValue(field, bl)
		if hasHeader && field.key == nil && b.o.Dialect != MiniMax {
			b.note("name_missing", bl, at, "name is missing; the directory's is used").Fix = "add name: " + b.o.DirName
		}
		text = b.o.DirName
		if b.o.Dialect == MiniMax && strings.TrimSpace(text) == "" {
			b.note("missing_name", bl, at, "name is missing, and the directory has none")
			text = ""
		}
	case b.o.Dialect == MiniMax:
	default:
		text = b.checkName(fold.NFC(text), field.value, bl)
	}
	b.settleName(text)
}

func (b *builder) settleName(name string) {
	s := b.s
	s.Name = name
	if b.o.Dialect == MiniMax {
		s.Key = name
	} else {
		s.Key = fold.Key(name)
	}
	s.Handle = fold.Handle(name)
	if s.Handle == "" {
		s.Handle = fold.Handle(b.o.DirName)
	}
	if s.Handle == "" {
		s.Handle = "skill-" + strings.TrimPrefix(string(s.File), "sha256:")[:8]
	}
	if s.Name == "" {
		s.Name, s.Key = s.Handle, s.Handle
	}
	// Mostly the three are one text; then they are one string in memory as well.
	if s.Key == s.Name {
		s.Key = s.Name
	}
	if s.Handle == s.Name {
		s.Handle = s.Name
	}
}

// emptyValue reports a text key that is there and says nothing.
func (b *builder) emptyValue(field member, bl *block) {
	if field.key != nil && (field.value.IsNull() || field.value.Kind == ScalarNode && strings.TrimSpace(field.value.Value) == "") {
		b.note("value_empty", bl, field.key, "%s is empty", field.key.Value)
	}
}

// UnsafeName reports whether a name must not be used as a name at all: it holds a
// path separator, NUL, a control or bidirectional control character, or is "." or "..".
func UnsafeName(name string) bool {
	return name == "." || name == ".." || strings.ContainsFunc(name, func(r rune) bool {
		return r == '/' || r == '\\' || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError
	})
}

// checkName reports what other hosts dislike about a declared name and returns the
// name to use.
func (b *builder) checkName(name string, at *Node, bl *block) string {
	dir := b.o.DirName
	if UnsafeName(name) {
		b.note("name_unsafe", bl, at, "name %q holds a separator, a control or a direction mark; the directory's is used", clip(name, 60))
		return dir
	}
	if plainName(name) && len(name) <= b.limits.Name && name == dir {
		return name
	}
	fix := "rename to " + fold.Handle(name)
	report := func(code, format string, args ...any) {
		b.note(code, bl, at, format, args...).Fix = fix
	}
	if n := utf8.RuneCountInString(name); n > b.limits.Name {
		report("name_length", "name has %d characters, the limit is %d", n, b.limits.Name)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsUpper(r) || unicode.IsTitle(r) }) {
		report("name_case", "name %q has upper-case letters", clip(name, 80))
	}
	if strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
	}) {
		report("name_chars", "name %q has characters other than letters, digits and hyphens", clip(name, 80))
	}
	if strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--") {
		report("name_hyphens", "name %q has a hyphen at an end or two in a row", clip(name, 80))
	}
	if strings.ContainsFunc(name, unicode.IsMark) {
		b.note("name_mark", bl, at, "name %q has combining marks", clip(name, 80))
	}
	if dir != "" && fold.Key(name) != fold.Key(dir) {
		b.note("name_directory", bl, at, "name %q differs from the directory %q", clip(name, 80), clip(dir, 80))
	}
	return name
}

// plainName reports a name of ASCII lower-case letters, digits and single inner hyphens.
func plainName(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
		case c == '-' && i > 0 && i < len(name)-1 && name[i-1] != '-':
		default:
			return false
		}
	}
	return name != ""
}

// title settles Title: declared, from a heading, or from another host's sidecar. MiniMax counts headings inside fences too.
func (b *builder) title(body []byte) {
	s := b.s
	if s.Title = b.text(keyTitle); s.Title != "" {
		return
	}
	if s.Title = heading(body, b.o.Dialect == MiniMax); s.Title != "" {
		return
	}
	if s.Title = b.shown; s.Title != "" && !b.says(keyTitle) {
		return
	}
	s.Title = s.Name
	if b.o.Dialect == MiniMax {
		b.note("missing_title", &b.top, &Node{Line: 1, Column: 1}, "title is missing; the name is used")
	}
}

// derives reports whether a missing description is taken from the body.
func (b *builder) derives() bool {
	switch b.o.Dialect {
	case AgentSkills, Codex, Blade, Mastra:
		return false
	}
	return true
}

// description settles Description; bodyLine is the line where the body starts.
func (b *builder) description(body []byte, bodyLine int) {
	s := b.s
	field, bl := b.pick(keyDescription)
	s.Description = b.textOf(field, bl)
	if s.Description != "" {
		s.Description = b.dataDir(s.Description)
		if n := utf8.RuneCountInString(s.Description); n > b.limits.Description && b.o.Dialect != MiniMax {
			d := b.note("description_long", bl, field.value, "description has %d characters, the limit is %d", n, b.limits.Description)
			if b.o.Dialect == Codex {
				d.Level, b.invalid = LevelError, true
			}
		}
		return
	}
	if b.o.Dialect != MiniMax {
		b.emptyValue(field, bl)
	}
	if b.derives() {
		derive := paragraph
		if b.o.Dialect == MiniMax {
			derive = firstLines
		}
		text, line := derive(body)
		if text != "" {
			s.Description = b.dataDir(strings.ToValidUTF8(text, ""))
			if b.o.Dialect != MiniMax {
				b.note("description_derived", &b.top, &Node{Line: bodyLine + line - 1, Column: 1}, "description is missing; the first paragraph of the body is used")
			}
			return
		}
	}
	code := "description_missing"
	if b.o.Dialect == MiniMax {
		code = "missing_description"
	}
	d := b.note(code, &b.top, &Node{Line: 1, Column: 1}, "description is missing")
	if !b.derives() && !b.o.Unvalidated {
		d.Level, b.invalid = LevelError, true
	}
}

func (b *builder) dataDir(text string) string {
	return ExpandDataDir(text, b.o.DataDir, b.o.Dialect)
}

// ExpandDataDir replaces {{DATA_DIR}} by dir with forward slashes, in descriptions and
// bodies. An empty dir leaves the text as it is, and so do the dialects that do not
// know the placeholder: all but Deft and MiniMax.
func ExpandDataDir(text, dir string, d Dialect) string {
	if dir == "" || d != Deft && d != "" && d != MiniMax || !strings.Contains(text, "{{DATA_DIR}}") {
		return text
	}
	return strings.ReplaceAll(text, "{{DATA_DIR}}", strings.ReplaceAll(dir, `\`, "/"))
}

// commentsCut reports plain values of text keys that end in " # …": the rest of the
// line was meant as text, or reads as if it was.
func (b *builder) commentsCut(text string, first int) {
	if !strings.Contains(text, " #") {
		return
	}
	lines := strings.Split(text, "\n")
	for id := range keyCount {
		v := b.top.keys[id].value
		if v == nil || v.Kind != ScalarNode || v.Style != PlainStyle || v.Line != v.EndLine || v.Source == "" || !isTextField(id) {
			continue
		}
		line := lines[v.Line-first]
		from := strings.Index(line, v.Source)
		if from < 0 {
			continue
		}
		rest := line[from+len(v.Source):]
		lost := strings.TrimLeft(rest, " \t")
		if !strings.HasPrefix(lost, "#") {
			continue
		}
		at := &Node{Line: v.Line, Column: utf8.RuneCountInString(line[:len(line)-len(lost)]) + 1}
		b.note("comment_in_value", &b.top, at, "value of %s ends before %s", b.top.keys[id].key.Value, fmt.Sprintf("%q", clip(lost, 60)))
	}
}

func isTextField(id keyID) bool {
	switch id {
	case keyName, keyTitle, keyDisplayName, keyDescription, keyWhenToUse, keyLicense, keyCompatibility, keyVersion, keyArgumentHint:
		return true
	}
	return false
}
