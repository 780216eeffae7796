package fetch

import (
	"errors"
	"time"

	"github.com/deftskills/deft/install/archive"
)

// Errors that callers tell apart; each message names the address or the bound.
var (
	// ErrUnreachable is a source that gave no answer, or an answer that is no use.
	ErrUnreachable = errors.New("source_unknown")
	// ErrPrivate is an address of this machine or its surroundings.
	ErrPrivate = errors.New("fetch_private_address")
	// ErrLimit is more than may be fetched at once.
	ErrLimit = errors.New("fetch_limit")
	// ErrTimeout is a fetch that took too long.
	ErrTimeout = errors.New("fetch_timeout")
	// ErrStatus is an answer of another status than 200.
	ErrStatus = errors.New("fetch_status")
	// ErrNoRef is a branch, tag or commit that the repository has not.
	ErrNoRef = errors.New("source_no_such_ref")
	// ErrOrigin is an address on a host that was neither named nor allowed.
	ErrOrigin = errors.New("fetch_other_origin")
	// ErrDigest is contents that are not those that were announced.
	ErrDigest = errors.New("fetch_digest")
	// ErrNoDir is a folder that the source has not.
	ErrNoDir = errors.New("source_no_such_folder")
)

// Fetched is what was got.
type Fetched struct {
	Files  []archive.File // by path, relative to the folder that was asked for
	Commit string         // of a git repository, 40 hex digits
	Notes  []Note
}

// The codes of notes.
const (
	NoteSubmodule = "fetch_submodule"   // another repository inside; not followed
	NoteLFS       = "fetch_lfs_pointer" // contents in large-file storage; the pointer is kept
	NoteLink      = "fetch_link"        // a link to no file of the source; left out
	NoteNPM       = "fetch_npm"         // what a package says of itself that can't be used
	NoteNPMRC     = "fetch_npmrc"       // a line of npm's settings that is left out, or that counts
	NoteEntry     = "fetch_entry"       // an entry of an index that is left out
	NoteBadPath   = "fetch_bad_path"    // a path that some system can't have; left out
)

// Note is something that was left out or left as it is.
type Note struct {
	Code    string
	Path    string
	Message string
}

// Limits bounds one fetch. A field that is 0 has the default.
type Limits struct {
	Bytes    int64         // on disk or over the wire; 256 MiB for git, 64 MiB for an archive
	Document int64         // of one document; 4 MiB
	Entries  int           // of a tree; 50,000
	Time     time.Duration // of the whole; 120 s
}

func (l Limits) withDefaults() Limits {
	if l.Document == 0 {
		l.Document = 4 << 20
	}
	if l.Entries == 0 {
		l.Entries = 50_000
	}
	if l.Time == 0 {
		l.Time = 120 * time.Second
	}
	return l
}

func (l Limits) bytes(of int64) int64 {
	if l.Bytes > 0 {
		return l.Bytes
	}
	return of
}
