package skill

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The sidecars that a source hands over beside SKILL.md.
const (
	SidecarConfig = "SKILL.config.json"
	SidecarOpenAI = "agents/openai.yaml"
)

// keywordRunes bounds one routing keyword, and keywordCount their number.
const (
	keywordRunes = 128
	keywordCount = 256
)

// extend finds the blocks that may hold fields, strongest first: the sidecar, then
// metadata.deft, then metadata.minara, then the header.
func (b *builder) extend() {
	metadata := b.top.keys[keyMetadata]
	if side := b.sidecar(); side != nil {
		b.blocks = append(b.blocks, side)
	}
	if metadata.value != nil {
		if metadata.value.Kind == MappingNode {
			b.metadataBlocks(metadata.value)
		} else {
			b.mismatch(metadata, &b.top, "a mapping")
		}
	}
	b.blocks = append(b.blocks, &b.top)
}

func (b *builder) metadataBlocks(metadata *Node) {
	var deft *block
	open := func() *block {
		if deft == nil {
			deft = &block{file: b.top.file, origin: b.top.origin, prefix: "metadata.deft.", place: inDeft}
			b.blocks = append(b.blocks, deft)
		}
		return deft
	}
	if n := metadata.Get("deft"); !n.IsNull() {
		b.fillMap(open(), n)
	}
	for i := range metadata.Len() {
		k, v := metadata.Pair(i)
		if name, ok := strings.CutPrefix(k.Value, "deft."); ok {
			b.put(open(), member{k, unfold(v)}, name)
		}
	}
	if n := metadata.Get("minara"); !n.IsNull() {
		minara := &block{file: b.top.file, origin: b.top.origin, prefix: "metadata.minara.", place: inMinara}
		b.fillMap(minara, n)
		b.blocks = append(b.blocks, minara)
	}
	b.nonStrings(metadata)
}

func (b *builder) fillMap(bl *block, n *Node) {
	if n.Kind != MappingNode {
		d := b.note("type_mismatch", bl, n, "%s is a %s, not a mapping", strings.TrimSuffix(bl.prefix, "."), n.Kind)
		d.Fix = "write a mapping"
		return
	}
	b.fill(bl, n)
}

// unfold reads the compact JSON that an export writes for maps and lists, and for
// texts that would look like JSON.
func unfold(v *Node) *Node {
	text, ok := v.Text()
	if !ok || text == "" || strings.IndexByte("{[\"", text[0]) < 0 {
		return v
	}
	if n, why := parseJSON([]byte(text), v.Line, v.Column); why == nil {
		return n
	}
	return v
}

// nonStrings notes once that metadata holds what other hosts refuse there.
func (b *builder) nonStrings(metadata *Node) {
	count := 0
	var first *Node
	for i := range metadata.Len() {
		_, v := metadata.Pair(i)
		if v.Kind != ScalarNode || v.Style == PlainStyle && !yamlString(v.Value) {
			if first == nil {
				first = v
			}
			count++
		}
	}
	if first != nil {
		b.note("metadata_not_string", &b.top, first, "metadata holds %d values that are no strings; they are kept", count)
	}
}

// sidecar reads SKILL.config.json; nil when there is none or it cannot be read.
func (b *builder) sidecar() *block {
	src, ok := b.o.Sidecars[SidecarConfig]
	if !ok {
		return nil
	}
	bl := &block{file: beside(b.o.Path, SidecarConfig), origin: SidecarConfig, place: inDeft}
	if int64(len(src)) > b.limits.Sidecar {
		b.badSidecar(bl.file, 1, 1, fmt.Sprintf("file has %d bytes, the limit is %d", len(src), b.limits.Sidecar))
		return nil
	}
	root, why := parseJSON(src, 1, 1)
	if why == nil && root.Kind != MappingNode {
		why = &fault{line: 1, column: 1, message: "file is a " + root.Kind.String() + ", not an object"}
	}
	if why != nil {
		b.badSidecar(bl.file, why.line, why.column, why.message)
		return nil
	}
	b.fill(bl, root)
	return bl
}

func (b *builder) badSidecar(file string, line, column int, message string) {
	b.add(newDiagnostic("sidecar_invalid", file, line, column, message))
}

