package source

import "errors"

// The errors that a caller acts on.
var (
	// ErrContract is a programming fault in a Source: report it to the author of that source.
	ErrContract = errors.New("source broke its contract")
	// ErrOutside refuses a path that leads out of the skill: tell the caller which files there are.
	ErrOutside = errors.New("path leads out of the skill")
	// ErrSpecial refuses a FIFO, a device or a socket: nothing was read from it.
	ErrSpecial = errors.New("not a regular file")
	// ErrDamaged says that stored contents are not what their digest says: nothing was returned.
	ErrDamaged = errors.New("its bytes are not those of its digest")
	// ErrInvalid says that a skill is listed as invalid and has no text to load: show its diagnostics.
	ErrInvalid = errors.New("skill is invalid")
)
