package gate

import "github.com/deftskills/deft/skill"

// manner is what a dialect has the gate do its own way. The zero value is deft's, and that
// of a dialect that is not known.
type manner struct {
	// coarse: a session remembers a tool that names no command, file or address by its name
	// alone, whatever skills are active.
	coarse bool
	// loose: the stages of a turn without a person tighten nothing; grants still decide.
	loose bool
}

// manners are the dialects that differ.
var manners = map[skill.Dialect]manner{
	skill.Minara:      {coarse: true},
	skill.ClaudeCode:  {loose: true},
	skill.Blade:       {loose: true},
	skill.MiniMax:     {loose: true},
	skill.Mastra:      {loose: true},
	skill.AgentSkills: {loose: true},
	skill.Codex:       {loose: true},
}
