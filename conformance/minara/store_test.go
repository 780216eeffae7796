package minara

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/pgtest"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/jobs"
)

var nine = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// each runs a test on both kinds of database.
func each(t *testing.T, test func(t *testing.T, db string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db := filepath.Join(t.TempDir(), "deft.db")
		if err := ready(db); err != nil {
			t.Fatal(err)
		}
		test(t, db)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, pgtest.From(t, "minara", ready))
	})
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
	q, err := jobs.Open(ctx, jobs.Options{DB: db})
	if err != nil {
		return err
	}
	defer q.Close()
	return q.Migrate(ctx)
}

// queue is one replica.
func queue(t *testing.T, db string, prepare func(context.Context, jobs.Turn) (jobs.Prepared, error)) *jobs.Queue {
	t.Helper()
	q, err := jobs.Open(t.Context(), jobs.Options{DB: db, Prepare: prepare})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// work has a replica take firings until the test ends.
func work(t *testing.T, q *jobs.Queue) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Work(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
