package skill

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/limits"
)

// block is one place that may hold fields: a sidecar, a map below metadata, or the
// header itself. Strong blocks come first.
type block struct {
	file   string // as diagnostics show it
	origin string // as Origin shows it
	prefix string // dotted path of its keys
	place  places
	keys   [keyCount]member
}

// builder turns trees into a Skill and collects what is wrong with them.
type builder struct {
	s      *Skill
	o      ParseOptions
	limits limits.Skill
	top    block
	// blocks are in the order of their strength; the last one is &top.
	blocks  []*block
	notes   []Diagnostic
	more    int               // notes over the limit
	spare   Diagnostic        // where a note over the limit goes
	invalid bool              // an error was noted
	record  map[string]Origin // nil when nobody asks
	shown   string            // the title that agents/openai.yaml gives
	fast    fastReader        // its tree is good until the next header
	room    [4]*block         // for blocks: more are rare
	used    []keyID           // the keys of top that are there
	conds   Conditions        // being read
}

func (b *builder) add(d Diagnostic) *Diagnostic {
	b.invalid = b.invalid || d.Level == LevelError
	if len(b.notes) >= b.limits.Diagnostics {
		b.more++
		b.spare = d
		return &b.spare
	}
	b.notes = append(b.notes, d)
	return &b.notes[len(b.notes)-1]
}

// note reports something at a node of a block's file. The result may be refined until
// the next note.
func (b *builder) note(code string, bl *block, n *Node, format string, args ...any) *Diagnostic {
	return b.add(newDiagnostic(code, bl.file, n.Line, n.Column, fmt.Sprintf(format, args...)))
}

// outOfRange reports a value that is not between least and most.
func (b *builder) outOfRange(bl *block, n *Node, least, most int, format string, args ...any) {
	b.note("value_range", bl, n, format, args...).Fix = fmt.Sprintf("between %d and %d", least, most)
}

// fill sorts the members of a mapping into the block by key, and reports unknown keys
// and keys that are spelt twice.
func (b *builder) fill(bl *block, m *Node) {
	for i := range m.Len() {
		k, v := m.Pair(i)
		b.put(bl, member{k, v}, k.Value)
	}
}

func (b *builder) put(bl *block, m member, spelt string) {
	form, ok := keyForms[spelt]
	if !ok || keyTable[form.id].places&bl.place == 0 {
		b.unknownKey(bl, m.key, spelt)
		return
	}
	slot := &bl.keys[form.id]
	if slot.key == nil {
		*slot = m
		if bl == &b.top {
			b.used = append(b.used, form.id)
		}
		return
	}
	winner, loser := *slot, m
	stronger := form.rank < keyForms[leaf(slot.key.Value)].rank
	if b.o.Dialect == MiniMax && form.id == keyRequiresBeta {
		stronger = spelt == "requiresBeta" // that program's own spelling
	}
	if stronger {
		winner, loser = m, *slot
		*slot = m
	}
	if !winner.value.Equal(loser.value) {
		b.note("key_alias_conflict", bl, loser.key, "key %q says other than %q on line %d, which counts",
			clip(loser.key.Value, 60), clip(winner.key.Value, 60), winner.key.Line)
	}
}

// leaf drops the "deft." of a key that an export moved below metadata.
func leaf(key string) string { return strings.TrimPrefix(key, "deft.") }

func (b *builder) unknownKey(bl *block, key *Node, spelt string) {
	if typo, ok := typoOf(spelt, bl.place); ok {
		d := b.note("key_typo", bl, key, "key %q is unknown, %q is meant", clip(spelt, 60), typo)
		d.Fix = "did you mean " + typo
		return
	}
	if b.o.Dialect == MiniMax {
		return
	}
	d := b.note("key_unknown", bl, key, "key %q is unknown and kept", bl.prefix+clip(spelt, 60))
	if bl.place == atTop {
		d.Fix = "move it below metadata"
	} else {
		d.Level = LevelWarning
	}
}

// pick returns the strongest member for a key and its block, and reports weaker ones
// that say something else. Empty values are no values.
func (b *builder) pick(id keyID) (member, *block) {
	if len(b.blocks) == 1 {
		m := b.top.keys[id]
		if m.key != nil && b.record != nil && !m.value.IsNull() {
			b.remember(keyTable[id].printed, m, &b.top)
		}
		return m, &b.top
	}
	var best member
	var from *block
	for _, bl := range b.blocks {
		m := bl.keys[id]
		if m.key == nil || bl != &b.top && m.value.IsNull() {
			continue
		}
		if best.key == nil {
			best, from = m, bl
			continue
		}
		b.conflict(keyTable[id].printed, best, from, m, bl)
	}
	if best.key == nil {
		return member{}, &b.top
	}
	b.remember(keyTable[id].printed, best, from)
	return best, from
}

