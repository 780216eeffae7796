package skill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/limits"
)

// LossAction says what an export did with a key.
type LossAction string

// The actions of an export, from harmless to final.
const (
	LossKept    LossAction = "kept"
	LossRenamed LossAction = "renamed"
	LossMoved   LossAction = "moved"
	LossEmptied LossAction = "emptied"
	LossDropped LossAction = "dropped"
)

// Loss is one key that a host does not act on as deft does. Effect says in words what
// is lost, e.g. "manual-only is not enforced by this host".
type Loss struct {
	Key    string     `json:"key"`    // as spelt in the file, dotted below a map
	Line   int        `json:"line"`   // of the key in the exported file's source; 0 where it has none
	Action LossAction `json:"action"` // what became of the text
	Effect string     `json:"effect"`
}

// ExportOptions changes what ExportWith does. The zero value is Export's.
type ExportOptions struct {
	// Fix makes name and description valid for the host: the handle as the name (the
	// caller renames the directory too), a description cut at the end of a word.
	Fix bool
	// Sidecars are the files beside the skill; one that the host reads too is extended,
	// never replaced.
	Sidecars map[string][]byte
	Limits   limits.Skill
}

// Export is ExportWith with the zero options.
func Export(s *Skill, src []byte, p Profile) (out []byte, files map[string][]byte, loss []Loss, err error) {
	return ExportWith(s, src, p, ExportOptions{})
}

// ExportWith writes the skill s, whose file is src, as the host of profile p reads it:
// the new SKILL.md, and files to write beside it by their path. Keys that the host
// does not know move below metadata, from where Parse restores every field. The body
// keeps its bytes; a file that the host reads as it is keeps all of them. loss names
// each key that is not acted on as deft does, and why the host would still refuse the
// file. The error is for a skill that is not valid.
func ExportWith(s *Skill, src []byte, p Profile, o ExportOptions) (out []byte, files map[string][]byte, loss []Loss, err error) {
	root := s.Raw()
	if !s.Valid || root == nil {
		return nil, nil, nil, fmt.Errorf("skill %q: not valid, nothing to export", s.Name)
	}
	if p == ProfileDeft {
		return src, nil, nil, nil
	}
	e := exporter{s: s, host: hostOf(p), o: o, metadata: emptyMapping(1)}
	e.touched = e.misread(src, p)
	e.header(root)
	e.texts(root)
	e.openAI()
	out = src
	if e.touched {
		out = e.file(src)
	}
	for _, d := range Validate(Input{Source: out, Path: skillFile, Limits: o.Limits}, p).Diagnostics {
		if d.Level == LevelError {
			e.loss = append(e.loss, Loss{Key: lossKey(d.Code), Line: d.Line, Action: LossKept, Effect: "this host refuses the file: " + d.Message})
		}
	}
	return out, e.files, e.loss, nil
}

func lossKey(code string) string {
	for _, key := range []string{"name", "description"} {
		if strings.HasPrefix(code, key) {
			return key
		}
	}
	return code
}

// exporter is one export. out holds the header's pairs, metadata what goes below
// metadata, each in the order of the file.
type exporter struct {
	s        *Skill
	host     exportHost
	o        ExportOptions
	out      []member
	metadata *Node
	files    map[string][]byte
	loss     []Loss
	touched  bool // the file has to be written anew
}

// misread reports whether the host cannot read the header as it is, or reads another
// name or description from it.
func (e *exporter) misread(src []byte, p Profile) bool {
	r := Validate(Input{Source: src, Limits: e.o.Limits}, p)
	for _, d := range r.Diagnostics {
		switch {
		case d.Level != LevelError || e.s.header == "":
		case strings.HasPrefix(d.Code, "yaml_"), strings.HasPrefix(d.Code, "header_"), d.Code == "SKILL_SCHEMA_INVALID",
			d.Code == "name_missing", d.Code == "description_missing", d.Code == "type_mismatch": // a number, say
			return true
		}
	}
	if r.Properties.Name != e.s.Name && r.Properties.Name != "" {
		return true
	}
	return r.Properties.Description != e.s.Description && r.Properties.Description != ""
}

// header sorts the pairs of the header: kept, moved below metadata, or dropped where
// another one says the same key.
func (e *exporter) header(root *Node) {
	if m, _ := find(root, "metadata"); m.value != nil && m.value.Kind == MappingNode {
		e.metadata = m.value
		e.blocks(m.key)
	}
	for i := range root.Len() {
		k, v := root.Pair(i)
		printed, known := KeyName(k.Value)
		if best, _ := find(root, printed); known && best.key != k {
			e.lose(k, LossDropped, "another spelling of the key counts")
			continue
		}
		switch {
		case printed == "metadata" && v == e.metadata:
		case printed == "metadata" && v.IsNull():
		case known && e.host.reads(printed):
			e.keep(k, printed, v)
		case known && keyTable[keyForms[k.Value].id].places&(atTop|inDeft) == atTop|inDeft:
			e.move(k, printed, v)
		case known: // not read here, but it would be where it goes
			e.move(k, "top."+k.Value, v)
		default:
			e.move(k, k.Value, v)
		}
	}
}

