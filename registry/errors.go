package registry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/deftskills/deft/skill"
)

// ErrNoFilesystem says that the host's function gave no file system for a request: the
// request has no skills, and the local disk is not read in its place. Give one.
var ErrNoFilesystem = errors.New("no file system for this request")

// FilesystemError is ErrNoFilesystem under the code that the dialect knows.
type FilesystemError struct{ Dialect skill.Dialect }

// Code returns filesystem_not_resolved, in capitals for dialect mastra.
func (e *FilesystemError) Code() string {
	const code = "filesystem_not_resolved"
	if e.Dialect == skill.Mastra {
		return strings.ToUpper(code)
	}
	return code
}

func (e *FilesystemError) Error() string { return e.Code() + ": " + ErrNoFilesystem.Error() }

// Unwrap returns ErrNoFilesystem.
func (e *FilesystemError) Unwrap() error { return ErrNoFilesystem }

// UnknownError says that a selector names no skill. Show the suggestions, or for an
// unknown origin the origins that the name has.
type UnknownError struct {
	Selector    string
	Suggestions []string // at most three names that a model may see
	Origins     []string // of a known name with an unknown origin: what may stand after "@"
}

func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("skill %q is unknown", e.Selector)
	switch {
	case len(e.Origins) > 0:
		return msg + ": that name comes from " + strings.Join(e.Origins, ", ")
	case len(e.Suggestions) > 0:
		return msg + ": did you mean " + strings.Join(e.Suggestions, ", ") + "?"
	}
	return msg
}

// AmbiguousError says that a selector names several skills. Ask for one of the
// addresses.
type AmbiguousError struct {
	Selector   string
	Candidates []string // addresses
	Code       string   // what the dialect is known to call it; "" = nothing of its own
	Message    string   // the dialect's own words; "" = ours
}

func (e *AmbiguousError) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return fmt.Sprintf("skill %q is ambiguous: %s", e.Selector, strings.Join(e.Candidates, ", "))
}

// ProfileError says that a profile cannot be used: correct what extends it, or choose
// another one.
type ProfileError struct {
	Name  string
	Cycle bool // it extends itself, through others or directly; false: it is not there
}

func (e *ProfileError) Error() string {
	if e.Cycle {
		return fmt.Sprintf("profile %q extends itself", e.Name)
	}
	return fmt.Sprintf("profile %q is unknown", e.Name)
}
