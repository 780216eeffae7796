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

// change is one write under way.
type change struct {
	ctx     context.Context
	tx      *sql.Tx
	now     time.Time
	total   uint64 // of the sums of all rows
	changed bool
}

// update runs f in one transaction of the only writer. Point names the fault points
// before and after the commit. What f returns undoes everything; when f changes
// nothing, nothing is written.
//
// Two locks: the lock file is waited for, and says who holds it; BEGIN IMMEDIATE is
// what SQLite itself relies on. The lock file lies beside the database and not in
// the directory of the login session, because a job without a session writes too.
func (s *Store) update(ctx context.Context, point string, f func(c *change) error) error {
	return s.locked(ctx, point, func() error {
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
	})
}

// locked runs f as the only writer of all processes.
func (s *Store) locked(ctx context.Context, verb string, f func() error) (err error) {
	if s.o.ReadOnly {
		return fmt.Errorf("%w: %s", ErrReadOnly, s.path)
	}
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", s.path, context.Cause(ctx))
	}
	defer func() { <-s.writing }()
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

func (s *Store) lockError(err error) error {
	if kind := sentinel(err); kind != nil {
		return fmt.Errorf("%w: %s: %w", kind, s.path, err)
	}
	return s.say(err)
}

// writable returns the connections to a file that exists, is of this schema and was
// found sound. The caller holds the lock.
func (s *Store) writable(ctx context.Context) (*handle, error) {
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
func (s *Store) prepare(ctx context.Context, h *handle) error {
	schema, err := s.readable(ctx, h.read)
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
	tx, err := h.read.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
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

func (s *Store) transact(ctx context.Context, db *sql.DB, h *handle, point string, f func(*change) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	c := &change{ctx: ctx, tx: tx, now: s.o.Now().UTC().Truncate(time.Microsecond)}
	version, err := metaNumber(ctx, tx, "version")
	if err != nil {
		return err
	}
	total, err := metaNumber(ctx, tx, "total")
	if err != nil {
		return err
	}
	c.total = uint64(total)
	if err := f(c); err != nil || !c.changed {
		return err
	}
	// By the clock, so that a file made anew never comes back to an old number.
	version = max(version+1, c.now.UnixMicro())
	for key, n := range map[string]int64{"version": version, "total": int64(c.total)} {
		if err := putMeta(c, key, strconv.FormatInt(n, 10)); err != nil {
			return err
		}
	}
	if err := fault.Err(point); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	h.sound = version
	fault.Point(point)
	return nil
}

// makeDir makes the directory, mode 0700, and refuses one that others may write.
func (s *Store) makeDir() error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	return s.guard()
}

// create makes an empty file, so that it has its mode before anything is in it.
func (s *Store) create() error {
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
func (s *Store) guard() error {
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
