package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/skill"
)

// Limits of the connections to a server. An address may say other ones.
const (
	poolSize         = 16
	connectTimeout   = 5 * time.Second
	statementTimeout = 10 * time.Second
	idleTimeout      = 30 * time.Second
	// patience is how long one call takes in all before the server counts as away: a
	// network that swallows packets answers nothing at all.
	patience = 2 * statementTimeout
	// oldestServer is the first PostgreSQL that this package is tested with.
	oldestServer = 14
	// conflicts is how often a transaction is tried anew, after 10 ms, then twice as long.
	conflicts     = 5
	firstConflict = 10 * time.Millisecond
)

// migrationLock is the advisory lock of whoever migrates: "deft" in ASCII.
const migrationLock = 0x64656674

// server is state in a database of a PostgreSQL server.
type server struct {
	o          Options
	address    string // masked
	db         *sql.DB
	config     *pgx.ConnConfig
	migrations fs.FS
	latest     int64
	known      atomic.Bool // a schema that can be read was seen
	once       sync.Once
	closed     atomic.Bool
	away       atomic.Pointer[absence]
}

func openServer(o Options) (*server, error) {
	address := Masked(o.DB)
	config, err := pgx.ParseConfig(o.DB)
	if err != nil {
		// The cause may repeat the address with its password.
		return nil, fmt.Errorf("%w: %s is no address of a PostgreSQL database", ErrDSN, address)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	for key, value := range map[string]string{
		"statement_timeout": ms(statementTimeout), "idle_in_transaction_session_timeout": ms(idleTimeout),
		"application_name": "deft/" + o.Release + "/" + o.Replica,
	} {
		if config.RuntimeParams[key] == "" {
			config.RuntimeParams[key] = value
		}
	}
	config.RuntimeParams["deft.tenant"] = o.Tenant
	s := &server{o: o, address: address, config: config, migrations: embedded("postgres")}
	if s.latest, err = latestSchema(s.migrations); err != nil {
		return nil, err
	}
	s.db = s.pool(config)
	s.db.SetMaxOpenConns(poolSize)
	s.db.SetMaxIdleConns(poolSize)
	return s, nil
}

func (s *server) pool(config *pgx.ConnConfig) *sql.DB {
	return stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(_ context.Context, c *pgx.Conn) error {
		return checkServer(s.address, c.PgConn().ParameterStatus("server_version"))
	}))
}

func checkServer(address, version string) error {
	major := version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	if n, err := strconv.Atoi(major); err == nil && n < oldestServer {
		return fmt.Errorf("%w: %s is PostgreSQL %s; want %d or newer", ErrDSN, address, version, oldestServer)
	}
	return nil
}

// Masked returns the address of a database with *** in place of every password, as it may
// be shown and logged. Of what is no address nothing but its scheme is left.
func Masked(address string) string {
	scheme, _, isAddress := strings.Cut(address, "://")
	if !isAddress {
		return address // a path
	}
	u, err := url.Parse(address)
	if err != nil {
		return scheme + "://***"
	}
	const mask = "***"
	user := ""
	if u.User != nil {
		user = url.User(u.User.Username()).String()
		if _, has := u.User.Password(); has {
			user += ":" + mask
		}
		user += "@"
	}
	pairs := strings.Split(u.RawQuery, "&")
	for i, pair := range pairs {
		if key, _, ok := strings.Cut(pair, "="); ok && strings.Contains(strings.ToLower(key), "password") {
			pairs[i] = key + "=" + mask
		}
	}
	u.User, u.RawQuery, u.Fragment = nil, strings.Join(pairs, "&"), ""
	return strings.Replace(u.String(), "://", "://"+user, 1)
}

func (s *server) name() string { return s.address }

func (s *server) close() (err error) {
	s.once.Do(func() {
		s.closed.Store(true)
		err = s.db.Close()
	})
	return err
}

func (s *server) say(err error) error { return say(s.address, err, nil) }

// read implements backend.
func (s *server) read(ctx context.Context, since int64, f func(q querier) error) error {
	since = s.o.readableSince(since, s.latest)
	for tries := 0; ; tries++ {
		schema, err := s.readOnce(ctx, since, f)
		if schema == 0 || schema >= since || err != nil {
			return s.say(err)
		}
		if s.o.asItIs() || tries > 0 {
			return older(s.address, schema, s.latest)
		}
		if err := s.migrate(ctx); err != nil {
			return s.say(err)
		}
	}
}

