//go:build linux || darwin

package sandbox

import (
	"errors"
	"os"
	"syscall"
)

// stepError names the step that could not be done.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }

func (e *stepError) Unwrap() error { return e.err }

// failure tells the host what could not be done.
func failure(err error) event {
	e := event{Step: "helper", Error: err.Error()}
	var step *stepError
	if errors.As(err, &step) {
		e.Step, e.Error = step.step, step.err.Error()
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		e.Errno = int(no)
	}
	var path *os.PathError
	if errors.As(err, &path) {
		e.Error = path.Path
	}
	return e
}
