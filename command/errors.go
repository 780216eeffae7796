package command

import (
	"errors"
	"fmt"
)

// ErrInline is what errors.Is finds when a failing command ended the load of a text that
// asked for this: no text is given and nothing is applied.
var ErrInline = errors.New("inline_failed")

// InlineError says which command ended a load.
type InlineError struct {
	Line   int    // of the file, from 1
	Reason Reason // for programs
	Text   string // for people: "exit 3"
	// Commands are all of the load, those that were not started too.
	Commands []Outcome
}

func (e *InlineError) Error() string {
	return fmt.Sprintf("inline_failed: line %d: %s", e.Line, e.Text)
}

// Unwrap makes the error an [ErrInline].
func (e *InlineError) Unwrap() error { return ErrInline }

// ErrDir is what errors.Is finds when a command's directory is outside the workspace:
// nothing was started.
var ErrDir = errors.New("command_dir")

// MissingError says that a program or interpreter is not there. Another one is never
// taken for it.
type MissingError struct{ Program string }

func (e *MissingError) Error() string { return e.Program + " not found" }

// ScriptError says why a script was not started. Code is script_drift,
// script_interpreter, script_unknown, script_input, command_dir or sandbox_unavailable; of
// any command of a skill env_missing, env_untrusted or env_unreadable, by who gives it its
// variables.
type ScriptError struct{ Code, Message string }

func (e *ScriptError) Error() string { return e.Message }
