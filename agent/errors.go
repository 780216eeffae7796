package agent

import (
	"errors"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/session"
)

var (
	// ErrInputTooLarge means that the request is longer than MaxInput: put it in a file.
	ErrInputTooLarge = errors.New("request too large")
	// ErrNoInput means that the request is empty and names no skill.
	ErrNoInput = errors.New("request is empty")
	// ErrNoModel means that Run was called on a Runner without a model: use Prepare.
	ErrNoModel = errors.New("no model")

	errNoSummary = errors.New("the model gave no summary; the conversation is as it was")

	errPanic = errors.New("panic")
	errIdle  = errors.New("the model was silent too long")
	errTime  = errors.New("the turn's time is used up")
	errGone  = errors.New("the consumer stopped reading")
)

// codeOf names an error for machines.
func codeOf(err error) string {
	var m *model.Error
	var s *session.Error
	var h *HookError
	var bad *route.SignalError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrInputTooLarge):
		return "input_too_large"
	case errors.Is(err, ErrNoInput):
		return "input_empty"
	case errors.Is(err, ErrNoModel):
		return "no_model"
	case errors.Is(err, session.ErrBusy):
		return "session_busy"
	case errors.Is(err, session.ErrClosed):
		return "session_closed"
	case errors.Is(err, gate.ErrUnavailable):
		return gate.CodeUnavailable
	case errors.Is(err, ErrPersist):
		return "persist_failed"
	case errors.Is(err, errPanic):
		return "panic"
	case errors.As(err, &m):
		return "model_" + string(m.Kind)
	case errors.As(err, &s):
		return s.Code
	case errors.As(err, &h):
		return h.Code
	case errors.As(err, &bad):
		return route.CodeSignalInvalid
	}
	return "internal"
}