func (e *exporter) lose(k *Node, action LossAction, effect string) {
	if effect != "" {
		e.loss = append(e.loss, Loss{Key: k.Value, Line: k.Line, Action: action, Effect: effect})
	}
	if action != LossKept {
		e.touched = true
	}
}

func (e *exporter) keep(k *Node, printed string, v *Node) {
	if k.Value != printed {
		e.touched = true
	}
	switch {
	case printed == "allowed-tools":
		v = e.tools(k, v)
	case (printed == "license" || printed == "compatibility") && v.Kind != ScalarNode:
		text := jsonText(v) // no text to deft; a host that wants one gets it
		if !e.inDeft(printed) {
			e.put(printed, text)
		}
		v = textNode(text)
	}
	e.out = append(e.out, member{&Node{Value: printed, Line: k.Line}, v})
}

// tools writes a tool list as one text, which is the standard's form.
func (e *exporter) tools(k *Node, v *Node) *Node {
	if effect := e.host.tools; effect != "" {
		e.lose(k, LossKept, effect)
	}
	if e.host.lists || v.IsNull() || v.Kind == MappingNode {
		return v
	}
	entries := entriesOf(v)
	for _, sep := range []string{" ", ", "} {
		joined := strings.Join(entries, sep)
		if v.Kind == ScalarNode && slices.Equal(splitTools(v.Value), entries) {
			joined = v.Value
		} else {
			e.touched = true
		}
		if slices.Equal(splitTools(joined), entries) {
			return textNode(joined)
		}
	}
	e.touched = true
	e.put("allowed-tools", jsonText(v))
	return textNode(strings.Join(entries, " "))
}

// entriesOf returns the texts of a list in either of its forms.
func entriesOf(v *Node) []string {
	if v.Kind == ScalarNode {
		return splitTools(v.Value)
	}
	entries := []string{}
	for _, item := range v.Content {
		if text, ok := item.Text(); ok && strings.TrimSpace(text) != "" {
			entries = append(entries, strings.TrimSpace(text))
		}
	}
	return entries
}

// move writes a key that the host does not know as text below metadata.
func (e *exporter) move(k *Node, printed string, v *Node) {
	if v.IsNull() {
		if printed != "disallowed-tools" {
			e.lose(k, LossDropped, "")
			return
		}
		v = &Node{Kind: SequenceNode} // empty differs from absent
	}
	if printed == "conditions" && v.Kind == MappingNode {
		v = e.mergeConditions(v)
	} else if e.inDeft(printed) {
		e.lose(k, LossDropped, "metadata says the same key, which counts")
		return
	}
	e.put(printed, movedText(v))
	e.lose(k, LossMoved, moveEffect(printed, v))
	e.touched = true
}

// movedText is a value as the text that unfold reads back.
func movedText(v *Node) string {
	if v.Kind != ScalarNode || v.Value != "" && strings.IndexByte("{[\"", v.Value[0]) >= 0 {
		return jsonText(v)
	}
	return v.Value
}

func textNode(text string) *Node {
	return &Node{Style: DoubleQuotedStyle, Value: text}
}

// put sets metadata "deft.KEY".
func (e *exporter) put(key, text string) {
	e.metadata.Content = append(e.metadata.Content, textNode("deft."+key), textNode(text))
	e.touched = true
}

// texts settles name and description, and appends the trigger text where the host has
// no key for it.
func (e *exporter) texts(root *Node) {
	desc, has := e.text("description"), false
	if desc != nil {
		has = !desc.IsNull() && strings.TrimSpace(desc.Value) != ""
	}
	if when, _ := find(root, "when_to_use"); when.value != nil && has && !e.host.reads("when_to_use") && !e.inDeft("description") {
		if text, ok := when.value.Text(); ok {
			joined := strings.TrimRight(strings.TrimSpace(desc.Value), ".") + ". " + strings.TrimSpace(text)
			if runes(joined) <= standardDescription {
				e.put("description", movedText(desc))
				*desc = *textNode(joined)
				e.loss = slices.DeleteFunc(e.loss, func(l Loss) bool { return l.Key == when.key.Value })
			}
		}
	}
	if e.o.Fix {
		e.fix(desc, has)
	}
}

// text returns the value that the export has for a key, or nil.
func (e *exporter) text(key string) *Node {
	for _, m := range e.out {
		if m.key.Value == key {
			return m.value
		}
	}
	return nil
}

