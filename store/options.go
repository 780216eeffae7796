package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options says where state lies. DB is required; the zero value of every other field
// is the default.
type Options struct {
	// DB is "sqlite:PATH" or PATH alone, an absolute path such as
	// ~/.local/state/deft/deft.db written out. Backups, damaged files and the lock
	// file lie beside it.
	DB string
	// ReadOnly refuses every write with ErrReadOnly and migrates nothing.
	ReadOnly bool
	// NoMigrate refuses to bring an older schema forward; such a file is ErrReadOnly.
	NoMigrate bool
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

// Store is the state of one person on one machine. Safe for concurrent use, also by
// several processes on one file.
type Store struct {
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

// Open checks where state lies and returns a Store. It opens no file: that happens
// with the first call that needs one, and a file is created only by the first write.
// It fails for a DB that is no absolute path (ErrDSN) and for a place that others may
// write (ErrDirOpen). A file that is damaged, busy or of a newer release is said by
// the calls that meet it.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := databasePath(o.DB)
	if err != nil {
		return nil, err
	}
	if o.Busy <= 0 {
		o.Busy = defaultBusy
	}
	if o.Release == "" {
		o.Release = "dev"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	s := &Store{
		o: o, path: path, lockPath: path + ".lock",
		migrations: embedded(), writing: make(chan struct{}, 1),
	}
	s.idle = sync.NewCond(&s.mu)
	if s.latest, err = latestSchema(s.migrations); err != nil {
		return nil, err
	}
	return s, s.guard()
}

// Path returns the absolute path of the database, whether it exists or not.
func (s *Store) Path() string { return s.path }

func databasePath(db string) (string, error) {
	path := db
	if scheme, rest, ok := strings.Cut(db, ":"); ok && len(scheme) > 1 && !strings.ContainsAny(scheme, `/\`) {
		if scheme != "sqlite" {
			// Only the scheme is repeated: what follows may hold a password.
			return "", fmt.Errorf("%w: unknown scheme %q; want sqlite", ErrDSN, scheme)
		}
		path = rest
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%w: %q is not an absolute path", ErrDSN, path)
	}
	return filepath.Clean(path), nil
}
