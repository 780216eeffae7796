package install

import "errors"

// Errors that callers tell apart. Each wraps into a message that names the text, place
// or address it is of.
var (
	// ErrUnrecognised is a source that no form matches.
	ErrUnrecognised = errors.New("source_unrecognised")
	// ErrPassword is an address with a password, which is not repeated.
	ErrPassword = errors.New("source_password")
	// ErrBadRef is a branch, tag or commit that git or a shell could read otherwise.
	ErrBadRef = errors.New("source_bad_ref")
	// ErrBadURL is an address of a scheme or form that is not fetched.
	ErrBadURL = errors.New("source_bad_url")
	// ErrBadName is a name that is no single safe component of a path.
	ErrBadName = errors.New("install_bad_name")
	// ErrOutside is a folder of a work tree that a link in it leads out of it.
	ErrOutside = errors.New("install_outside")
)
