package deft

import (
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

// ownTools are the tools of a session beside those for skills, files and the shell, as far
// as the host gives what they need.
func (e *Engine) ownTools(w *work) []toolset.Tool {
	notes := toolset.NewMemories()
	if w != nil {
		notes = w.notes
	}
	out := toolset.Memory(toolset.MemoryOptions{
		Dialect: e.o.Dialect, Notes: notes, Secrets: gate.Redactor{Values: e.vault.Hide}, Rand: e.o.Rand,
	})
	out = append(out, toolset.Task(taskOptions(e, w))...)
	if e.o.Web != nil {
		web := *e.o.Web
		web.Dialect, web.Rand = e.o.Dialect, e.o.Rand
		out = append(out, toolset.Web(web)...)
	}
	return out
}

// taskOptions are the kinds of sub-agents that a session may run; w nil = for a description.
func taskOptions(e *Engine, w *work) toolset.TaskOptions {
	o := toolset.TaskOptions{Dialect: e.o.Dialect}
	kinds := agent.BuiltinDefinitions()
	if w != nil {
		o.Depth = w.depth
		if w.kinds != nil {
			kinds = w.kinds
		}
	}
	for _, k := range kinds {
		if k.Path != "" || e.o.Dialect == skill.ClaudeCode == claudeKinds[k.ID] {
			o.Kinds = append(o.Kinds, toolset.Kind{ID: k.ID, Description: k.Description})
		}
	}
	return o
}

// claudeKinds are the built-in kinds that are there by the names of dialect claude-code.
var claudeKinds = map[string]bool{"general-purpose": true, "Explore": true, "Plan": true}