// beside returns the shown path of a file of the same directory.
func beside(path, name string) string {
	if i := strings.LastIndexAny(path, `/\`); i >= 0 {
		return path[:i+1] + name
	}
	return name
}

// sub returns, for a map field, the map of each block that has one, as blocks whose
// members are looked up by find.
type sub struct {
	bl *block
	m  *Node
}

func (b *builder) subs(id keyID) []sub {
	var out []sub
	for _, bl := range b.blocks {
		m := bl.keys[id]
		if m.value.IsNull() {
			continue
		}
		if m.value.Kind != MappingNode {
			b.mismatch(m, bl, "a mapping")
			continue
		}
		inner := *bl
		inner.prefix += leaf(m.key.Value) + "."
		out = append(out, sub{&inner, m.value})
	}
	return out
}

// pickSub is pick for a member of a map field.
func (b *builder) pickSub(subs []sub, field, printed string) (best member, from *block) {
	for _, s := range subs {
		m, losers := find(s.m, printed)
		for _, l := range losers {
			if !l.value.Equal(m.value) {
				b.note("key_alias_conflict", s.bl, l.key, "key %q says other than %q on line %d, which counts", l.key.Value, m.key.Value, m.key.Line)
			}
		}
		switch {
		case m.key == nil:
		case best.key == nil:
			best, from = m, s.bl
			b.remember(field, m, s.bl)
		default:
			b.conflict(field, best, from, m, s.bl)
		}
	}
	return best, from
}

func (b *builder) subList(subs []sub, parent, printed string) []string {
	if len(subs) == 0 {
		return nil
	}
	m, bl := b.pickSub(subs, parent+"."+printed, printed)
	if m.key == nil {
		return nil
	}
	return b.listOf(m, bl, plainList)
}

// known reports the members of the maps that are none of names.
func (b *builder) known(subs []sub, names ...string) {
	for _, s := range subs {
		for i := range s.m.Len() {
			k, _ := s.m.Pair(i)
			kebab := kebabCase(k.Value)
			if !slices.ContainsFunc(names, func(n string) bool { return kebabCase(n) == kebab }) {
				d := b.note("key_unknown", s.bl, k, "key %q is unknown and kept", s.bl.prefix+clip(k.Value, 60))
				d.Level = LevelWarning
			}
		}
	}
}

// routing reads what the skill tells the router.
func (b *builder) routing(m *Meta) {
	coActivate := b.list(keyCoActivate, plainList)
	subs := b.subs(keyRouting)
	if len(subs) == 0 && len(coActivate) == 0 {
		return
	}
	b.known(subs, "keywords", "negative_keywords", "stages", "asset_classes", "signal_sources")
	m.Routing = &Routing{
		Keywords:         b.keywords(subs, "keywords"),
		NegativeKeywords: b.keywords(subs, "negative_keywords"),
		Stages:           b.stages(subs),
		AssetClasses:     b.subList(subs, "routing", "asset_classes"),
		SignalSources:    b.subList(subs, "routing", "signal_sources"),
		CoActivate:       coActivate,
	}
}

var stageNames = []string{"discover", "evaluate", "decide", "manage"}

func (b *builder) stages(subs []sub) []string {
	m, bl := b.pickSub(subs, "routing.stages", "stages")
	if m.key == nil {
		return nil
	}
	var out []string
	for _, s := range b.listOf(m, bl, plainList) {
		if !slices.Contains(stageNames, s) {
			d := b.note("value_enum", bl, m.value, "stage %q is not one of %s", clip(s, 60), strings.Join(stageNames, ", "))
			d.Fix = "one of " + strings.Join(stageNames, ", ")
			continue
		}
		out = append(out, s)
	}
	return out
}

// keywords keeps the first of too many and drops those over the length. A text form
// is cut at commas only: a keyword may hold blanks.
func (b *builder) keywords(subs []sub, printed string) []string {
	m, bl := b.pickSub(subs, "routing."+printed, printed)
	if m.key == nil || m.value.IsNull() {
		return nil
	}
	var words []string
	if text, ok := m.value.Text(); ok {
		words, _ = cut(text, "", ",")
	} else if m.value.Kind == SequenceNode {
		words = make([]string, 0, len(m.value.Content))
		for _, item := range m.value.Content {
			text, ok := item.Text()
			switch text = strings.TrimSpace(text); {
			case ok && text == "" || item.IsNull():
				b.note("keyword_empty", bl, item, "keyword is empty and is dropped")
			case !ok:
				b.mismatch(member{m.key, item}, bl, "a list of texts")
			case utf8.RuneCountInString(text) > keywordRunes:
				b.outOfRange(bl, item, 1, keywordRunes, "keyword has %d characters, the limit is %d; it is dropped", utf8.RuneCountInString(text), keywordRunes)
			default:
				words = append(words, text)
			}
		}
	} else {
		b.mismatch(m, bl, "a list")
	}
	if len(words) > keywordCount {
		b.outOfRange(bl, m.value, 0, keywordCount, "%s has %d entries, the limit is %d; %d are ignored",
			bl.prefix+m.key.Value, len(words), keywordCount, len(words)-keywordCount)
		words = words[:keywordCount]
	}
	return words
}
