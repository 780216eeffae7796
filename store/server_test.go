package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/internal/pgtest"
)

func TestAServerThatGoesAwayIsSaidAndComesBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pg := pgtest.New(t)
	s := openAt(t, Options{DB: pg.URL(), Replica: "r1", Release: "1.2"})
	want := fill(t, s)
	set := func(name string) error { return s.States().Set(ctx, SkillState{Name: name, Switch: Off}) }

	pg.Stop()
	if st, err := s.Load(ctx); !errors.Is(err, ErrUnavailable) || len(st.Folders)+len(st.Grants) > 0 {
		t.Errorf("read: %+v, %v", st, err)
	}
	if err := set("x"); !errors.Is(err, ErrUnavailable) || Code(err) != "store_unavailable" {
		t.Errorf("write: %v", err)
	}
	if f := s.Check(ctx); len(f) != 1 || f[0].Code != "store_unavailable" {
		t.Errorf("findings %v", f)
	}
	pg.Start()
	if diff := cmp.Diff(want, load(t, s)); diff != "" {
		t.Error(diff)
	}

	// Connections that a restart has ended are no fault of the next call.
	pg.Stop()
	pg.Start()
	must(t, set("x"))
	pg.Execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'deft'")
	must(t, set("y"))

	// In the middle of a transaction nothing of it is there.
	err := s.write(ctx, "state.save", func(tx *tx) error {
		if err := publish(ctx, tx, []Change{{Kind: "config", Key: "half"}}); err != nil {
			return err
		}
		pg.Kill()
		return publish(ctx, tx, []Change{{Kind: "config", Key: "never"}})
	})
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("in a transaction: %v", err)
	}
	pg.Start()
	must(t, s.Changes().Publish(ctx, "config", "after"))
	for c, err := range s.Changes().Watch(ctx, 0) {
		must(t, err)
		if c.Key == "half" || c.Key == "never" {
			t.Errorf("told %q", c.Key)
		}
		if c.Key == "after" {
			break
		}
	}
	serverRefuses(t, pg, s, set)

	pg.Execute("ALTER ROLE deft BYPASSRLS")
	if f := s.Check(ctx); len(f) != 2 || f[1].Code != "store_superuser" {
		t.Errorf("findings %v", f)
	}
}

