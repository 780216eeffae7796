package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/pgtest"
)

// both runs f on a Store of each kind, with a table of records "note".
func both(t *testing.T, f func(t *testing.T, s *Store)) {
	t.Helper()
	for _, kind := range []string{"SQLite", "PostgreSQL"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db := filepath.Join(t.TempDir(), "state", "deft.db")
			if kind != "SQLite" {
				db = pgtest.URL(t)
			}
			s, err := Open(t.Context(), Options{DB: db, Busy: time.Minute})
			must(t, err)
			t.Cleanup(func() { must(t, s.Close()) })
			must(t, s.write(t.Context(), "state.save", func(tx *tx) error {
				_, err := tx.ExecContext(t.Context(), "CREATE TABLE note (tenant TEXT NOT NULL, id TEXT NOT NULL, n BIGINT, PRIMARY KEY (tenant, id))")
				return err
			}))
			f(t, s)
		})
	}
}

func notes(t *testing.T, s *Store) (n int) {
	t.Helper()
	must(t, s.read(t.Context(), func(q querier) error {
		return q.QueryRowContext(t.Context(), "SELECT count(*) FROM note WHERE tenant = :tenant AND id <> '?:tenant'").Scan(&n)
	}))
	return n
}

func TestRecordsAreWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		var rows [][]any
		for i := range 70_000 / 2 {
			rows = append(rows, []any{fmt.Sprint(i), i})
		}
		must(t, s.write(ctx, "state.save", func(tx *tx) error { return tx.insert(ctx, "note", []string{"id", "n"}, rows...) }))
		if n := notes(t, s); n != len(rows) {
			t.Errorf("%d rows", n)
		}
		stop := errors.New("no")
		for what, row := range map[error][]any{stop: {"new", 1}, ErrExists: {"7", 1}} {
			err := s.write(ctx, "state.save", func(tx *tx) error {
				if err := tx.insert(ctx, "note", []string{"id", "n"}, []any{"before", 1}, row); err != nil {
					return err
				}
				return stop
			})
			if !errors.Is(err, what) {
				t.Errorf("%v: %v", what, err)
			}
		}
		if n := notes(t, s); n != len(rows) {
			t.Errorf("%d rows after a failure", n)
		}
	})
}

func TestARowIsCountedUpByOneWriterAtATime(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		must(t, s.write(ctx, "state.save", func(tx *tx) error { return tx.insert(ctx, "note", []string{"id", "n"}, []any{"x", 0}) }))
		const writers, each = 8, 10
		var wg sync.WaitGroup
		errs := make([]error, writers)
		for w := range writers {
			wg.Go(func() {
				for range each {
					errs[w] = errors.Join(errs[w], s.write(ctx, "state.save", func(tx *tx) error { return countUp(ctx, tx) }))
				}
			})
		}
		wg.Wait()
		must(t, errs...)
		var n int
		must(t, s.read(ctx, func(q querier) error {
			return q.QueryRowContext(ctx, "SELECT n FROM note WHERE tenant = :tenant AND id = ?", "x").Scan(&n)
		}))
		if n != writers*each {
			t.Errorf("%d", n)
		}
	})
}

func countUp(ctx context.Context, tx *tx) error {
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT n FROM note WHERE tenant = :tenant AND id = ?"+tx.forUpdate(), "x").Scan(&n); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE note SET n = ? WHERE tenant = :tenant AND id = ?", n+1, "x")
	return err
}

func TestRecordsAskForNoLockFileOnceTheFileIsReady(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	fill(t, s)
	must(t, os.Remove(fileOf(s).lockPath))
	must(t, s.write(ctx, "state.save", func(tx *tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE note (id TEXT)")
		return err
	}))
	if _, err := os.Stat(fileOf(s).lockPath); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("lock file: %v", err)
	}
	// Put aside between the transaction and its end: the row is in the old file.
	err := s.write(ctx, "state.save", func(tx *tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO note VALUES ('x')"); err != nil {
			return err
		}
		return os.Rename(s.Path(), s.Path()+".old")
	})
	if !errors.Is(err, ErrBusy) {
		t.Errorf("replaced: %v", err)
	}
}

func TestRowLevelSecurityIsASecondWall(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{DB: pgtest.URL(t), Tenant: "a"})
	must(t, err)
	defer s.Close()
	fill(t, s)
	server := s.b.(*server)
	var open sql.NullString
	err = server.db.QueryRow(`SELECT string_agg(c.relname, ', ') FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE a.attname = 'tenant' AND c.relkind = 'r' AND NOT (c.relrowsecurity AND c.relforcerowsecurity)`).Scan(&open)
	if err != nil || open.Valid {
		t.Errorf("tables without the wall: %s, %v", open.String, err)
	}
	conn, err := server.db.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "SET deft.tenant = 'b'")
	must(t, err)
	for table, want := range map[string]int{"skill_state": 0, "trust": 0, "profiles": 0, "meta": 2} {
		var n int
		must(t, conn.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		if n != want {
			t.Errorf("%s: another tenant sees %d rows", table, n)
		}
	}
	if _, err := conn.ExecContext(t.Context(), "INSERT INTO meta (tenant, key, value) VALUES ('a', 'x', 'y')"); err == nil {
		t.Error("another tenant's row was written")
	}
	if r, err := conn.ExecContext(t.Context(), "UPDATE meta SET value = '9' WHERE key = 'schema'"); err == nil {
		if n, _ := r.RowsAffected(); n != 0 {
			t.Error("a tenant changed the schema's number")
		}
	}
}

func TestPasswordsOfAnAddressAreMasked(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"postgres://me:secret@host:5433/db?sslmode=disable": "postgres://me:***@host:5433/db?sslmode=disable",
		"postgres://host/db?user=me&password=secret":        "postgres://host/db?user=me&password=***",
		"postgres://me@/db?host=/run&sslpassword=secret&a":  "postgres://me@/db?host=/run&sslpassword=***&a",
		"postgres://m%40e:s%2Fecret@host/db#secret":         "postgres://m%40e:***@host/db",
		"postgres://me:sec ret@ho st/db":                    "postgres://***",
	} {
		if got := Masked(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
	s, err := Open(t.Context(), Options{DB: "postgres://me:secret@127.0.0.1:1/db?connect_timeout=60"})
	must(t, err)
	defer s.Close()
	_, err = s.Load(t.Context())
	if !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "postgres://me:***@127.0.0.1:1/db") {
		t.Errorf("%v", err)
	}
}

func TestOneTextServesBothDatabases(t *testing.T) {
	t.Parallel()
	const query = "SELECT ':tenant ?' FROM x WHERE tenant = :tenant AND a = ? AND b IN (?, ?)"
	for postgres, want := range map[bool]string{
		false: "SELECT ':tenant ?' FROM x WHERE tenant = 'local' AND a = ? AND b IN (?, ?)",
		true:  "SELECT ':tenant ?' FROM x WHERE tenant = 'local' AND a = $1 AND b IN ($2, $3)",
	} {
		if got := (&tx{postgres: postgres, tenant: "local"}).text(query); got != want {
			t.Error(got)
		}
	}
	for _, bad := range []string{"A", "a'b", "-a", strings.Repeat("a", 64), "a b"} {
		if _, err := Open(t.Context(), Options{DB: "/none/deft.db", Tenant: bad}); !errors.Is(err, ErrInvalid) {
			t.Errorf("tenant %q: %v", bad, err)
		}
	}
}