// declared reports whether any block has the key.
func (b *builder) declared(id keyID) bool {
	return slices.ContainsFunc(b.blocks, func(bl *block) bool { return bl.keys[id].key != nil })
}

// says reports whether any block holds a value for a key.
func (b *builder) says(id keyID) bool {
	return slices.ContainsFunc(b.blocks, func(bl *block) bool { return !bl.keys[id].value.IsNull() })
}

func (b *builder) conflict(field string, best member, from *block, m member, bl *block) {
	if m.value.IsNull() || best.value.Equal(m.value) {
		return
	}
	code := "block_conflict"
	if from.origin != skillFile {
		code = "sidecar_conflict"
	}
	b.note(code, bl, m.key, "%s is %s here and %s in %s, which counts", field, m.value.short(), best.value.short(),
		from.origin+" "+from.prefix+best.key.Value)
}

func (b *builder) remember(field string, m member, bl *block) {
	if b.record != nil {
		b.record[field] = Origin{File: bl.origin, Key: bl.prefix + leaf(m.key.Value), Line: m.key.Line}
	}
}

// text reads a text field: "" when it is absent, empty or no text.
func (b *builder) text(id keyID) string {
	m, bl := b.pick(id)
	return b.textOf(m, bl)
}

func (b *builder) textOf(m member, bl *block) string {
	if m.value == nil {
		return ""
	}
	text, ok := m.value.Text()
	if !ok {
		b.mismatch(m, bl, "text")
		return ""
	}
	if b.o.Dialect == MiniMax && m.value.Style == PlainStyle && !yamlString(text) {
		return ""
	}
	return strings.TrimSpace(text)
}

// mismatch reports a collection where something else is asked for.
func (b *builder) mismatch(m member, bl *block, want string) {
	if m.value.IsNull() {
		return
	}
	d := b.note("type_mismatch", bl, m.value, "%s is a %s, not %s", bl.prefix+m.key.Value, m.value.Kind, want)
	d.Fix = "write " + want
}

// yamlString reports whether YAML takes a plain scalar as a string.
func yamlString(text string) bool {
	switch strings.ToLower(text) {
	case "true", "false", "null", "~", "", ".inf", "-.inf", "+.inf", ".nan":
		return false
	}
	if _, ok := parseInt(text); ok {
		return false
	}
	return !isFloat(text)
}

// boolean reads a yes-or-no field. unsafe is the reading of an unreadable value.
func (b *builder) boolean(id keyID, def, safe bool) bool {
	m, bl := b.pick(id)
	return b.booleanOf(m, bl, def, safe)
}

func (b *builder) booleanOf(m member, bl *block, def, safe bool) bool {
	if m.value.IsNull() {
		return def
	}
	word, ok := m.value.Text()
	word = strings.ToLower(strings.TrimSpace(word))
	if ok {
		switch word {
		case "true", "yes", "1":
			return true
		case "false", "no", "0":
			return false
		}
		if b.o.Dialect == Blade {
			return def
		}
		switch word {
		case "on", "y":
			return true
		case "off", "n":
			return false
		}
	}
	d := b.note("bool_invalid", bl, m.value, "%s is %q, neither true nor false, and is read as %t",
		bl.prefix+m.key.Value, m.value.short(), safe)
	if near, ok := nearBool(word); ok {
		d.Fix = "write " + near
	}
	return safe
}

// enum reads a text field with a closed list of values; other values are reported
// and read as fallback.
func (b *builder) enum(id keyID, fallback string, values ...string) string {
	m, bl := b.pick(id)
	text := b.textOf(m, bl)
	if text == "" || slices.Contains(values, text) {
		return text
	}
	d := b.note("value_enum", bl, m.value, "%s is %q, not one of %s", bl.prefix+m.key.Value, clip(text, 60), strings.Join(values, ", "))
	d.Fix = "one of " + strings.Join(values, ", ")
	return fallback
}

// listing says how the text form of a list is cut.
type listing struct {
	nesting string // opening and closing characters inside which nothing is cut
	tools   bool
}

var (
	plainList = listing{nesting: "()"}
	globList  = listing{nesting: "(){}"}
	toolList  = listing{nesting: "()", tools: true}
)

// list reads a list field; nil when it is absent, empty but not nil when it is empty.
func (b *builder) list(id keyID, how listing) []string {
	m, bl := b.pick(id)
	if m.key == nil {
		return nil
	}
	return b.listOf(m, bl, how)
}

