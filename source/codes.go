package source

import "github.com/deftskills/deft/skill"

// finding returns the diagnostic of a code about a file; the table is skill's.
func finding(code, file, format string, args ...any) skill.Diagnostic {
	return skill.Finding(code, file, format, args...)
}
