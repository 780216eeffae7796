package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// file is state in one SQLite file.
type file struct {
	o          Options
	path       string
	lockPath   string
	migrations fs.FS
	latest     int64 // the schema that this release writes

	writing chan struct{} // holds one value while this process writes

	mu     sync.Mutex
	handle *handle
	idle   *sync.Cond // signalled when a handle loses its last user
	inUse  int
	closed bool
	noWAL  bool // the file system has no shared memory for a write-ahead log
}

func (s *file) name() string { return s.path }

// listen implements backend: a file tells nobody.
func (s *file) listen(context.Context, chan<- struct{}) <-chan struct{} {
	ended := make(chan struct{})
	close(ended)
	return ended
}

// A handle is the connections to one file. The path may come to name another file
// (set aside, restored from a backup): then a new handle is made and the old one
// closed when its last user is done.
//
// Danger: as long as a connection is open, nobody in this process may open and close
// the database file in another way. On Unix that drops the locks that SQLite holds.
// Stat and rename are safe.
type handle struct {
	info    os.FileInfo
	read    *sql.DB
	write   *sql.DB // nil until the first write
	fixed   bool    // read as a file that never changes: any change makes a new handle
	sound   int64   // the version at which every row was checked; 0 = not yet
	users   int
	retired bool
	backup  string // made when it was brought forward
}

// acquire returns the connections to the file, or nil when there is none. The caller
// releases them.
func (s *file) acquire(ctx context.Context) (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	path := s.path
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		// A SetAside was killed when the damaged file had gone and the new one had not come,
		// or is there just now: without what it has saved, a denied skill would be on. The
		// next write ends it.
		path = s.salvagePath()
		info, err = os.Stat(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		s.retire()
		return nil, nil
	}
	if err != nil {
		return nil, s.say(err)
	}
	if !info.Mode().IsRegular() {
		return nil, damage(s.path, errors.New("not a regular file"))
	}
	if !s.handle.serves(info) {
		s.retire()
		if err := s.guard(); err != nil {
			return nil, err
		}
		read, fixed, err := s.openReader(ctx, path)
		if err != nil {
			return nil, s.say(err)
		}
		s.handle = &handle{info: info, read: read, fixed: fixed}
	}
	s.handle.users++
	s.inUse++
	return s.handle, nil
}

// serves reports whether h is on the file that info is of.
func (h *handle) serves(info os.FileInfo) bool {
	return h != nil && os.SameFile(h.info, info) &&
		(!h.fixed || h.info.Size() == info.Size() && h.info.ModTime().Equal(info.ModTime()))
}

func (s *file) release(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.users--
	s.inUse--
	if h.users == 0 && h.retired {
		_ = h.close()
	}
	s.idle.Broadcast()
}

// retire closes the current handle, now or with its last user. s.mu is held.
func (s *file) retire() {
	if h := s.handle; h != nil {
		s.handle, h.retired = nil, true
		if h.users == 0 {
			_ = h.close()
		}
	}
}

func (h *handle) close() error {
	err := h.read.Close()
	if h.write != nil {
		// Last, because the last writer brings the log into the database.
		err = errors.Join(err, h.write.Close())
	}
	return err
}

// close implements backend: it waits for calls under way and brings the log into the
// database.
func (s *file) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	late := false
	timer := time.AfterFunc(closePatience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.idle.Broadcast()
	})
	defer timer.Stop()
	for s.inUse > 0 && !late {
		s.idle.Wait()
	}
	h := s.handle
	s.handle = nil
	if h == nil {
		return nil
	}
	if h.users > 0 {
		h.retired = true
		return fmt.Errorf("%s: %d calls still run", s.path, h.users)
	}
	return h.close()
}

// Pragmas of every connection. The schema is not trusted: a function in a damaged or
// foreign one must not run.
var pragmas = []string{"foreign_keys(1)", "temp_store(memory)", "trusted_schema(0)"}

