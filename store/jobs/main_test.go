package jobs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/deftskills/deft/internal/pgtest"
	"github.com/deftskills/deft/store"
)

func TestMain(m *testing.M) {
	if child := os.Getenv("DEFT_TEST_CHILD"); child != "" {
		os.Exit(children[child]())
	}
	goleak.VerifyTestMain(m)
}

// children are what this program does when a test starts it as a process of its own.
var children = map[string]func() int{}

// each runs a test on both databases.
func each(t *testing.T, f func(t *testing.T, db string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); f(t, liteDB(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); f(t, pgtest.From(t, "jobs", ready)) })
}

func liteDB(t *testing.T) string {
	t.Helper()
	db := "sqlite:" + filepath.Join(t.TempDir(), "deft.db")
	if err := ready(db); err != nil {
		t.Fatal(err)
	}
	return db
}

// ready makes every table.
func ready(db string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{DB: db})
	if err != nil {
		return err
	}
	_, err = s.Migrate(ctx)
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	q, err := Open(ctx, Options{DB: db})
	if err != nil {
		return err
	}
	defer q.Close()
	return q.Migrate(ctx)
}

func open(t testing.TB, o Options) *Queue {
	t.Helper()
	q, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
