package jobs

import "errors"

// What a caller acts on.
var (
	// ErrInvalid: a definition or firing that makes no sense; the message says what of it.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound: there is no such job or firing.
	ErrNotFound = errors.New("not found")
	// ErrExists: a job of this id is there already.
	ErrExists = errors.New("exists already")
	// ErrPaused: the job is paused and takes no firing from outside.
	ErrPaused = errors.New("paused")
	// ErrState: the firing is in no state in which this can be done.
	ErrState = errors.New("wrong state")
	// ErrReplay: a signed request came a second time; Insert's result names the first.
	ErrReplay = errors.New("replayed")
	// ErrWorking: this Queue works already.
	ErrWorking = errors.New("works already")
)

// errDrained ends turns that outlast the drain, errLost those whose lease ran out.
var (
	errDrained = errors.New("the process was told to stop")
	errLost    = errors.New("the lease ran out")
)
