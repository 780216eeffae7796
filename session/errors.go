package session

import "errors"

// ErrBusy means that a turn of this session is running: wait for its End.
var ErrBusy = errors.New("session: a turn is running (session_busy)")

// ErrClosed means that the session was closed: open another.
var ErrClosed = errors.New("session: closed")

// ErrEnded means that the turn is over: begin another.
var ErrEnded = errors.New("turn: ended")

// Error is a refusal of the engine itself, as opposed to a Refusal of one name:
// a limit was reached or the record of the change could not be written. Nothing was
// applied. Code is stable: limit_active, limit_patches, limit_prompt_bytes,
// audit_write, session_busy.
type Error struct {
	Code, Message string
	Err           error
}

// Error returns the message and its cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