// serverRefuses is what a server that runs may refuse.
func serverRefuses(t *testing.T, pg *pgtest.Server, s *Store, set func(string) error) {
	t.Helper()
	ctx := t.Context()
	want := load(t, s)
	var name, statement, idle string
	must(t, s.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, "SELECT current_setting('application_name'), current_setting('statement_timeout'), "+
			"current_setting('idle_in_transaction_session_timeout')").Scan(&name, &statement, &idle)
	}))
	if name != "deft/1.2/r1" || statement != "10s" || idle != "30s" {
		t.Errorf("connection %s, %s, %s", name, statement, idle)
	}

	pg.Execute("ALTER ROLE deft SET default_transaction_read_only = on",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'deft'")
	if err := set("read-only"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
	pg.Execute("ALTER ROLE deft RESET default_transaction_read_only",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'deft'")

	pg.Execute("ALTER DATABASE deft CONNECTION LIMIT 0",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'deft'")
	if err := set("full"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no connection is left: %v", err)
	}
	pg.Execute("ALTER DATABASE deft CONNECTION LIMIT -1")
	// A try that is under way may have met the old bound, and tells all who wait for it.
	for late := time.Now().Add(time.Minute); time.Now().Before(late); {
		if _, err := s.Load(ctx); !errors.Is(err, ErrUnavailable) {
			break
		}
	}

	if diff := cmp.Diff(want, load(t, s)); diff != "" {
		t.Error(diff)
	}
}

// raise makes every new row of the feed fail with a code of PostgreSQL, until the n-th try.
func raise(t *testing.T, s *Store, code string, until int) {
	t.Helper()
	for _, statement := range []string{
		"DROP TRIGGER IF EXISTS raising ON changes",
		"DROP SEQUENCE IF EXISTS tries",
		"CREATE SEQUENCE tries",
		fmt.Sprintf("CREATE OR REPLACE FUNCTION raising() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "+
			"IF nextval('tries') < %d THEN RAISE EXCEPTION 'made up' USING ERRCODE = '%s'; END IF; RETURN NEW; END $$", until, code),
		"CREATE TRIGGER raising BEFORE INSERT ON changes FOR EACH ROW EXECUTE FUNCTION raising()",
	} {
		_, err := s.b.(*server).db.ExecContext(t.Context(), statement)
		must(t, err)
	}
}

func TestConflictsAreTriedAgainAndOtherErrorsAreNamed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openAt(t, Options{DB: pgtest.URL(t)})
	must(t, s.Changes().Publish(ctx, "config", "0"))
	for _, tc := range []struct {
		code  string
		until int
		want  error
		tries int
	}{
		{"40001", 1 + conflicts, nil, 1 + conflicts},
		{"40P01", 3, nil, 3},
		{"40001", 100, ErrConflict, 1 + conflicts},
		{"53100", 100, ErrFull, 1},
		{"23505", 100, ErrExists, 1},
		{"57014", 100, ErrBusy, 1},
		{"22021", 100, ErrInvalid, 1},
		{"57P01", 100, ErrUnavailable, 1},
		{"53300", 100, ErrUnavailable, 1},
	} {
		raise(t, s, tc.code, tc.until)
		if err := s.Changes().Publish(ctx, "config", "x"); !errors.Is(err, tc.want) || tc.want == nil && err != nil {
			t.Errorf("%s: %v", tc.code, err)
		}
		var tries int
		must(t, s.b.(*server).db.QueryRowContext(ctx, "SELECT last_value FROM tries").Scan(&tries))
		if tries != tc.tries {
			t.Errorf("%s: tried %d times", tc.code, tries)
		}
	}
}

// No room, no rights, no disk: whatever a write meets before its end, nothing of it stays.
// It arms the one failpoint of the process and runs alone.
func TestR08AWriteThatFailsBeforeItsEndLeavesNothing(t *testing.T) {
	for _, db := range []string{t.TempDir() + "/state/deft.db", pgtest.URL(t)} {
		s := openAt(t, Options{DB: db})
		ctx := t.Context()
		must(t, s.Changes().Publish(ctx, "config", "0"))
		want, err := s.Changes().Last(ctx)
		must(t, err)
		for code, kind := range map[string]error{"ENOSPC": ErrFull, "EIO": nil, "EACCES": ErrReadOnly, "EROFS": ErrReadOnly} {
			disarm, err := fault.Arm("state.save=err:" + code)
			must(t, err)
			err = s.Changes().Publish(ctx, "config", code)
			disarm()
			if err == nil || kind != nil && !errors.Is(err, kind) {
				t.Errorf("%s: %v", code, err)
			}
		}
		if last, err := s.Changes().Last(ctx); err != nil || last != want {
			t.Errorf("something stays: %d, %v", last, err)
		}
	}
}

// An address that answers nothing is waited for once.
func TestASilentAddressIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	s := openAt(t, Options{DB: "postgres://deft@" + silent.Addr().String() + "/deft?connect_timeout=1&sslmode=disable"})
	_, first := s.Load(t.Context())
	_, second := s.Load(t.Context())
	if !errors.Is(first, ErrUnavailable) || !errors.Is(second, ErrUnavailable) {
		t.Errorf("%v, %v", first, second)
	}
	if a := s.b.(*server).away.Load(); a == nil || !a.until.After(time.Now().Add(-time.Minute)) {
		t.Errorf("%+v", a)
	}
}

// A server that answers nothing is away after a while, and the caller's own bound goes
// before.
func TestTheCallersBoundHolds(t *testing.T) {
	t.Parallel()
	s := openAt(t, Options{DB: pgtest.URL(t)})
	fill(t, s)
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	err := s.read(ctx, func(q querier) error {
		var x string
		return q.QueryRowContext(ctx, "SELECT pg_sleep(60)::text").Scan(&x)
	})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	load(t, s)
}

func TestAnOldServerIsNamed(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"13.9": false, "14.1": true, "15.18 (Debian 15.18-0+deb12u1)": true, "17beta1": true, "9.6.24": false} {
		err := checkServer("postgres://host/db", version)
		if (err == nil) != want || err != nil && (!errors.Is(err, ErrDSN) || !strings.Contains(err.Error(), "want 14 or newer")) {
			t.Errorf("%s: %v", version, err)
		}
	}
}
