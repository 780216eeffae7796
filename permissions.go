package deft

import (
	"slices"

	"github.com/deftskills/deft/skill"
)

// findings are those about the options, each once: a host that reads its settings early
// may have told those of the rules already.
func (o Options) findings() []skill.Diagnostic {
	out := slices.Clone(o.Diagnostics)
	for _, d := range o.Rules.Diagnostics() {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}
