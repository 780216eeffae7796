package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/internal/pgtest"
)

// oldSchema is one that databases in use have, and the statements that its release runs.
const oldSchema = 1

// until gives a Store the migrations up to a number, and one that does nothing after n.
func until(t *testing.T, s *Store, last int64) {
	t.Helper()
	dialect := "sqlite"
	if _, isServer := s.b.(*server); isServer {
		dialect = "postgres"
	}
	some, known := fstest.MapFS{}, embedded(dialect)
	names, err := fs.Glob(known, "*.sql")
	must(t, err)
	for _, name := range names {
		if n, err := migrationNumber(name); err == nil && n <= last {
			text, err := fs.ReadFile(known, name)
			must(t, err)
			some[name] = &fstest.MapFile{Data: text}
		}
	}
	latest, err := latestSchema(some)
	must(t, err)
	switch b := s.b.(type) {
	case *file:
		b.migrations, b.latest = some, latest
	case *server:
		b.migrations, b.latest = some, latest
	}
}

// eachKind runs f with the address of an empty database of each kind.
func eachKind(t *testing.T, f func(t *testing.T, db string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		f(t, filepath.Join(t.TempDir(), "state", "deft.db"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		f(t, pgtest.URL(t))
	})
}

func openAt(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// A release that is one behind works beside this one: its statements run on this schema.
func TestStatementsOfTheReleaseBeforeRunOnThisSchema(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, db string) {
		s := openAt(t, Options{DB: db})
		fill(t, s)
		text, err := os.ReadFile(filepath.Join("testdata", "prev", fmt.Sprintf("%04d.sql", oldSchema)))
		must(t, err)
		n := 0
		must(t, s.write(t.Context(), "state.save", func(tx *tx) error {
			for statement := range strings.SplitSeq(string(text), ";\n") {
				if strings.TrimSpace(statement) == "" {
					continue
				}
				n++
				if _, err := tx.ExecContext(t.Context(), statement); err != nil {
					return fmt.Errorf("%s: %w", statement, err)
				}
			}
			return nil
		}))
		if n < 10 {
			t.Errorf("only %d statements", n)
		}
	})
}

// What an older release wrote is brought forward whole, and its reader goes on beside.
func TestStateOfAnOlderReleaseIsBroughtForward(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, db string) {
		old := openAt(t, Options{DB: db})
		until(t, old, oldSchema)
		ctx := t.Context()
		// The old release knows no feed of changes: it is written by its own statements.
		must(t, old.b.write(ctx, "state.save", true, func(tx *tx) error { return nil }))
		must(t, old.write(ctx, "state.save", func(tx *tx) error {
			c := &change{ctx: ctx, tx: tx, now: tx.now, isNoted: map[Change]bool{}}
			if err := skillStates().put(c, SkillState{Key: "a", Name: "a", Switch: Deny}); err != nil {
				return err
			}
			for key, n := range map[string]uint64{"version": 1, "total": c.total} {
				if err := putMeta(c, key, fmt.Sprint(int64(n))); err != nil {
					return err
				}
			}
			return nil
		}))
		want := load(t, old)
		for _, o := range []Options{{ReadOnly: true}, {NoMigrate: true}} {
			o.DB = db
			asItIs := openAt(t, o)
			if diff := cmp.Diff(want, load(t, asItIs)); diff != "" {
				t.Errorf("as it is: %s", diff)
			}
			if err := asItIs.States().Set(ctx, SkillState{Name: "x", Switch: On}); !errors.Is(err, ErrReadOnly) {
				t.Errorf("%v", err)
			}
			now, err := asItIs.Schema(ctx)
			if err != nil || now.Current != oldSchema || now.Floor != 1 || !slices.Contains(now.Pending, "0006_changes") {
				t.Errorf("%+v, %v", now, err)
			}
		}
		s := openAt(t, Options{DB: db})
		now, err := s.Migrate(ctx)
		if err != nil || now.Current != now.Wanted || len(now.Pending) > 0 {
			t.Errorf("%+v, %v", now, err)
		}
		if _, isFile := s.b.(*file); isFile && (now.Backup == "" || cmp.Diff(want, load(t, openAt(t, Options{DB: now.Backup, ReadOnly: true}))) != "") {
			t.Errorf("the copy: %+v", now)
		}
		for _, reader := range []*Store{s, old} {
			if diff := cmp.Diff(want, load(t, reader)); diff != "" {
				t.Errorf("afterwards: %s", diff)
			}
		}
		if err := old.States().Set(ctx, SkillState{Name: "x", Switch: On}); !errors.Is(err, ErrNewerSchema) {
			t.Errorf("the older one writes: %v", err)
		}
		must(t, s.States().Set(ctx, SkillState{Name: "x", Switch: On}))
	})
}

func TestOneOfManyMigrates(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, db string) {
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			s := openAt(t, Options{DB: db, Busy: time.Minute})
			wg.Go(func() {
				errs[i] = s.States().Set(t.Context(), SkillState{Name: fmt.Sprint(i), Switch: Off})
			})
		}
		wg.Wait()
		must(t, errs...)
		if st := load(t, openAt(t, Options{DB: db})); len(st.Switches) != len(errs) {
			t.Errorf("%d switches", len(st.Switches))
		}
	})
}
