package skill

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/fold"
)

var (
	scopes   = []string{"turn", "session"}
	contexts = []string{"inline", "fork"}
	efforts  = []string{"low", "medium", "high", "xhigh", "max"}
	onErrors = []string{"placeholder", "abort"}
	kinds    = []string{"builtin", "external"}
)

// meta fills the typed fields that need neither the body nor the directory.
func (b *builder) meta() {
	m := &b.s.Meta
	m.DisplayName = b.text(keyDisplayName)
	m.DisplayNames = b.locales(keyDisplayNames)
	m.Descriptions = b.locales(keyDescriptions)
	m.WhenToUse = b.text(keyWhenToUse)
	m.License = b.text(keyLicense)
	m.Compatibility = b.compatibility()
	m.Version = b.version()
	m.RequiresBeta = b.text(keyRequiresBeta)
	m.AllowedTools = b.tools(keyAllowedTools)
	m.DisallowedTools = b.tools(keyDisallowedTools)
	b.switches(m)
	m.ArgumentHint = b.hint()
	m.Arguments = b.arguments()
	unknown := "turn" // the one that ends sooner
	if b.o.Dialect == Blade {
		unknown = "session"
	}
	m.Scope = b.enum(keyScope, unknown, scopes...)
	m.Model = b.text(keyModel)
	m.Effort = b.effort()
	m.Context = b.enum(keyContext, "inline", contexts...)
	m.Agent = b.text(keyAgent)
	m.OnError = b.enum(keyOnError, "placeholder", onErrors...)
	m.Paths = b.list(keyPaths, globList)
	m.ModeSlugs = b.list(keyModeSlugs, plainList)
	m.HasShell = b.has(keyShell)
	m.HasHooks = b.has(keyHooks)
	b.identity(m)
	b.conditions(m)
}

// has notes where a field stands whose value another room reads from Raw.
func (b *builder) has(id keyID) bool {
	m, _ := b.pick(id)
	return m.key != nil && !m.value.IsNull()
}

// switches reads the yes-or-no fields. The readings of unreadable values are the safe
// ones: a skill that may have said "not by the model" is not started by the model.
func (b *builder) switches(m *Meta) {
	m.DisableModelInvocation = b.boolean(keyDisableModelInvocation, false, true)
	invocable := b.o.Dialect != Blade
	m.UserInvocable = b.boolean(keyUserInvocable, invocable, invocable)
	m.DefaultEnabled = b.boolean(keyDefaultEnabled, true, true)
	m.Retired = b.boolean(keyRetired, false, false)
	m.Background = b.boolean(keyBackground, true, true)
	m.OneShot = b.boolean(keyOneShot, false, false)
	if b.o.Dialect == MiniMax {
		field, _ := b.pick(keyListed)
		m.Listed = field.value.IsNull() || field.value.Style != PlainStyle || strings.ToLower(field.value.Value) != "false"
	} else {
		m.Listed = b.boolean(keyListed, true, true)
	}
	b.boolean(keyOnce, false, true)
}

func (b *builder) tools(id keyID) ToolList {
	m, bl := b.pick(id)
	if m.key == nil || b.o.Dialect == Blade && m.value.Kind == ScalarNode && strings.TrimSpace(m.value.Value) == "" {
		return ToolList{}
	}
	if m.value.Kind == MappingNode {
		b.mismatch(m, bl, "a list")
		return ToolList{}
	}
	return ToolList{Declared: true, Entries: b.listOf(m, bl, toolList)}
}

func (b *builder) compatibility() string {
	m, bl := b.pick(keyCompatibility)
	text := b.textOf(m, bl)
	if n := utf8.RuneCountInString(text); n > b.limits.Compat {
		b.outOfRange(bl, m.value, 1, b.limits.Compat, "compatibility has %d characters, the limit is %d", n, b.limits.Compat)
	}
	return text
}

func (b *builder) version() string {
	if text := b.text(keyVersion); text != "" {
		return text
	}
	m, _ := find(b.top.keys[keyMetadata].value, "version")
	if m.value == nil {
		return ""
	}
	b.remember("version", member{&Node{Value: "metadata." + m.key.Value, Line: m.key.Line}, m.value}, &b.top)
	text, _ := m.value.Text()
	return strings.TrimSpace(text)
}

