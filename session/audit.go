package session

import (
	"time"

	"github.com/deftskills/deft/skill"
)

// Event is one record of the session's history. It holds no text of a skill and no
// value of an argument.
type Event struct {
	Action       string // activate, replace, clear, deactivate, patch, end_turn, resume, fork
	Session      string
	Turn         int
	At           time.Time
	Actor        Actor
	Name         string // as asked for
	Address      string // of the record; "" when none was found
	Digest       skill.Digest
	Scope        Scope
	Code         string // "" = done; else the code of the refusal
	ArgsBytes    int
	ArgsHash     string   // hexadecimal SHA-256; "" without arguments
	ActiveBefore []string // addresses
	ActiveAfter  []string
	Preload      bool
}
