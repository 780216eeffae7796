package deft

import "github.com/deftskills/deft/toolset"

// ownTools are the tools of a session beside those for skills, files and the shell, as far
// as the host gives what they need.
func (e *Engine) ownTools() []toolset.Tool {
	var out []toolset.Tool
	if e.o.Web != nil {
		web := *e.o.Web
		web.Dialect = e.o.Dialect
		out = append(out, toolset.Web(web)...)
	}
	return out
}
