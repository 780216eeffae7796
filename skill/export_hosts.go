package skill

import (
	"slices"
	"strings"
)

// exportHost is what an export has to know of a host.
type exportHost struct {
	keys   []string // documented forms of the keys that it acts on
	lists  bool     // allowed-tools may be a list
	block  bool     // block collections only, and no empty ones
	flat   bool     // metadata is text to text
	openAI bool     // reads agents/openai.yaml
	tools  string   // what allowed-tools does there, where it is not what deft does
}

func (h exportHost) reads(printed string) bool { return slices.Contains(h.keys, printed) }

// texts reports keys whose value is text whatever it looks like.
func (h exportHost) texts(printed string) bool {
	form, ok := keyForms[printed]
	return ok && isTextField(form.id) || printed == "allowed-tools" && !h.lists
}

func hostOf(p Profile) exportHost {
	standard := []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
	const shown = "tools are not restricted by this host"
	switch p {
	case ProfileClaudeCode:
		return exportHost{
			lists: true, tools: "the tools are pre-approved by this host, not restricted",
			keys: append(standard, "when_to_use", "version", "disallowed-tools", "disable-model-invocation",
				"user-invocable", "argument-hint", "arguments", "model", "effort", "context", "agent",
				"background", "hooks", "paths", "shell"),
		}
	case ProfileCodex:
		return exportHost{keys: standard, openAI: true, tools: shown}
	case ProfileMastra:
		return exportHost{keys: append(standard, "user-invocable"), tools: shown}
	case ProfileBlade:
		return exportHost{lists: true, keys: append(standard, "when_to_use", "disallowed-tools", "version",
			"disable-model-invocation", "user-invocable", "argument-hint", "model", "effort", "scope", "paths", "hooks", "shell")}
	case ProfilePluginStrict:
		return exportHost{keys: standard, block: true, flat: true, tools: shown}
	}
	return exportHost{keys: standard, block: true, tools: shown} // agentskills, claude-ai
}

// moveEffect says what a host without the key does not do; "" where the value is the
// default anyway.
func moveEffect(printed string, v *Node) string {
	text, _ := v.Text()
	yes := slices.Contains([]string{"true", "yes", "1", "on", "y"}, text)
	switch printed {
	case "disable-model-invocation":
		if slices.Contains([]string{"false", "no", "0", "off", "n"}, text) {
			return ""
		}
		return "manual-only is not enforced by this host"
	case "user-invocable", "listed", "default-enabled", "background":
		if yes {
			return ""
		}
	case "retired":
		if !yes {
			return ""
		}
	}
	if effect, ok := moveEffects()[printed]; ok {
		return effect
	}
	return "this host ignores it"
}

func moveEffects() map[string]string {
	return map[string]string{
		"title": "the title is not shown", "display-name": "the title is not shown",
		"displayNames": "localised titles are not shown", "descriptions": "localised descriptions are not shown",
		"when_to_use":      "the trigger text is not shown to the model",
		"disallowed-tools": "the listed tools stay usable on this host",
		"user-invocable":   "the skill may be offered as a command",
		"listed":           "the skill is listed like any other",
		"default-enabled":  "the skill starts enabled",
		"requires_beta":    "the skill is not hidden behind the flag",
		"argument-hint":    "no hint is shown, and `$N` is not replaced",
		"arguments":        "`$N` and `$name` are not replaced",
		"scope":            "how long the skill stays active is up to this host",
		"model":            "the model is not changed", "effort": "the effort is not changed",
		"context": "the skill runs in the conversation, not in a sub-agent",
		"agent":   "the sub-agent is not chosen", "background": "the sub-agent is waited for",
		"paths": "the skill is active without a matching file",
		"shell": "the policy of inline commands is not applied", "hooks": "hooks do not run",
		"on_error":   "a failing inline command is handled by this host",
		"platforms":  "the skill is offered on every system",
		"conditions": "the skill is offered where its conditions fail",
		"version":    "the version is not shown", "modeSlugs": "the modes are not applied",
	}
}

// blocks looks at what stands below metadata: what the host does not act on is lost
// there, and what it cannot read is written as text.
func (e *exporter) blocks(key *Node) {
	for i := range e.metadata.Len() {
		k, v := e.metadata.Pair(i)
		if (k.Value == "deft" || k.Value == "minara") && v.Kind == MappingNode && v.Len() > 0 {
			e.loss = append(e.loss, Loss{
				Key: key.Value + "." + k.Value, Line: k.Line, Action: LossKept,
				Effect: "routing, tools and conditions there are not applied by this host",
			})
		}
	}
	e.settle()
	if !e.host.block {
		return
	}
	old := e.metadata.Content
	minara := e.metadata.Get("minara")
	texts := minara != nil && minara.Kind == MappingNode && (e.host.flat || hasEmpty(minara)) // then both blocks are
	e.metadata.Content, minara = nil, nil
	for i := 0; i+1 < len(old); i += 2 {
		k, v := old[i], old[i+1]
		switch {
		case v.Kind == ScalarNode && e.host.flat && v.Style == PlainStyle:
			e.metadata.Content = append(e.metadata.Content, k, textNode(v.Value))
		case v.Kind == ScalarNode, !e.host.flat && !hasEmpty(v) && !(texts && k.Value == "deft"):
			e.metadata.Content = append(e.metadata.Content, k, v)
		case k.Value == "minara" && v.Kind == MappingNode:
			minara = v // after the deft block, which is the stronger one
		default:
			e.flatten(k, v)
		}
	}
	e.flattenMinara(minara)
}

