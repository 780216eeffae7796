package command

import (
	"time"

	"github.com/deftskills/deft/skill"
)

// manner is what a dialect does in its own way. None of it weakens policy, gate or sandbox.
type manner struct {
	inline    bool // the dialect knows inline commands at all
	anywhere  bool // the mark needs neither the start of a line nor a blank before it
	lines     bool // a command may hold line ends
	fences    bool // fences alone are code
	blocks    bool // a fence of kind "!" is a command
	plain     bool // every failure reads the same
	literal   bool // placeholders of arguments stay in commands
	parallel  bool // all commands of a body at once
	both      bool // what a command writes to stderr is output too
	abort     bool // the first failure ends the load
	allowOnly bool // what would have to be asked about ends the load

	timeout time.Duration // of one command
	output  int64         // bytes that are kept of each stream
	// programs are the shells that the shell field may name.
	programs []string
}

const (
	inlineTimeout = 10 * time.Second
	inlineOutput  = 64 << 10 // bytes
)

var allPrograms = []string{"sh", "bash", "zsh", "pwsh", "powershell"}

// manners has a row for every dialect that knows inline commands; in the others they
// are text.
var manners = map[skill.Dialect]manner{
	skill.Deft: {inline: true, timeout: inlineTimeout, output: inlineOutput, programs: allPrograms},
	skill.ClaudeCode: {
		inline: true, blocks: true, both: true, abort: true, allowOnly: true,
		timeout: 2 * time.Minute, output: inlineOutput, programs: []string{"bash", "powershell"},
	},
	skill.Blade: {
		inline: true, anywhere: true, lines: true, fences: true, plain: true, literal: true, parallel: true,
		timeout: inlineTimeout, output: 512 << 10, programs: allPrograms,
	},
}

// mannerOf returns the row of a dialect; "" counts as Deft.
func mannerOf(d skill.Dialect) manner {
	if d == "" {
		d = skill.Deft
	}
	return manners[d]
}
