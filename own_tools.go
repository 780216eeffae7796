package deft

import (
	"github.com/deftskills/deft/gate"
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
	if e.o.Web != nil {
		web := *e.o.Web
		web.Dialect, web.Rand = e.o.Dialect, e.o.Rand
		out = append(out, toolset.Web(web)...)
	}
	return out
}
