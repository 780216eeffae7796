package config

import "go.yaml.in/yaml/v3"

// HookList holds a person's own hooks, in a form that the header of a skill has for them: a
// list, or a mapping from event to groups.
type HookList struct {
	Value any  `json:"value"`
	From  From `json:"from"`
}

// hooks takes a list, or a mapping of commands, list, and events.
func (l *loader) hooks(key string, k, v *yaml.Node) {
	add := func(n *yaml.Node, of func(any) any) {
		var value any
		if err := n.Decode(&value); err != nil {
			l.bad(n, key+" cannot be read; none of these hooks counts", "write hooks as a skill has them")
			return
		}
		l.config.Hooks = append(l.config.Hooks, HookList{of(value), l.from(n)})
		l.config.Mark(key, l.from(k))
	}
	whole := func(v any) any { return v }
	if v.Kind == yaml.SequenceNode {
		add(v, whole)
		return
	}
	l.mapping(v, key+".", func() table {
		return table{
			"commands": l.boolean(&l.config.Commands.Hooks),
			"list":     func(_ string, _, v *yaml.Node) { add(v, whole) },
			"*": func(_ string, k, v *yaml.Node) {
				add(v, func(value any) any { return map[string]any{k.Value: value} })
			},
		}
	})
}