func (s *server) readOnce(ctx context.Context, since int64, f func(q querier) error) (schema int64, err error) {
	ctx, done := context.WithTimeoutCause(ctx, patience, ErrUnavailable)
	defer done()
	defer func() { err = late(ctx, err) }()
	begun, err := s.begin(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer func() { _ = begun.Rollback() }()
	tx := s.on(begun)
	schema = s.latest
	// Once seen, a schema stays readable: a release next to this one only adds to it.
	if !s.known.Load() {
		if schema, err = s.schema(ctx, tx); err != nil || schema < max(since, 1) {
			return schema, err
		}
		s.known.Store(schema >= s.latest)
	}
	return schema, f(tx)
}

// write implements backend.
func (s *server) write(ctx context.Context, point string, state bool, f func(tx *tx) error) error {
	if s.o.ReadOnly {
		return fmt.Errorf("%w: %s", ErrReadOnly, s.address)
	}
	for nap, tries, migrated := firstConflict, 0, false; ; {
		err := s.writeOnce(ctx, point, state, f)
		switch {
		case errors.Is(err, errOldSchema) && !migrated:
			migrated = true
			if err := s.migrate(ctx); err != nil {
				return s.say(err)
			}
		case !errors.Is(sentinel(err), ErrConflict) || tries == conflicts:
			return s.say(err)
		default:
			tries++
			select {
			case <-time.After(nap + rand.N(nap)):
			case <-ctx.Done():
				return s.say(context.Cause(ctx))
			}
			nap *= 2
		}
	}
}

// errOldSchema asks for a migration.
var errOldSchema = errors.New("older schema")

func (s *server) writeOnce(ctx context.Context, point string, state bool, f func(tx *tx) error) (err error) {
	ctx, done := context.WithTimeoutCause(ctx, patience, ErrUnavailable)
	defer done()
	defer func() { err = late(ctx, err) }()
	begun, err := s.begin(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = begun.Rollback() }()
	tx := s.on(begun)
	switch schema, err := s.schema(ctx, tx); {
	case err != nil:
		return err
	case schema > s.latest:
		return newer(s.address, schema, s.latest)
	case schema < s.latest:
		return errOldSchema
	}
	s.known.Store(true)
	if state {
		// The total and the sums are read and written back: one at a time.
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(?, hashtext(:tenant))", migrationLock); err != nil {
			return err
		}
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
	fault.Point(point)
	return nil
}

// alone implements backend: the lock is one of a session, and goes with its connection.
func (s *server) alone(ctx context.Context, thing string) (done func() error, err error) {
	if s.o.ReadOnly {
		return nil, fmt.Errorf("%w: %s", ErrReadOnly, s.address)
	}
	if err := s.write(ctx, "", false, func(*tx) error { return errUnchanged }); err != nil { // of this schema
		return nil, err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, s.say(err)
	}
	var free bool
	if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1, hashtext('deft ' || $2))", migrationLock, thing).Scan(&free); err != nil {
		return nil, s.say(errors.Join(err, conn.Close()))
	}
	if !free {
		return nil, errors.Join(fmt.Errorf("%w: %s: another process is at it: %s", ErrBusy, s.address, thing), conn.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1, hashtext('deft ' || $2))", migrationLock, thing)
		return errors.Join(err, conn.Close())
	}, nil
}

// late says that a call failed because the server took longer than patience.
func late(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), ErrUnavailable) {
		return fmt.Errorf("%w within %v: %w", ErrUnavailable, patience, err)
	}
	return err
}

// absence is that no connection could be made.
type absence struct {
	until time.Time
	err   error
}

// begin starts a transaction. Connections that the server ended meanwhile are found
// out here, where nothing was done on them yet. After a wait in vain for a connection the
// next calls fail at once, as long as that wait was: a program that looks ten times does
// not wait ten times.
func (s *server) begin(ctx context.Context, o *sql.TxOptions) (*sql.Tx, error) {
	for tries := 0; ; tries++ {
		if s.closed.Load() {
			return nil, ErrClosed
		}
		start := time.Now()
		if a := s.away.Load(); a != nil && start.Before(a.until) {
			return nil, a.err
		}
		begun, err := s.db.BeginTx(ctx, o)
		if err == nil || tries > 0 || ctx.Err() != nil || !errors.Is(sentinel(err), ErrUnavailable) {
			return begun, err
		}
		var connect *pgconn.ConnectError
		if errors.As(err, &connect) {
			now := time.Now()
			s.away.Store(&absence{now.Add(now.Sub(start)), err})
			return nil, err
		}
		s.db.SetMaxIdleConns(0) // closes those that wait
		s.db.SetMaxIdleConns(poolSize)
	}
}

func (s *server) on(q executor) *tx {
	return &tx{q: q, postgres: true, tenant: s.o.Tenant, now: s.o.Now().UTC().Truncate(time.Microsecond)}
}