// hint reads argument-hint. Authors write [query] unquoted, which YAML takes for a
// list; the hint is what they wrote.
func (b *builder) hint() string {
	m, bl := b.pick(keyArgumentHint)
	if m.value != nil && m.value.Style == FlowStyle && m.value.Kind != ScalarNode {
		b.note("hint_brackets", bl, m.value, "%s is a %s to YAML and is read as text", bl.prefix+m.key.Value, m.value.Kind)
		return strings.TrimSpace(m.value.Source)
	}
	return b.textOf(m, bl)
}

// arguments reads names, or maps of name, description, required and default.
func (b *builder) arguments() []Argument {
	m, bl := b.pick(keyArguments)
	if m.value.IsNull() {
		return nil
	}
	if m.value.Kind != SequenceNode {
		var out []Argument
		for _, name := range b.listOf(m, bl, plainList) {
			out = append(out, Argument{Name: name})
		}
		return out
	}
	out := make([]Argument, 0, m.value.Len())
	for _, item := range m.value.Content {
		if text, ok := item.Text(); ok {
			out = append(out, Argument{Name: strings.TrimSpace(text)})
			continue
		}
		name, _ := find(item, "name")
		a := Argument{Name: b.textOf(name, bl)}
		if a.Name == "" {
			b.mismatch(member{m.key, item}, bl, "a name or a map with a name")
			continue
		}
		description, _ := find(item, "description")
		required, _ := find(item, "required")
		def, _ := find(item, "default")
		a.Description, a.Default = b.textOf(description, bl), b.textOf(def, bl)
		a.Required = b.booleanOf(required, bl, false, false)
		out = append(out, a)
	}
	if over := len(out) - b.limits.List; over > 0 {
		b.outOfRange(bl, m.value, 0, b.limits.List, "arguments has %d entries, the limit is %d; %d are ignored", len(out), b.limits.List, over)
		out = out[:b.limits.List]
	}
	return out
}

func (b *builder) effort() string {
	m, bl := b.pick(keyEffort)
	text := b.textOf(m, bl)
	if _, ok := parseInt(text); ok || text == "" {
		return text
	}
	for _, e := range efforts {
		if text == e {
			return text
		}
	}
	d := b.note("value_enum", bl, m.value, "%s is %q, not one of %s or a number", bl.prefix+m.key.Value, clip(text, 60), strings.Join(efforts, ", "))
	d.Fix = "one of " + strings.Join(efforts, ", ")
	return ""
}

// identity reads the fields that routing and activation by set know a skill by.
func (b *builder) identity(m *Meta) {
	m.Priority = b.priority()
	m.Kind = b.enum(keyKind, "", kinds...)
	m.ToolNames = b.list(keyToolNames, plainList)
	field, bl := b.pick(keyID_)
	if text := b.textOf(field, bl); text != "" {
		if validID(text) {
			m.ID = ID(text)
		} else {
			b.note("id_invalid", bl, field.value, "id %q is not made of segments [a-z0-9][a-z0-9_-]* joined by dots, up to 128 bytes; the name is used", clip(text, 60))
		}
	}
}

func validID(id string) bool {
	if len(id) > 128 {
		return false
	}
	for _, segment := range strings.Split(id, ".") {
		for i := range len(segment) {
			c := segment[i]
			if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && (c == '_' || c == '-') {
				continue
			}
			return false
		}
		if segment == "" {
			return false
		}
	}
	return true
}

// defaultPriority is the middle of 0 to 100.
const defaultPriority = 50

func (b *builder) priority() uint8 {
	m, bl := b.pick(keyPriority)
	if m.value.IsNull() {
		return defaultPriority
	}
	text, _ := m.value.Text()
	n, ok := parseInt(strings.TrimSpace(text))
	if !ok || n < 0 || n > 100 || m.value.Kind != ScalarNode {
		b.outOfRange(bl, m.value, 0, 100, "priority is %q, no whole number from 0 to 100, and is read as %d", m.value.short(), defaultPriority)
		return defaultPriority
	}
	return uint8(n)
}

func parseInt(text string) (int, bool) {
	if text == "" || !isDigit(text[len(text)-1]) || !isDigit(text[0]) && text[0] != '-' && text[0] != '+' {
		return 0, false // most texts are none: spare the error
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func isFloat(text string) bool {
	if text == "" || strings.Trim(text, "+-.0123456789eE_") != "" {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// nearBool returns the yes or no that a misspelt word is closest to.
func nearBool(word string) (string, bool) {
	if word == "" {
		return "", false
	}
	return fold.Nearest(word, []string{"true", "false"}, 2)
}