func (b *builder) listOf(m member, bl *block, how listing) []string {
	out := []string{}
	switch v := m.value; {
	case v.IsNull():
	case v.Kind == MappingNode:
		b.mismatch(m, bl, "a list")
	case v.Kind == SequenceNode:
		out = make([]string, 0, len(v.Content))
		for _, item := range v.Content {
			text, ok := item.Text()
			if !ok {
				b.mismatch(member{m.key, item}, bl, "a list of texts")
				continue
			}
			if text = strings.TrimSpace(text); text != "" {
				b.checkPattern(text, item, m, bl, how)
				out = append(out, text)
			}
		}
	default:
		if how.tools && b.o.Dialect != Blade {
			out = splitTools(v.Value)
		} else {
			out = splitList(v.Value, how.nesting)
		}
		for _, text := range out {
			b.checkPattern(text, v, m, bl, how)
		}
	}
	limit := b.limits.List
	if how.tools {
		limit = b.limits.Tools
	}
	if over := len(out) - limit; over > 0 {
		b.outOfRange(bl, m.value, 0, limit, "%s has %d entries, the limit is %d; %d are ignored", bl.prefix+m.key.Value, len(out), limit, over)
		out = slices.Clone(out[:limit])
	}
	return out
}

func (b *builder) checkPattern(text string, at *Node, m member, bl *block, how listing) {
	if how.tools && !parensBalanced(text) {
		b.note("tool_pattern_unbalanced", bl, at, "entry %q of %s has an unbalanced parenthesis", clip(text, 60), bl.prefix+m.key.Value)
	}
}

// splitList cuts text at commas outside the nesting characters when there is any such
// comma, else at blanks outside them. Empty entries are dropped.
func splitList(text, nesting string) []string {
	if strings.IndexByte(text, ',') >= 0 {
		if out, cuts := cut(text, nesting, ","); cuts > 0 {
			return out
		}
	}
	out, _ := cut(text, nesting, " \t\n")
	return out
}

// splitTools cuts text at commas and blanks outside parentheses: no tool has a blank
// in its name, so that a string that mixes both is still a list of tools. What is in
// parentheses stays with the tool before it: "Bash (git *)" must never become "Bash".
func splitTools(text string) []string {
	words, _ := cut(text, "()", ", \t\n")
	out := words[:0]
	for _, w := range words {
		if n := len(out); n > 0 && w[0] == '(' {
			out[n-1] += " " + w
			continue
		}
		out = append(out, w)
	}
	return out
}

// cut splits text at the ASCII characters at that stand outside the nesting ones, and
// returns how often it did.
func cut(text, nesting, at string) (out []string, cuts int) {
	depth, start := 0, 0
	out = make([]string, 0, 4)
	add := func(word string) {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	for i := 0; i < len(text); i++ {
		switch pos := strings.IndexByte(nesting, text[i]); {
		case pos >= 0 && pos%2 == 0:
			depth++
		case pos >= 0 && depth > 0:
			depth--
		case pos < 0 && depth == 0 && strings.IndexByte(at, text[i]) >= 0:
			add(text[start:i])
			start = i + 1
			cuts++
		}
	}
	add(text[start:])
	return slices.Clip(out), cuts
}

func parensBalanced(text string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// locales reads a map of language tag to text.
func (b *builder) locales(id keyID) map[string]string {
	m, bl := b.pick(id)
	if m.value.IsNull() {
		return nil
	}
	if m.value.Kind != MappingNode {
		b.mismatch(m, bl, "a mapping of language to text")
		return nil
	}
	out := make(map[string]string, m.value.Len())
	for i := range m.value.Len() {
		k, v := m.value.Pair(i)
		text, ok := v.Text()
		text = strings.TrimSpace(text)
		if b.o.Dialect == MiniMax && v.Style == PlainStyle && !yamlString(text) {
			ok = false
		}
		if !ok || text == "" || strings.TrimSpace(k.Value) == "" {
			b.note("locale_value", bl, v, "%s for %q is no text and is dropped", bl.prefix+m.key.Value, clip(k.Value, 40))
			continue
		}
		out[strings.TrimSpace(k.Value)] = text
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Localised returns the text of m for a BCP 47 tag: the exact tag, then language and
// script, then the language alone, else plain. Tags compare without case.
func Localised(m map[string]string, tag, plain string) string {
	parts := strings.Split(strings.ReplaceAll(tag, "_", "-"), "-")
	tries := []string{strings.Join(parts, "-")}
	if len(parts) > 1 && len(parts[1]) == 4 {
		tries = append(tries, parts[0]+"-"+parts[1])
	}
	tries = append(tries, parts[0])
	for _, try := range tries {
		best := ""
		for k := range m {
			if strings.EqualFold(strings.ReplaceAll(k, "_", "-"), try) && (best == "" || k < best) {
				best = k
			}
		}
		if best != "" {
			return m[best]
		}
	}
	return plain
}
