package store

import (
	"context"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/pgtest"
)

// A transaction that got its number first and ends last is told, wherever a watcher was.
func TestAChangeThatCommitsLateIsNotSkipped(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := Open(ctx, Options{DB: pgtest.URL(t)})
	must(t, err)
	defer s.Close()
	must(t, s.Changes().Publish(ctx, "config", "before"))
	db := s.b.(*server).db
	early, err := db.BeginTx(ctx, nil)
	must(t, err)
	defer func() { _ = early.Rollback() }()
	must(t, publish(ctx, s.b.(*server).on(early), []Change{{Kind: "config", Key: "early"}}))
	must(t, s.Changes().Publish(ctx, "config", "late"))

	cur := cursor{told: map[int64]bool{}}
	keys := func(c *cursor) (out string) {
		found, err := c.read(ctx, s)
		must(t, err)
		for _, change := range found {
			out += change.Key + " "
		}
		return out
	}
	if got := keys(&cur); got != "before late " {
		t.Errorf("while it runs: %q", got)
	}
	last, err := s.Changes().Last(ctx)
	must(t, err)
	fresh := cursor{from: last, told: map[int64]bool{}}
	if got := keys(&fresh); got != "" && got != "before " {
		t.Errorf("from the last on: %q", got)
	}
	must(t, early.Commit())
	for _, c := range []*cursor{&cur, &fresh} {
		if got := keys(c); got != "early " {
			t.Errorf("when it ended: %q", got)
		}
		if got := keys(c); got != "" {
			t.Errorf("told again: %q", got)
		}
	}
}

// With a poll of an hour only the notice can wake, on a connection that was lost too.
func TestANoticeWakesAtOnce(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s, err := Open(ctx, Options{DB: pgtest.URL(t), Poll: time.Hour})
	must(t, err)
	defer s.Close()
	must(t, s.Changes().Publish(ctx, "config", "0"))
	found := make(chan string)
	go func() {
		defer close(found)
		for c, err := range s.Changes().Watch(ctx, 0) {
			if err != nil {
				t.Error(err)
			}
			found <- c.Key
		}
	}()
	for _, key := range []string{"0", "1", "2"} {
		if key != "0" {
			must(t, s.Changes().Publish(ctx, "config", key))
		}
		if got := <-found; got != key {
			t.Errorf("told %q, want %q", got, key)
		}
	}
	stop()
	for range found {
	}
}

// Notices that are lost are made up for by looking.
func TestWithoutNoticesAWatcherLooks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := Open(ctx, Options{DB: pgtest.URL(t), Poll: 10 * time.Millisecond})
	must(t, err)
	defer s.Close()
	must(t, s.Changes().Publish(ctx, "config", "0"))
	_, err = s.b.(*server).db.ExecContext(ctx, "ALTER TABLE changes DISABLE TRIGGER changed")
	must(t, err)
	for c, err := range s.Changes().Watch(ctx, 0) {
		must(t, err)
		if c.Key == "0" {
			must(t, s.Changes().Publish(ctx, "config", "1"))
		}
		if c.Key == "1" {
			break
		}
	}
}

func TestChangesGoAfterADay(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		must(t, s.Changes().Publish(ctx, "config", "old"))
		s.setClock(func() time.Time { return time.Now().Add(changesKept + time.Hour) })
		must(t, s.Changes().Publish(ctx, "config", "new"))
		for c, err := range s.Changes().Watch(ctx, 0) {
			must(t, err)
			if c.Key != "new" {
				t.Errorf("told %q", c.Key)
			}
			break
		}
	})
}

func (s *Store) setClock(now func() time.Time) {
	switch b := s.b.(type) {
	case *file:
		b.o.Now = now
	case *server:
		b.o.Now = now
	}
}
