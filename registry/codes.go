package registry

import (
	"fmt"

	"github.com/deftskills/deft/skill"
)

// codes is every diagnostic that this room makes: level and fix.
var codes = [...]struct {
	code  string
	level skill.Level
	fix   string
}{
	{"copies_differ", skill.LevelWarning, "remove or rename one of the two"},
	{"duplicate", skill.LevelInfo, "remove one of the two copies"},
	{"handle_collision", skill.LevelWarning, "rename one"},
	{"source_failed", skill.LevelWarning, "report it to the author of the source"},
}

func finding(code, file, format string, args ...any) skill.Diagnostic {
	d := skill.Diagnostic{Code: code, Level: skill.LevelError, File: file, Offset: -1, Message: fmt.Sprintf(format, args...)}
	for _, c := range codes {
		if c.code == code {
			d.Level, d.Fix = c.level, c.fix
		}
	}
	return d
}
