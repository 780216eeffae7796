package source

import (
	"fmt"

	"github.com/deftskills/deft/skill"
)

// codes is every diagnostic that this room makes: level and fix. A format of %s in a
// fix takes the path that the finding is about.
var codes = [...]struct {
	code  string
	level skill.Level
	fix   string
}{
	{"data_content", skill.LevelError, "give the definition a content"},
	{"data_duplicate", skill.LevelWarning, "give each definition a name of its own"},
	{"file_special", skill.LevelError, "make it a readable regular file"},
	{"file_unreadable", skill.LevelError, "make it a readable regular file"},
	{"limit_file", skill.LevelError, "shorten; move detail to references/"},
	{"file_name", skill.LevelWarning, "rename to SKILL.md"},
	{"file_ignored", skill.LevelInfo, "remove or rename the file that is not read"},
	{"drift", skill.LevelWarning, "none; the new text is used"},
	{"changed_during_read", skill.LevelWarning, "none; it is read again at the next refresh"},
	{"path_variable", skill.LevelWarning, "set the variable or write the path out"},
	{"path_missing", skill.LevelWarning, "correct the path or create the directory"},
	{"root_unreadable", skill.LevelWarning, "allow reading of the directory or remove it from the sources"},
	{"root_skill_file", skill.LevelWarning, "move it into a folder of its own"},
	{"too_deep", skill.LevelWarning, "move the skill nearer to its root"},
	{"dangling", skill.LevelWarning, "remove the link or restore its target"},
	{"link_cycle", skill.LevelWarning, "remove the link"},
	{"link_outside", skill.LevelWarning, "copy the target into the project or add its folder as a source"},
	{"link_not_directory", skill.LevelInfo, "remove the link or point it at a skill folder"},
	{"limit_walk", skill.LevelWarning, "point the source at a smaller tree or raise the limit"},
	{"limit_root", skill.LevelWarning, "split the root or raise the limit"},
	{"root_outside_project", skill.LevelWarning, "confirm the directory as a source of your own"},
	{"client_unknown", skill.LevelWarning, "see the list of clients"},
	{"path_glob", skill.LevelWarning, "write a valid pattern"},
}

// finding returns the diagnostic of a code, located at a file. An unknown code is a
// fault that the test of this table finds.
func finding(code, file, format string, args ...any) skill.Diagnostic {
	d := skill.Diagnostic{Code: code, Level: skill.LevelError, File: file, Offset: -1, Message: fmt.Sprintf(format, args...)}
	for _, c := range codes {
		if c.code == code {
			d.Level, d.Fix = c.level, c.fix
		}
	}
	return d
}
