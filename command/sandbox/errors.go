package sandbox

import (
	"errors"
	"fmt"
)

// ErrUnavailable is what errors.Is finds when a run asks for more than the machine can
// hold: the call fails with the code sandbox_unavailable, and nothing was started.
var ErrUnavailable = errors.New("sandbox_unavailable")

// ErrPolicy is what errors.Is finds when a policy contradicts itself or can't be held:
// nothing was started; the policy has to be changed.
var ErrPolicy = errors.New("sandbox_policy")

// UnavailableError says which level was asked for and which is there.
type UnavailableError struct {
	Wanted, Present Level
	Why             string // the first thing that is missing
}

func (e *UnavailableError) Error() string {
	text := fmt.Sprintf("sandbox_unavailable: level %s is asked for, %s is there", e.Wanted, e.Present)
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Unwrap makes the error an [ErrUnavailable].
func (e *UnavailableError) Unwrap() error { return ErrUnavailable }

// StartError says at which step a run could not be started. For the step exec the
// program is missing or can't be run, and errors.Is finds fs.ErrNotExist or
// fs.ErrPermission; any other step is the sandbox's own: what could not be confined was
// not run.
type StartError struct {
	Step string // exec, plan, rlimit, mount, landlock, seccomp, capabilities, report, …
	Err  error
}

func (e *StartError) Error() string { return "sandbox: " + e.Step + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }
