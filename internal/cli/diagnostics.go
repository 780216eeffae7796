package cli

import (
	"fmt"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
)

// looks are the colours of the levels.
var looks = map[skill.Level]safetext.Style{
	skill.LevelError: safetext.Red, skill.LevelWarning: safetext.Yellow, skill.LevelInfo: safetext.Dim,
}

// diagnostic shows one diagnostic on standard error.
func (r *run) diagnostic(d skill.Diagnostic) { r.writeDiagnostic(r.err, d) }

// writeDiagnostic shows one diagnostic: place, level, message, code, and what to do.
func (r *run) writeDiagnostic(p *safetext.Printer, d skill.Diagnostic) {
	p.Printf("%s %s %s [%s]\n", where(d), p.Paint(looks[d.Level], r.words.Say(string(d.Level))), d.Message, d.Code)
	if d.Fix != "" {
		p.Printf("  hint: %s\n", r.words.Fix(d.Fix))
	}
}

// where is the place of a diagnostic, as editors take it.
func where(d skill.Diagnostic) string {
	switch {
	case d.Line > 0 && d.Column > 0:
		return fmt.Sprintf("%s:%d:%d:", d.File, d.Line, d.Column)
	case d.Line > 0:
		return fmt.Sprintf("%s:%d:", d.File, d.Line)
	case d.Offset > 0:
		return fmt.Sprintf("%s: byte %d:", d.File, d.Offset)
	}
	return d.File + ":"
}
