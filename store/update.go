package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/internal/lockfile"
)

// change is one write of the state under way.
type change struct {
	ctx     context.Context
	tx      *tx
	now     time.Time
	total   uint64 // of the sums of all rows
	changed bool
	noted   []Change
	isNoted map[Change]bool
}

// errUnchanged ends a transaction that has nothing to write.
var errUnchanged = errors.New("nothing changed")

// update changes the state: f runs in one transaction of the tenant's only writer of
// state, perhaps more than once (see write). What f returns undoes everything; when f
// changes nothing, nothing is written.
func (s *Store) update(ctx context.Context, point string, f func(c *change) error) error {
	return s.b.write(ctx, point, true, func(tx *tx) error {
		version, err := metaNumber(ctx, tx, "version")
		if err != nil {
			return err
		}
		total, err := metaNumber(ctx, tx, "total")
		if err != nil {
			return err
		}
		c := &change{ctx: ctx, tx: tx, now: tx.now, total: uint64(total), isNoted: map[Change]bool{}}
		if err := f(c); err != nil {
			return err
		}
		if !c.changed {
			return errUnchanged
		}
		// By the clock, so that a database made anew never comes back to an old number.
		tx.version = max(version+1, c.now.UnixMicro())
		for key, n := range map[string]int64{"version": tx.version, "total": int64(c.total)} {
			if err := putMeta(c, key, strconv.FormatInt(n, 10)); err != nil {
				return err
			}
		}
		return publish(ctx, tx, c.noted)
	})
}

// write implements backend.
//
// The state has two locks: the lock file is waited for, and says who holds it; BEGIN
// IMMEDIATE is what SQLite itself relies on. The lock file lies beside the database
// and not in the directory of the login session, because a job without a session
// writes too. Rows of records take BEGIN IMMEDIATE alone: it is enough, they are
// written at every call of a tool, and the lock file would cost each of them a wait of
// its own beside SQLite's. It keeps them safe still: before the first of them the file
// is made, migrated and checked under the lock, and a file that was set aside while
// they were written is found out after the commit.
func (s *file) write(ctx context.Context, point string, state bool, f func(tx *tx) error) error {
	if state {
		return s.locked(ctx, point, func() error { return s.prepared(ctx, point, f) })
	}
	if s.o.ReadOnly {
		return fmt.Errorf("%w: %s", ErrReadOnly, s.path)
	}
	done, err := s.turn(ctx)
	if err != nil {
		return err
	}
	h, err := s.acquire(ctx)
	if h == nil || h.write == nil {
		if h != nil {
			s.release(h)
		}
		done()
		if err != nil {
			return s.say(err)
		}
		return s.locked(ctx, point, func() error { return s.prepared(ctx, point, f) })
	}
	defer done()
	defer s.release(h)
	return s.say(s.transact(ctx, h.write, h, point, f))
}

// prepared runs f in a file that is made, migrated and checked first. The caller holds
// the lock.
func (s *file) prepared(ctx context.Context, point string, f func(tx *tx) error) error {
	h, err := s.writable(ctx)
	if err != nil {
		return err
	}
	defer s.release(h)
	db, err := s.writer(ctx, h)
	if err != nil {
		return err
	}
	return s.transact(ctx, db, h, point, f)
}

// turn waits until no other goroutine of this process writes.
func (s *file) turn(ctx context.Context) (done func(), err error) {
	select {
	case s.writing <- struct{}{}:
		return func() { <-s.writing }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", s.path, context.Cause(ctx))
	}
}

