package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// conn runs statements: a pool or a transaction. Statements are written once, with $1
// for arguments; {now} is the database's clock in microseconds.
type conn interface {
	exec(ctx context.Context, stmt string, args ...any) (changed int64, err error)
	query(ctx context.Context, stmt string, args []any, each func(scan func(...any) error) error) error
}

// tx is a transaction that can also put a firing into the queue.
type tx interface {
	conn
	enqueue(ctx context.Context, firing string, priority int) (queued int64, err error)
}

// base is one dialect: its connections, and the queue library on them.
type base interface {
	conn
	within(ctx context.Context, f func(t tx) error) error
	prepare(c *river.Config) error
	start(ctx context.Context, c *river.Config) (stopped <-chan struct{}, err error)
	stop(ctx context.Context) error
	migrate(ctx context.Context) error
	close()
}

// dialect is what differs between the two kinds of SQL.
type dialect struct {
	now   string // microseconds
	taken string // when the queue handed out a job, in microseconds
}

var (
	liteDialect = dialect{
		now:   "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
		taken: "CAST(unixepoch(r.attempted_at, 'subsec') * 1000000 AS INTEGER)",
	}
	postgresDialect = dialect{
		now:   "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
		taken: "CAST(extract(epoch FROM r.attempted_at) * 1000000 AS BIGINT)",
	}
)

func (d dialect) of(stmt string) string {
	return strings.NewReplacer("{now}", d.now, "{taken}", d.taken).Replace(stmt)
}

// on is a base over the driver of one dialect, T being its transactions.
type on[T any] struct {
	conn
	driver riverdriver.Driver[T]
	client *river.Client[T] // that inserts
	worker *river.Client[T] // that works; nil = none does
	begin  func(ctx context.Context, f func(T, conn) error) error
	shut   func()
}

func (b *on[T]) prepare(c *river.Config) (err error) {
	b.client, err = river.NewClient(b.driver, c)
	return err
}

func (b *on[T]) within(ctx context.Context, f func(t tx) error) error {
	return b.begin(ctx, func(t T, c conn) error { return f(onTx[T]{c, b.client, t}) })
}

func (b *on[T]) start(ctx context.Context, c *river.Config) (stopped <-chan struct{}, err error) {
	if b.worker, err = river.NewClient(b.driver, c); err != nil {
		return nil, err
	}
	if err := b.worker.Start(ctx); err != nil {
		return nil, err
	}
	return b.worker.Stopped(), nil
}

func (b *on[T]) stop(ctx context.Context) error { return b.worker.Stop(ctx) }
func (b *on[T]) close()                         { b.shut() }

// migrate makes the tables of the queue library. It may run at once in many processes.
func (b *on[T]) migrate(ctx context.Context) error {
	m, err := rivermigrate.New(b.driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

type onTx[T any] struct {
	conn
	client *river.Client[T]
	raw    T
}

func (t onTx[T]) enqueue(ctx context.Context, firing string, priority int) (int64, error) {
	done, err := t.client.InsertTx(ctx, t.raw, firingArgs{firing}, &river.InsertOpts{
		Queue: queueName, Priority: priority, MaxAttempts: maxTries,
	})
	if err != nil {
		return 0, err
	}
	return done.Job.ID, nil
}

// SQLite.

type liteConn struct {
	db interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	}
}

func (c liteConn) exec(ctx context.Context, stmt string, args ...any) (int64, error) {
	r, err := c.db.ExecContext(ctx, liteDialect.of(stmt), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (c liteConn) query(ctx context.Context, stmt string, args []any, each func(scan func(...any) error) error) error {
	rows, err := c.db.QueryContext(ctx, liteDialect.of(stmt), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// onLite is a base on one connection that writes: SQLite has one writer, and those who
// wait in line here need not wait at the file.
func onLite(db *sql.DB) base {
	return &on[*sql.Tx]{
		conn: liteConn{db}, driver: riversqlite.New(db), shut: func() { _ = db.Close() },
		begin: func(ctx context.Context, f func(*sql.Tx, conn) error) error {
			t, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if err := f(t, liteConn{t}); err != nil {
				return errors.Join(err, t.Rollback())
			}
			return t.Commit()
		},
	}
}

// PostgreSQL.

type postgresConn struct {
	db interface {
		Query(context.Context, string, ...any) (pgx.Rows, error)
	}
}

func (c postgresConn) exec(ctx context.Context, stmt string, args ...any) (int64, error) {
	rows, err := c.db.Query(ctx, postgresDialect.of(stmt), args...)
	if err != nil {
		return 0, err
	}
	rows.Close()
	return rows.CommandTag().RowsAffected(), rows.Err()
}

func (c postgresConn) query(ctx context.Context, stmt string, args []any, each func(scan func(...any) error) error) error {
	rows, err := c.db.Query(ctx, postgresDialect.of(stmt), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// postgresBase migrates under the lock of migrations.
type postgresBase struct {
	*on[pgx.Tx]
	pool *pgxpool.Pool
}

// migrationLock is the advisory lock of whoever migrates; package store takes the same.
const migrationLock = 0x64656674

func (b postgresBase) migrate(ctx context.Context) error {
	return b.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
			return err
		}
		err := b.on.migrate(ctx)
		_, free := c.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrationLock)
		return errors.Join(err, free)
	})
}

func onPostgres(pool *pgxpool.Pool, shut func()) base {
	return postgresBase{pool: pool, on: &on[pgx.Tx]{
		conn: postgresConn{pool}, driver: riverpgxv5.New(pool), shut: shut,
		begin: func(ctx context.Context, f func(pgx.Tx, conn) error) error {
			return pgx.BeginFunc(ctx, pool, func(t pgx.Tx) error { return f(t, postgresConn{t}) })
		},
	}}
}

// one reads exactly one row; ErrNotFound = there is none.
func one(ctx context.Context, c conn, stmt string, args []any, into ...any) error {
	found := false
	err := c.query(ctx, stmt, args, func(scan func(...any) error) error {
		found = true
		return scan(into...)
	})
	if err == nil && !found {
		return fmt.Errorf("%w", ErrNotFound)
	}
	return err
}
