package builtin

import (
	"embed"
	"io/fs"
)

//go:embed code-review deft-guide init release-notes skill-creator skill-doctor
var files embed.FS

// Guide is the name of the skill that explains deft to agents. A catalog protects
// it: it is the last to lose its description.
const Guide = "deft-guide"

// FS returns the skills: one directory each, named as the skill, with its SKILL.md.
// It is read-only and safe for concurrent use.
func FS() fs.FS { return files }