// fix makes name and description valid.
func (e *exporter) fix(desc *Node, has bool) {
	name := strings.Join(strings.FieldsFunc(e.s.Handle, func(r rune) bool { return r == '-' || r == ':' }), "-")
	name = strings.TrimRight(string([]rune(name)[:min(runes(name), standardName)]), "-")
	switch n := e.text("name"); {
	case n == nil:
		e.out = slices.Insert(e.out, 0, member{&Node{Value: "name"}, textNode(name)})
		e.touched = true
	case strings.TrimSpace(n.Value) != name:
		*n, e.touched = *textNode(name), true
	}
	switch {
	case !has && e.s.Description != "":
		e.out = slices.DeleteFunc(e.out, func(m member) bool { return m.key.Value == "description" })
		e.out = slices.Insert(e.out, 1, member{&Node{Value: "description"}, textNode(cutAtWord(e.s.Description, standardDescription))})
		e.touched = true
	case has && runes(desc.Value) > standardDescription:
		if !e.inDeft("description") {
			e.put("description", movedText(desc))
		}
		e.loss = append(e.loss, Loss{Key: "description", Line: desc.Line, Action: LossEmptied, Effect: "the end of the description is not shown"})
		*desc = *textNode(cutAtWord(strings.TrimSpace(desc.Value), standardDescription))
		e.touched = true
	}
}

// cutAtWord cuts text to limit code points at the end of a word, with a mark.
func cutAtWord(text string, limit int) string {
	r := []rune(text)
	if len(r) <= limit {
		return text
	}
	cut := string(r[:limit-1])
	if i := strings.LastIndexAny(cut, " \n\t"); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " \n\t.,;:") + "…"
}

// file writes the new SKILL.md around the old body.
func (e *exporter) file(src []byte) []byte {
	var w yamlWriter
	for _, m := range e.out {
		if v := m.value; v.Kind == ScalarNode && !v.IsNull() && e.host.texts(m.key.Value) {
			m.value = textNode(v.Value)
		}
		w.pair(0, m.key.Value, m.value)
	}
	if deft := e.metadata.Get("deft"); deft != nil && deft.Kind == MappingNode && deft.Len() == 0 {
		i := slices.Index(e.metadata.Content, deft)
		e.metadata.Content = slices.Delete(e.metadata.Content, i-1, i+1)
	}
	if e.metadata.Len() > 0 {
		w.pair(0, "metadata", e.metadata)
	}
	p := Split(src)
	body := src[p.Body.Start:p.Body.End]
	return slices.Concat([]byte("---\n"+w.b.String()+"---\n"), body)
}

// openAI writes the sidecar that Codex reads: manual-only and the shown title.
func (e *exporter) openAI() {
	if !e.host.openAI {
		return
	}
	manual := e.s.Meta.DisableModelInvocation
	title := e.s.Meta.DisplayName
	if best, _ := find(e.s.Raw(), "title"); title == "" && !best.value.IsNull() {
		title = e.s.Title
	}
	if !manual && title == "" {
		return
	}
	root := emptyMapping(1)
	if old, ok := e.o.Sidecars[SidecarOpenAI]; ok && len(bytes.TrimSpace(old)) > 0 {
		h := headerText{text: NormaliseBody(strings.TrimPrefix(string(old), bomBytes)), first: 1, limits: e.o.Limits.WithDefaults()}
		var why *fault
		if root, _, why = h.tree(); why != nil {
			return // what cannot be read is not written over; the keys are below metadata
		}
	}
	before := jsonText(root)
	if manual {
		setPath(root, &Node{Value: "false"}, "policy", "allow_implicit_invocation")
		e.loss = slices.DeleteFunc(e.loss, func(l Loss) bool {
			printed, _ := KeyName(l.Key)
			return printed == "disable-model-invocation"
		})
	}
	if title != "" && root.Path("interface", "display_name").IsNull() {
		setPath(root, textNode(title), "interface", "display_name")
		e.keepTitle()
	}
	if jsonText(root) == before {
		return
	}
	var w yamlWriter
	for i := range root.Len() {
		k, v := root.Pair(i)
		w.pair(0, k.Value, v)
	}
	e.files = map[string][]byte{SidecarOpenAI: []byte(w.b.String())}
}

// keepTitle declares the title where nothing did: a shown name of the sidecar would
// stand in for it.
func (e *exporter) keepTitle() {
	switch v := e.strong("title"); {
	case v == nil:
		e.put("title", movedText(textNode(e.s.Title)))
	case strings.TrimSpace(v.Value) == "" && v.Kind == ScalarNode:
		*v = *textNode(movedText(textNode(e.s.Title)))
	}
}

// setPath sets the value at keys, making mappings on the way.
func setPath(n, value *Node, keys ...string) {
	for i, key := range keys {
		last := i == len(keys)-1
		at := -1
		for j := range n.Len() {
			if k, _ := n.Pair(j); k.Value == key {
				at = 2*j + 1
			}
		}
		if at < 0 {
			n.Content = append(n.Content, textNode(key), emptyMapping(1))
			at = len(n.Content) - 1
		}
		switch {
		case last:
			n.Content[at] = value
		case n.Content[at].Kind != MappingNode:
			n.Content[at] = emptyMapping(1)
		}
		n = n.Content[at]
	}
}

func jsonString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