// addText adds an entry of metadata.
func (e *exporter) addText(key, text string) {
	e.metadata.Content = append(e.metadata.Content, textNode(key), textNode(text))
	e.touched = true
}

// settle leaves one value for each key of the deft block, the one that Parse takes,
// and none for a key that says nothing: what an export adds must not meet another.
func (e *exporter) settle() {
	deft := e.metadata.Get("deft")
	var order []*Node // keys in the order in which Parse sees them
	if deft != nil && deft.Kind == MappingNode {
		for i := range deft.Len() {
			order = append(order, deft.Content[2*i])
		}
	}
	for i := range e.metadata.Len() {
		if k := e.metadata.Content[2*i]; strings.HasPrefix(k.Value, "deft.") {
			order = append(order, k)
		}
	}
	winners := map[keyID]*Node{}
	for _, k := range order {
		form, ok := keyForms[leaf(k.Value)]
		if !ok {
			continue
		}
		if w := winners[form.id]; w == nil || form.rank < keyForms[leaf(w.Value)].rank {
			winners[form.id] = k
		}
	}
	loses := func(k, v *Node) bool {
		form, ok := keyForms[leaf(k.Value)]
		return ok && (winners[form.id] != k || v.IsNull())
	}
	prune := func(m *Node, prefix string) {
		var kept []*Node
		for i := range m.Len() {
			if k, v := m.Pair(i); !strings.HasPrefix(k.Value, prefix) || !loses(k, v) {
				kept = append(kept, k, v)
			} else if !v.IsNull() {
				e.lose(k, LossDropped, "metadata says the same key in another place, which counts")
			}
		}
		m.Content = kept
	}
	if deft != nil && deft.Kind == MappingNode {
		prune(deft, "")
	}
	prune(e.metadata, "deft.")
}

func hasEmpty(v *Node) bool {
	return v.Kind != ScalarNode && v.Len() == 0 || slices.ContainsFunc(v.Content, hasEmpty)
}

// flatten writes one nested value below metadata as texts that Parse reads back.
func (e *exporter) flatten(k, v *Node) {
	switch {
	case k.Value == "deft" && v.Kind == MappingNode:
		for i := range v.Len() {
			mk, mv := v.Pair(i)
			e.addText("deft."+mk.Value, movedText(mv))
		}
	case kebabCase(k.Value) == "requires-env" && v.Kind == SequenceNode:
		e.addText(k.Value, strings.Join(entriesOf(v), ", "))
	default:
		e.addText(k.Value, jsonText(v))
	}
}

// flattenMinara writes metadata.minara as parts of the deft block: what that block
// does not say itself. What Parse does not read there keeps its name.
func (e *exporter) flattenMinara(minara *Node) {
	for i := range minara.Len() {
		k, v := minara.Pair(i)
		form, known := keyForms[k.Value]
		printed := keyTable[form.id].printed
		switch strong := e.strong(printed); {
		case !known || keyTable[form.id].places&inMinara == 0:
			e.addText("minara."+k.Value, movedText(v))
		case v.IsNull():
		case strong == nil:
			e.addText("deft."+printed, movedText(v))
		default:
			if merged := unfold(strong); merged.Kind == MappingNode && v.Kind == MappingNode {
				*strong = *textNode(jsonText(mergeMembers(merged, v)))
			}
		}
	}
}

// strong returns the value that the deft block has for a key, or nil.
func (e *exporter) strong(printed string) *Node {
	if best, _ := find(e.metadata.Get("deft"), printed); best.key != nil {
		return best.value
	}
	for _, form := range spellings(printed) {
		if v := e.metadata.Get("deft." + form); v != nil {
			return v
		}
	}
	return nil
}

// mergeMembers returns strong with the members of weak that it does not have.
func mergeMembers(strong, weak *Node) *Node {
	out := &Node{Kind: MappingNode, Content: slices.Clone(strong.Content)}
	for i := range weak.Len() {
		k, v := weak.Pair(i)
		if best, _ := find(strong, k.Value); best.key == nil {
			out.Content = append(out.Content, k, v)
		}
	}
	return out
}

// inDeft reports whether the deft block says a key by itself.
func (e *exporter) inDeft(printed string) bool { return e.strong(printed) != nil }

// mergeConditions returns the top-level conditions as the deft block has to say them:
// each member that no stronger block has, with those that block has already.
func (e *exporter) mergeConditions(top *Node) *Node {
	if minara := e.metadata.Path("minara", "conditions"); minara != nil && minara.Kind == MappingNode {
		rest := &Node{Kind: MappingNode}
		for i := range top.Len() {
			k, v := top.Pair(i)
			if best, _ := find(minara, k.Value); best.key == nil {
				rest.Content = append(rest.Content, k, v)
			}
		}
		top = rest
	}
	remove := func(m *Node, key string) *Node {
		for i := range m.Len() {
			if k, v := m.Pair(i); k.Value == key {
				m.Content = slices.Delete(m.Content, 2*i, 2*i+2)
				return v
			}
		}
		return nil
	}
	for _, strong := range []*Node{remove(e.metadata.Get("deft"), "conditions"), remove(e.metadata, "deft.conditions")} {
		if strong = unfoldNode(strong); strong != nil && strong.Kind == MappingNode {
			top = mergeMembers(strong, top)
		}
	}
	return top
}

func unfoldNode(v *Node) *Node {
	if v == nil {
		return nil
	}
	return unfold(v)
}
