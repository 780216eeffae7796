package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/deftskills/deft/agent"
)

// failure is an error that says how the run ends: a stable code, a message, what to
// do about it, and the exit code.
type failure struct {
	exit    Exit
	code    string // snake_case, one meaning over the whole program
	message string
	hint    string // key of the words' catalogue; "" = none
	with    []any  // what fills the hint's places
	cause   error
	host    *hubCode // what a dialect's own host calls it; nil = nothing else
}

func (f *failure) Error() string { return f.message }

func (f *failure) Unwrap() error { return f.cause }

// fail makes a failure; the message is formatted.
func fail(exit Exit, code, format string, args ...any) *failure {
	return &failure{exit: exit, code: code, message: fmt.Sprintf(format, args...)}
}

// usage makes the failure of wrong arguments.
func usage(format string, args ...any) *failure { return fail(Usage, "usage", format, args...) }

// hinted adds what to do, by the key of the words' catalogue.
func (f *failure) hinted(key string, args ...any) *failure {
	f.hint, f.with = key, args
	return f
}

// errNegative ends a run with exit code 1 when the verb has said all itself.
var errNegative = errors.New("negative result")

// failureOf turns any error into a failure; networked says that the verb was
// talking to a provider when its time ran out.
func failureOf(err error, networked bool) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.Canceled):
		return &failure{exit: Interrupted, code: "interrupted", message: "interrupted", cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		exit := Partial
		if networked {
			exit = Network
		}
		return fail(exit, "timeout", "time is up: the bound of --timeout was reached").hinted("hint.timeout")
	}
	for _, known := range knownErrors() {
		if f := known(err); f != nil {
			f.cause = err
			return f
		}
	}
	return &failure{exit: Negative, code: "error", message: err.Error(), cause: err}
}

// knownErrors turns errors of the rooms into failures; each returns nil for others.
func knownErrors() []func(error) *failure {
	return []func(error) *failure{unknownSkill, ambiguousSkill, badRequest, notKept, queueFailure, storeFailure, blobFailure, installFailure}
}

// notKept is a turn that came to its end and is not kept.
func notKept(err error) *failure {
	if errors.Is(err, agent.ErrPersist) {
		return fail(Partial, "persist_failed", "%s", err)
	}
	return nil
}

// badRequest is a request that no turn can start with.
func badRequest(err error) *failure {
	if errors.Is(err, agent.ErrNoInput) || errors.Is(err, agent.ErrInputTooLarge) {
		return usage("%s", err).hinted("hint.see_help", "ask")
	}
	return nil
}
