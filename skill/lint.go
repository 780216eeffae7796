package skill

import (
	"io/fs"

	"github.com/deftskills/deft/internal/limits"
)

// LintOptions is what Lint may look at beyond the skill and its body. The zero
// value lints the text alone.
type LintOptions struct {
	Path     string  // shown as the file of diagnostics; "" means SKILL.md
	FileName string  // the file's base name; "" means SKILL.md
	Dialect  Dialect // Minara has a lint of its own
	Builtin  bool    // the skill ships with deft: some advice becomes a rule
	// FS is the skill's directory; nil leaves out the lints that need it. Links in it
	// are not followed further than FS follows them.
	FS fs.FS
	// Tokens counts tokens of o200k_base; nil estimates one token for four bytes.
	Tokens func(text string) int
	Limits limits.Skill
}

// Lint gives authoring advice on s, whose body is body with LF line ends. Most of it
// is at level warning; nothing in it stops a load.
func Lint(s *Skill, body []byte, l LintOptions) []Diagnostic {
	return nil
}