// locked runs f as the only writer of all processes.
func (s *file) locked(ctx context.Context, verb string, f func() error) (err error) {
	if s.o.ReadOnly {
		return fmt.Errorf("%w: %s", ErrReadOnly, s.path)
	}
	done, err := s.turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := s.makeDir(); err != nil {
		return s.say(err)
	}
	if s.o.Verb != "" {
		verb = s.o.Verb
	}
	lock, err := lockfile.Exclusive(ctx, s.lockPath, lockfile.Options{Verb: verb, Wait: s.o.Busy, Now: s.o.Now})
	if err != nil {
		return s.lockError(err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return s.say(f())
}

// alone implements backend.
func (s *file) alone(ctx context.Context, thing string) (done func() error, err error) {
	if s.o.ReadOnly {
		return nil, fmt.Errorf("%w: %s", ErrReadOnly, s.path)
	}
	if err := s.makeDir(); err != nil {
		return nil, s.say(err)
	}
	lock, err := lockfile.Exclusive(ctx, s.path+"."+thing+".lock", lockfile.Options{Verb: thing, Wait: s.o.Busy, Now: s.o.Now})
	if err != nil {
		return nil, s.lockError(err)
	}
	return lock.Release, nil
}

func (s *file) lockError(err error) error {
	if kind := sentinel(err); kind != nil {
		return fmt.Errorf("%w: %s: %w", kind, s.path, err)
	}
	return s.say(err)
}

// writable returns the connections to a file that exists, is of this schema and was
// found sound. The caller holds the lock.
func (s *file) writable(ctx context.Context) (*handle, error) {
	if err := s.finishAside(); err != nil {
		return nil, err
	}
	if err := s.create(); err != nil {
		return nil, err
	}
	h, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, fmt.Errorf("%w: %s: it was removed just now", ErrBusy, s.path)
	}
	if err := s.prepare(ctx, h); err != nil {
		s.release(h)
		return nil, err
	}
	return h, nil
}

// prepare migrates, and checks every row before the first connection that can write
// is opened, and again after another process wrote.
func (s *file) prepare(ctx context.Context, h *handle) error {
	schema, err := s.readable(ctx, s.on(h.read))
	if err != nil {
		return err
	}
	if schema > s.latest {
		return s.newer(schema)
	}
	if schema < s.latest {
		if err := s.migrate(ctx, h, schema); err != nil {
			return err
		}
	}
	begun, err := h.read.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = begun.Rollback() }()
	tx := s.on(begun)
	version, err := metaNumber(ctx, tx, "version")
	if err != nil || version != 0 && version == h.sound {
		return err
	}
	if _, err := loadAll(ctx, tx); err != nil {
		return err
	}
	h.sound = version
	return nil
}

func (s *file) transact(ctx context.Context, db *sql.DB, h *handle, point string, f func(*tx) error) error {
	begun, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = begun.Rollback() }()
	tx := s.on(begun)
	// Another process may have brought the file forward since it was opened.
	if schema, err := s.readable(ctx, tx); err != nil {
		return err
	} else if schema != s.latest {
		return s.newer(schema)
	}
	if err := f(tx); err != nil {
		if errors.Is(err, errUnchanged) {
			return nil
		}
		return err
	}
	if err := fault.Err(point); err != nil {
		return err
	}
	if err := begun.Commit(); err != nil {
		return err
	}
	if tx.version != 0 {
		h.sound = tx.version
	}
	fault.Point(point)
	if info, err := os.Stat(s.path); err != nil || !os.SameFile(info, h.info) {
		return fmt.Errorf("%w: %s: it was replaced just now", ErrBusy, s.path)
	}
	return nil
}

// on makes a transaction or a connection speak the text of both dialects.
func (s *file) on(q executor) *tx {
	return &tx{q: q, tenant: s.o.Tenant, now: s.o.Now().UTC().Truncate(time.Microsecond)}
}

// makeDir makes the directory, mode 0700, and refuses one that others may write.
func (s *file) makeDir() error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	return s.guard()
}

// create makes an empty file, so that it has its mode before anything is in it.
func (s *file) create() error {
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // never opened here: see handle
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// guard refuses a directory or a database that others may write: whoever can, could
// trust folders in the owner's name.
func (s *file) guard() error {
	for _, path := range []string{filepath.Dir(s.path), s.path} {
		info, err := os.Stat(path)
		if err != nil {
			continue // what is not there is made by us; what can't be seen fails later
		}
		if why := openToOthers(info); why != "" {
			return fmt.Errorf("%w: %s: %s; chmod go-w it", ErrDirOpen, path, why)
		}
	}
	return nil
}