// schema returns the schema of the database: 0 when it holds nothing of ours. It is an
// error when this release can't read it.
func (s *server) schema(ctx context.Context, q querier) (int64, error) {
	if there := s.known.Load(); !there {
		if err := q.QueryRowContext(ctx, "SELECT to_regclass('meta') IS NOT NULL").Scan(&there); err != nil || !there {
			return 0, err
		}
	}
	schema, err := schemaNote(ctx, q, "schema")
	if err != nil {
		return 0, err
	}
	return schema, belowFloor(ctx, q, s.address, schema, s.latest)
}

// migrate brings the database to the latest schema. Of several processes one does, the
// others wait for it and find nothing to do.
func (s *server) migrate(ctx context.Context) (err error) {
	config := s.config.Copy()
	config.RuntimeParams["statement_timeout"] = "0" // an index of a large table takes its time
	config.RuntimeParams["deft.tenant"] = "local"
	db := s.pool(config)
	defer func() { err = errors.Join(err, db.Close()) }()
	lock, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := lock.ExecContext(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return err
	}
	schema, err := s.schema(ctx, s.on(lock))
	if err != nil || schema >= s.latest {
		return err
	}
	if schema > 0 && s.o.NoMigrate {
		return older(s.address, schema, s.latest)
	}
	return bringTo(ctx, s.latest, goose.DialectPostgres, db, s.migrations, func() (int64, error) { return s.schema(ctx, s.on(lock)) })
}

// listen implements backend, on a connection of its own. One that is lost is made anew at
// the pace of polling.
func (s *server) listen(ctx context.Context, wake chan<- struct{}) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			s.hear(ctx, wake)
			select {
			case <-ctx.Done():
			case <-time.After(s.o.Poll):
			}
		}
	}()
	return ended
}

// hear returns when the connection is lost.
func (s *server) hear(ctx context.Context, wake chan<- struct{}) {
	conn, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return
	}
	defer func() {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer done()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "LISTEN deft_changes"); err != nil {
		return
	}
	for {
		select {
		case wake <- struct{}{}: // also for what came before it listened
		default:
		}
		for mine := false; !mine; {
			notice, err := conn.WaitForNotification(ctx)
			if err != nil {
				return
			}
			mine = strings.HasPrefix(notice.Payload, s.o.Tenant+":")
		}
	}
}

// salvage implements backend.
func (s *server) salvage(ctx context.Context) (st State) {
	_ = s.read(ctx, stateSince, func(q querier) error {
		st = soundState(ctx, q)
		return nil
	})
	return st
}

// check implements backend.
func (s *server) check(ctx context.Context) []Finding {
	var schema, bytes int64
	var version string
	var above bool
	err := s.read(ctx, stateSince, func(q querier) error {
		if err := q.QueryRowContext(ctx, "SELECT current_setting('server_version'), pg_database_size(current_database()), "+
			"(SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)").
			Scan(&version, &bytes, &above); err != nil {
			return err
		}
		var err error
		if schema, err = s.schema(ctx, q); err != nil {
			return err
		}
		_, err = loadAll(ctx, q)
		return err
	})
	if err != nil {
		return []Finding{skill.Finding(orElse(Code(err), "store_unreadable"), s.address, "%v", err)}
	}
	if schema == 0 {
		return nil
	}
	out := []Finding{skill.Finding("store_schema", s.address, "schema %d of %d, %d bytes, PostgreSQL %s", schema, s.latest, bytes, version)}
	if above {
		out = append(out, skill.Finding("store_superuser", s.address, "the role passes row-level security: nothing but this program keeps tenants apart"))
	}
	return out
}

// serverSentinel sorts errors of PostgreSQL and of the way to it.
func serverSentinel(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		if kind, ok := map[string]error{
			"40001": ErrConflict, "40P01": ErrConflict,
			"23505": ErrExists,
			"53100": ErrFull,
			"25006": ErrReadOnly, "42501": ErrReadOnly,
			"55P03": ErrBusy, "57014": ErrBusy,
			"42P01": ErrDamaged, "42703": ErrDamaged, // our own statement does not fit the schema that is noted
			"22021": ErrInvalid, "22P05": ErrInvalid,
			"53300": ErrUnavailable, "57P01": ErrUnavailable, "57P02": ErrUnavailable, "57P03": ErrUnavailable,
			"25P03": ErrUnavailable,
		}[e.Code]; ok {
			return kind
		}
		if strings.HasPrefix(e.Code, "08") || strings.HasPrefix(e.Code, "28") || strings.HasPrefix(e.Code, "3D") {
			return ErrUnavailable
		}
		return nil
	}
	var connect *pgconn.ConnectError
	var network *net.OpError
	if errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) {
		return ErrUnavailable
	}
	return nil
}
