package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options says where state lies. DB is required; the zero value of every other field
// is the default.
type Options struct {
	// DB is "sqlite:PATH" or PATH alone, an absolute path such as
	// ~/.local/state/deft/deft.db written out: backups, damaged files and the lock file
	// lie beside it. Or it is "postgres://USER:PASSWORD@HOST/NAME?…", a database of
	// PostgreSQL 14 or newer; what the address leaves out is taken from the variables and
	// files of PostgreSQL's own programs (PGPASSWORD, ~/.pgpass).
	DB string
	// Tenant keeps the rows of several owners of one database apart: no row of one is seen
	// or changed from another. Lower-case letters, digits, - and _; "" = "local".
	Tenant string
	// Replica names the process to the server of the database; "" = its process id.
	Replica string
	// ReadOnly refuses every write with ErrReadOnly and migrates nothing.
	ReadOnly bool
	// NoMigrate refuses to bring an older schema forward: its state is read as it is, all
	// else is ErrReadOnly.
	NoMigrate bool
	// Poll is how often Changes.Watch looks by itself; 0 = 2 s.
	Poll time.Duration
	// Busy is how long a write waits for other processes; 0 = 5 s.
	Busy time.Duration
	// Release names the program in backups; "" = "dev".
	Release string
	// Verb is what the process is doing, for people whom it keeps waiting.
	Verb string
	// Now is the clock; nil = time.Now.
	Now func() time.Time
	// Rand gives the bytes of new ids; nil = crypto/rand.
	Rand io.Reader
}

const (
	defaultBusy = 5 * time.Second
	// closePatience is how long Close waits for calls under way.
	closePatience = 5 * time.Second
	// readers is how many reads run at once in one process.
	readers = 4
)

// Store is the state of one tenant: of one person on one machine, or of one owner in a
// server's database. Safe for concurrent use, also by several processes at once.
type Store struct {
	o Options
	b backend
}

// backend is one kind of database. The two are file (SQLite) and server (PostgreSQL).
type backend interface {
	// read calls f in one consistent read. Where nothing was ever written, f is not called.
	// A database of an older schema is brought forward first. One that may not be is read as
	// it is when its schema has what f asks for: since is the first that does, 0 stands for
	// the latest.
	read(ctx context.Context, since int64, f func(q querier) error) error
	// write calls f in a transaction that is there as a whole or not at all. Point names
	// the fault points before and after the commit. A write of the state is alone of its
	// tenant in all processes. A server may have to run f again after a conflict: it must
	// have no effects but those in tx.
	write(ctx context.Context, point string, state bool, f func(tx *tx) error) error
	// salvage returns the sound rows of a damaged state, never trust.
	salvage(ctx context.Context) State
	check(ctx context.Context) []Finding
	schemaNow(ctx context.Context) (Schema, error)
	// forward migrates; of a file it returns the copy that was made.
	forward(ctx context.Context) (backup string, err error)
	// listen sends to wake, never waiting, whenever something of the tenant was changed,
	// as far as it hears of it. Ended is closed when ctx has ended it.
	listen(ctx context.Context, wake chan<- struct{}) (ended <-chan struct{})
	// alone takes the right to do a thing that one process of all does at a time, without
	// waiting for longer than a write does; ErrBusy.
	alone(ctx context.Context, thing string) (done func() error, err error)
	name() string
	close() error
}

// Open checks where state lies and returns a Store. It opens no file and no connection:
// that happens with the first call that needs one, and a file is created only by the
// first write. It fails for a DB that names no database (ErrDSN) and for a place that
// others may write (ErrDirOpen). A database that is damaged, busy, away or of a newer
// release is said by the calls that meet it.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o = o.defaults()
	if err := checkTenant(o.Tenant); err != nil {
		return nil, err
	}
	b, err := openBackend(o)
	if b == nil {
		return nil, err
	}
	return &Store{o: o, b: b}, err
}

func (o Options) defaults() Options {
	o.Tenant = orElse(o.Tenant, "local")
	o.Release = orElse(o.Release, "dev")
	o.Replica = orElse(o.Replica, strconv.Itoa(os.Getpid()))
	if o.Busy <= 0 {
		o.Busy = defaultBusy
	}
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return o
}

func openBackend(o Options) (backend, error) {
	scheme, rest, ok := strings.Cut(o.DB, ":")
	switch {
	case !ok || len(scheme) == 1 || strings.ContainsAny(scheme, `/\`):
		return openFile(o, o.DB)
	case scheme == "sqlite":
		return openFile(o, rest)
	case scheme == "postgres" || scheme == "postgresql":
		return openServer(o)
	}
	// Only the scheme is repeated: what follows may hold a password.
	return nil, fmt.Errorf("%w: unknown scheme %q; want sqlite or postgres", ErrDSN, scheme)
}

func openFile(o Options, path string) (*file, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%w: %q is not an absolute path", ErrDSN, path)
	}
	path = filepath.Clean(path)
	s := &file{
		o: o, path: path, lockPath: path + ".lock",
		migrations: embedded("sqlite"), writing: make(chan struct{}, 1),
	}
	s.idle = sync.NewCond(&s.mu)
	var err error
	if s.latest, err = latestSchema(s.migrations); err != nil {
		return nil, err
	}
	return s, s.guard()
}

// Path returns the absolute path of the database, whether it exists or not; of a
// server's, its address with *** in place of the password.
func (s *Store) Path() string { return s.b.name() }

// Close waits up to five seconds for calls under way and lets go of the database. A
// second Close does nothing.
func (s *Store) Close() error { return s.b.close() }

// read calls f in one consistent read; see backend.
func (s *Store) read(ctx context.Context, f func(q querier) error) error { return s.b.read(ctx, 0, f) }

// stateSince is the first schema whose tables of state are those of today: a program that
// may not write heeds every switch before another one has brought the database forward.
const stateSince = 1

func (s *Store) readState(ctx context.Context, f func(q querier) error) error {
	return s.b.read(ctx, stateSince, f)
}

// asItIs says that a database of an older schema stays one.
func (o Options) asItIs() bool { return o.ReadOnly || o.NoMigrate }

func (o Options) readableSince(since, latest int64) int64 {
	if since == 0 || !o.asItIs() {
		return latest
	}
	return since
}

// write adds records: rows of tables that the state's sum does not cover; see backend.
func (s *Store) write(ctx context.Context, point string, f func(tx *tx) error) error {
	return s.b.write(ctx, point, false, f)
}