func (s *file) dsn(path string, query url.Values, more ...string) string {
	query.Set("_error_rc", "1")
	query["_pragma"] = append(append([]string{"busy_timeout(" + strconv.FormatInt(s.o.Busy.Milliseconds(), 10) + ")"},
		pragmas...), more...)
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// openReader opens the file so that SQLite itself can't write it: the last reader of
// a damaged file must not bring a log into it. Where not even the log's index can be
// made, as on a read-only disk, a file without a log is read as it stands.
func (s *file) openReader(ctx context.Context, path string) (db *sql.DB, fixed bool, err error) {
	db, err = s.reader(ctx, path, url.Values{"mode": {"ro"}})
	if err == nil || !errors.Is(sentinel(err), ErrReadOnly) {
		return db, false, err
	}
	if log, statErr := os.Stat(path + "-wal"); statErr == nil && log.Size() > 0 {
		return nil, false, err
	}
	db, err = s.reader(ctx, path, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	return db, true, err
}

func (s *file) reader(ctx context.Context, path string, query url.Values) (*sql.DB, error) {
	db, err := sql.Open("sqlite", s.dsn(path, query, "query_only(1)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	if _, err := schemaOf(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// writer returns the one connection that writes. The caller holds the lock.
func (s *file) writer(ctx context.Context, h *handle) (*sql.DB, error) {
	if h.write != nil {
		return h.write, nil
	}
	db, err := sql.Open("sqlite", s.dsn(s.path, url.Values{"mode": {"rw"}, "_txlock": {"immediate"}}, "synchronous(full)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if mode != "wal" {
		if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		s.mu.Lock()
		s.noWAL = true
		s.mu.Unlock()
	}
	h.write = db
	return db, nil
}

func schemaOf(ctx context.Context, q querier) (int64, error) {
	var n int64
	err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&n)
	return n, err
}

// read implements backend.
func (s *file) read(ctx context.Context, since int64, f func(q querier) error) error {
	since = s.o.readableSince(since, s.latest)
	for tries := 0; ; tries++ {
		schema, err := s.readOnce(ctx, since, f)
		if schema == 0 || schema >= since || err != nil {
			return s.say(err)
		}
		if s.o.asItIs() || tries > 0 {
			return older(s.path, schema, s.latest)
		}
		if _, err := s.forward(ctx); err != nil {
			return err
		}
	}
}

// readOnce returns the schema that it found; f was called only when it can be read.
func (s *file) readOnce(ctx context.Context, since int64, f func(q querier) error) (int64, error) {
	h, err := s.acquire(ctx)
	if h == nil {
		return 0, err
	}
	defer s.release(h)
	begun, err := h.read.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = begun.Rollback() }()
	tx := s.on(begun)
	schema, err := s.readable(ctx, tx)
	if err != nil || schema < max(since, 1) {
		return schema, err
	}
	return schema, f(tx)
}

// readable returns the schema of the file: 0 when it holds nothing. It is an error
// when this release can't read it.
func (s *file) readable(ctx context.Context, q querier) (int64, error) {
	schema, err := schemaOf(ctx, q)
	if err != nil {
		return 0, err
	}
	if schema == 0 {
		var n int
		if err := q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name <> 'goose_db_version'"+
			" AND name NOT LIKE 'sqlite_%'").Scan(&n); err != nil {
			return 0, err
		}
		if n > 0 {
			return 0, damage(s.path, errors.New("tables without a schema number"))
		}
		return 0, nil
	}
	kept, err := schemaNote(ctx, q, "schema")
	if err != nil || kept != schema {
		return 0, errors.Join(damage(s.path, fmt.Errorf("schema number %d is noted as %d", schema, kept)), err)
	}
	return schema, belowFloor(ctx, q, s.path, schema, s.latest)
}

func (s *file) newer(schema int64) error { return newer(s.path, schema, s.latest) }

// belowFloor refuses a newer schema whose author says that this release must not read it.
func belowFloor(ctx context.Context, q querier, name string, schema, latest int64) error {
	if schema <= latest {
		return nil
	}
	floor, err := schemaNote(ctx, q, "compat_floor")
	if err != nil || floor == 0 || floor > latest {
		return errors.Join(newer(name, schema, latest), err)
	}
	return nil
}

func newer(name string, schema, latest int64) error {
	return fmt.Errorf("%w: %s: schema %d, this release knows %d", ErrNewerSchema, name, schema, latest)
}

func older(name string, schema, latest int64) error {
	return fmt.Errorf("%w: %s: schema %d is older than %d and may not be brought forward", ErrReadOnly, name, schema, latest)
}

// schemaNote returns a number that is of the whole database and not of a tenant.
func schemaNote(ctx context.Context, q querier, key string) (int64, error) {
	var v string
	err := q.QueryRowContext(ctx, "SELECT value FROM meta WHERE tenant = 'local' AND key = ?", key).Scan(&v)
	if err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return 0, err
	}
	return number(key, v)
}

// metaNumber returns a number of the table meta, 0 when it is not there.
func metaNumber(ctx context.Context, q querier, key string) (int64, error) {
	v, err := metaText(ctx, q, key)
	if err != nil || v == "" {
		return 0, err
	}
	return number(key, v)
}

func number(key, v string) (int64, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return 0, &rowDamage{"meta", key}
	}
	return n, nil
}
