package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/deftskills/deft/internal/lockfile"
	"github.com/deftskills/deft/store/blobs"
)

// What a caller acts on. Every error of this package that has one of these causes
// wraps it and names the file.
var (
	// ErrNotFound: there is no such row. Nothing was changed.
	ErrNotFound = errors.New("not found")
	// ErrExists: a row with this id is there already: what was to be written is known.
	ErrExists = errors.New("exists already")
	// ErrConflict: other transactions of a server's database came in between, again and
	// again. Nothing was changed.
	ErrConflict = errors.New("state was changed by others at once")
	// ErrUnavailable: the server of the database does not answer, or ended the connection.
	// Whether a write under way was done is not known: its id tells (ErrExists).
	ErrUnavailable = errors.New("state cannot be reached")
	// ErrBusy: another process is writing and did not finish in time; its process id
	// is in the message when known (errors.As *lockfile.BusyError). Try again later.
	ErrBusy = errors.New("state is busy")
	// ErrReadOnly: the place can't be written, or the Store was opened read-only.
	ErrReadOnly = errors.New("state is read-only")
	// ErrDamaged: the file is not what was written. Act as if nothing were trusted;
	// SetAside repairs.
	ErrDamaged = errors.New("state is damaged")
	// ErrNewerSchema: a newer release wrote the file; use that one to write.
	ErrNewerSchema = errors.New("state is of a newer release")
	// ErrDirOpen: others may write where state lies, so that it proves nothing.
	ErrDirOpen = errors.New("state may be written by others")
	// ErrFull: no room left on the disk. The state before stands.
	ErrFull = errors.New("disk is full")
	// ErrDSN: Options.DB names no database that this package can open.
	ErrDSN = errors.New("store_dsn")
	// ErrInvalid: the value given can't be kept; the message says why.
	ErrInvalid = errors.New("invalid value")
	// ErrCycle: a profile would extend itself through others.
	ErrCycle = errors.New("profiles extend each other in a circle")
	// ErrUnknownVersion: the skill has no such version or channel. It is ErrNotFound too.
	ErrUnknownVersion error = &narrower{"unknown version", ErrNotFound}
	// ErrTransition: what stands as it does can't become that, such as archiving a draft.
	ErrTransition = errors.New("not possible in this state")
	// ErrLabelTaken: another version has the label. It is ErrExists too.
	ErrLabelTaken error = &narrower{"label is taken", ErrExists}
	// ErrClosed: the Store was closed.
	ErrClosed = errors.New("store is closed")
)

// coded is a sentinel with its diagnostic code.
type coded struct {
	err  error
	code string
}

func codes() []coded {
	return []coded{
		{ErrDamaged, "store_damaged"},
		{ErrBusy, "store_busy"},
		{ErrReadOnly, "store_read_only"},
		{ErrNewerSchema, "store_newer_schema"},
		{ErrDirOpen, "store_dir_open"},
		{ErrFull, "store_full"},
		{ErrDSN, "store_dsn"},
		{ErrCycle, "profile_cycle"},
		{ErrUnknownVersion, "versions_unknown_version"},
		{ErrTransition, "versions_bad_transition"},
		{ErrLabelTaken, "versions_label_taken"},
		{blobs.ErrDigest, "blob_digest"},
		{blobs.ErrMissing, "blob_missing"},
		{blobs.ErrDamaged, "blob_damaged"},
		{blobs.ErrTooLarge, "blob_too_large"},
		{ErrConflict, "store_conflict"},
		{ErrUnavailable, "store_unavailable"},
	}
}

// Code returns the diagnostic code of an error of this package or of package blobs, "" when
// it has none.
func Code(err error) string {
	var p *PublishError
	if errors.As(err, &p) {
		return p.Code
	}
	for _, c := range codes() {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return ""
}

// narrower is an error that is a kind of another one.
type narrower struct {
	text string
	of   error
}

func (e *narrower) Error() string { return e.text }
func (e *narrower) Unwrap() error { return e.of }

// rowDamage is a row whose columns no longer give its sum.
type rowDamage struct{ table, key string }

func (e *rowDamage) Error() string {
	return fmt.Sprintf("row %q of table %s has another checksum", e.key, e.table)
}

// damage says that the file at path is damaged.
func damage(path string, cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrDamaged, path, cause)
}

// say names the file in an error of the database and finds its sentinel. Errors that
// have one already pass.
func (s *file) say(err error) error { return say(s.path, err, s.holder) }

func say(name string, err error, holder func() error) error {
	if err == nil || errors.Is(err, errNamed) {
		return err
	}
	for _, known := range []error{
		ErrNotFound, ErrBusy, ErrReadOnly, ErrDamaged, ErrNewerSchema, ErrDirOpen, ErrFull,
		ErrInvalid, ErrCycle, ErrClosed, ErrExists, ErrConflict, ErrUnavailable, ErrTransition,
	} {
		if errors.Is(err, known) {
			return err
		}
	}
	var row *rowDamage
	if errors.As(err, &row) {
		return damage(name, row)
	}
	if kind := sentinel(err); kind != nil {
		if kind == ErrBusy && holder != nil {
			return fmt.Errorf("%w: %s: %w", kind, name, holder())
		}
		return fmt.Errorf("%w: %s: %w", kind, name, err)
	}
	return &namedError{name, err}
}

// errNamed marks an error that names the file already.
var errNamed = errors.New("named")

type namedError struct {
	path string
	err  error
}

func (e *namedError) Error() string        { return e.path + ": " + e.err.Error() }
func (e *namedError) Unwrap() error        { return e.err }
func (e *namedError) Is(target error) bool { return target == errNamed }

// sentinel sorts errors of SQLite and of the system. An I/O error while reading is
// damage: the disk does not give back what was written. So is a statement of ours
// that does not fit the schema whose number the file bears.
func sentinel(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		if slices.Contains([]int{
			lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_TRUNCATE,
			lib.SQLITE_IOERR_SHMSIZE, lib.SQLITE_IOERR_SHMOPEN, lib.SQLITE_IOERR_SHMMAP,
			lib.SQLITE_IOERR_LOCK, lib.SQLITE_IOERR_NOMEM,
		}, e.Code()) {
			return nil
		}
		if e.Code() == lib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == lib.SQLITE_CONSTRAINT_PRIMARYKEY {
			return ErrExists
		}
		switch e.Code() & 0xff {
		case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
			return ErrBusy
		case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
			return ErrReadOnly
		case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_IOERR, lib.SQLITE_FORMAT,
			lib.SQLITE_ERROR:
			return ErrDamaged
		case lib.SQLITE_FULL:
			return ErrFull
		}
		return nil
	}
	switch {
	case errors.Is(err, lockfile.ErrBusy):
		return ErrBusy
	case errors.Is(err, syscall.ENOSPC):
		return ErrFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ErrReadOnly
	}
	return serverSentinel(err)
}

// holder says who writes, by the lock file.
func (s *file) holder() error {
	h, _ := lockfile.Read(s.lockPath)
	return &lockfile.BusyError{Path: s.lockPath, Holder: h}
}
