package jobs

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/deftskills/deft/internal/lockfile"
)

// Options says where the queue lies and what its host brings. DB is required.
type Options struct {
	// DB is an absolute path, "sqlite:" before it or not, or a postgres:// URL. Its schema must be
	// there (package store makes it); the queue library's own tables are made by Open in
	// SQLite and by Migrate in PostgreSQL.
	DB string
	// Replica names this process in rows and logs; "" = a new id.
	Replica string
	// Lock is the file that the one working process of a SQLite database holds; "" =
	// jobs.lock beside the database.
	Lock string
	// Prepare readies the turn of a firing; Work needs it. What it fails with may be tried
	// again: nothing has begun. See Prepared.
	Prepare func(ctx context.Context, t Turn) (Prepared, error)
	// Workers is how many turns run at once in this process; 0 = 4.
	Workers int
	// Lease is how long a turn counts as alive after its process last said so; 0 = 60 s.
	Lease time.Duration
	// Drain is how long turns may take to end when Work is told to stop; 0 = 20 s.
	Drain time.Duration

	Now  func() time.Time // for schedules and windows; nil = time.Now
	Rand io.Reader        // nil = crypto/rand
	Log  *slog.Logger     // nil = nothing is logged
}

// Numbers of the queue. A firing that could not be begun three times is failed.
const (
	queueName      = "signals"
	maxTries       = 3
	defaultWorkers = 4
	defaultLease   = 60 * time.Second
	defaultDrain   = 20 * time.Second
	// fetchPause bounds how often an idle worker is asked; 20 ms let a replica begin two
	// hundred short turns a second.
	fetchPause = 20 * time.Millisecond
	// pollPause is how soon a firing is seen that no notice told of; a file tells of none, and
	// is looked at more often.
	pollPause     = 500 * time.Millisecond
	filePollPause = 200 * time.Millisecond
)

// Queue keeps definitions and firings in a database, and works on them if it is told
// to. Safe for concurrent use; many processes share one database.
type Queue struct {
	o       Options
	base    base
	lite    bool
	working atomic.Bool
	busy    atomic.Bool // Work was called
	turns   running
}

// Open connects to the database. It starts nothing: Work does.
func Open(ctx context.Context, o Options) (*Queue, error) {
	if o.Workers == 0 {
		o.Workers = defaultWorkers
	}
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.Drain == 0 {
		o.Drain = defaultDrain
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	q := &Queue{o: o}
	if q.o.Replica == "" {
		id, err := q.newID()
		if err != nil {
			return nil, err
		}
		q.o.Replica = id
	}
	if err := q.connect(ctx); err != nil {
		return nil, err
	}
	if err := q.base.prepare(q.library()); err != nil {
		q.base.close()
		return nil, err
	}
	return q, nil
}

func (q *Queue) connect(ctx context.Context) error {
	path := strings.TrimPrefix(q.o.DB, "sqlite:")
	if strings.HasPrefix(path, "postgres://") || strings.HasPrefix(path, "postgresql://") {
		pool, err := q.pool(ctx)
		if err != nil {
			return err
		}
		q.base = onPostgres(pool, pool.Close)
		return nil
	}
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%w: database %q is no absolute path", ErrInvalid, path)
	}
	q.lite = true
	if q.o.Lock == "" {
		q.o.Lock = filepath.Join(filepath.Dir(path), "jobs.lock")
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive
	}
	dsn := url.URL{Scheme: "file", Path: slashed, RawQuery: url.Values{
		"mode": {"rw"}, "_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "temp_store(memory)", "trusted_schema(0)", "synchronous(full)"},
	}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	q.base = onLite(db)
	if err := q.migrateLite(ctx, path); err != nil {
		q.base.close()
		return fmt.Errorf("queue in %s: %w", path, err)
	}
	return nil
}

// migrateLite makes the library's tables, one process at a time.
func (q *Queue) migrateLite(ctx context.Context, path string) error {
	l, err := lockfile.Exclusive(ctx, path+".queue-lock", lockfile.Options{Verb: "migrate", Now: q.o.Now})
	if err != nil {
		return err
	}
	defer func() { _ = l.Release() }()
	return q.base.migrate(ctx)
}

func (q *Queue) pool(ctx context.Context) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(q.o.DB)
	if err != nil {
		return nil, fmt.Errorf("%w: database: %w", ErrInvalid, err)
	}
	c.ConnConfig.RuntimeParams["application_name"] = "deft/" + q.o.Replica
	c.ConnConfig.RuntimeParams["deft.tenant"] = "local"
	c.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "30000"
	// One listens, each worker may hold one, and others plan, sweep and answer.
	c.MaxConns = max(c.MaxConns, int32(q.o.Workers)+6)
	return pgxpool.NewWithConfig(ctx, c)
}

// Migrate makes the queue library's tables in PostgreSQL; they may be there already.
func (q *Queue) Migrate(ctx context.Context) error { return q.base.migrate(ctx) }

// Close lets go of the database. Work must have ended.
func (q *Queue) Close() { q.base.close() }

// Replica is the name of this process in rows.
func (q *Queue) Replica() string { return q.o.Replica }

// Ping reports whether the database answers and holds the queue's tables.
func (q *Queue) Ping(ctx context.Context) error {
	var n int64
	return one(ctx, q.base, "SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM river_job WHERE id < 0)", nil, &n)
}

// library configures the queue library for a process that only inserts.
func (q *Queue) library() *river.Config {
	poll := pollPause
	if q.lite {
		poll = filePollPause
	}
	return &river.Config{
		ID: q.o.Replica, Logger: slog.New(quiet{q.o.Log.Handler()}),
		JobTimeout:  -1, // a turn has its own bounds
		MaxAttempts: maxTries, FetchCooldown: fetchPause, FetchPollInterval: poll, PollOnly: q.lite,
	}
}

// quiet is a handler that leaves out what the library says of every job.
type quiet struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// newID draws an id that sorts by time: a UUID of version 7.
func (q *Queue) newID() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(q.o.Rand, b[6:]); err != nil {
		return "", fmt.Errorf("id: %w", err)
	}
	ms := uint64(q.o.Now().UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	x := hex.EncodeToString(b[:])
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-"), nil
}

// newTrace draws an id of 130 random bits, in the form of every trace id.
func (q *Queue) newTrace() (string, error) {
	var b [17]byte
	if _, err := io.ReadFull(q.o.Rand, b[:]); err != nil {
		return "", fmt.Errorf("trace id: %w", err)
	}
	return "t_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])[:26]), nil
}

// newSecret draws a secret of 256 bits.
func (q *Queue) newSecret() (string, error) {
	var b [32]byte
	if _, err := io.ReadFull(q.o.Rand, b[:]); err != nil {
		return "", fmt.Errorf("secret: %w", err)
	}
	return "deft_hook_" + base64.RawURLEncoding.EncodeToString(b[:]), nil
}
