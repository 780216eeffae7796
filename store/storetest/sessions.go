package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/store"
)

// sessions is conversations and their events.
func sessions(s *Suite) {
	s.testOpen("SessionRowsComeBackTheNewestFirst", sessionRows)
	s.testOpen("EventsComeBackByteForByte", events)
	s.testOpen("EventsHaveOneWriter", oneWriter)
	s.test("OneWriterServesSeveralAtOnce", sharedWriter)
	s.testOpen("SessionsOfTenantsAreApart", sessionTenants)
}

func sessionRows(t *testing.T, open func(store.Options) *store.Store) {
	ctx, s := t.Context(), open(store.Options{})
	if all, err := s.Sessions(ctx, "", 10); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := s.Session(ctx, "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	for _, id := range []string{"", "../x", "a/b", ".", "a b", strings.Repeat("a", 200)} {
		if err := s.SaveSession(ctx, store.Session{ID: id, Status: store.SessionOpen}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := s.Events().Open(ctx, id); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("events of %q: %v", id, err)
		}
	}
	one := store.Session{
		ID: "one", Workspace: "/w", Dialect: "deft", Origin: "interactive", Surface: "cli", Principal: "user", Model: "m/n",
		Ceiling: 2, Placement: "local", Status: store.SessionOpen, Title: "tidy 'up' 中文",
	}
	must(t, s.SaveSession(ctx, one), s.SaveSession(ctx, store.Session{ID: "two", Workspace: "/v", Status: store.SessionIdle}))
	first, err := s.Session(ctx, "one")
	must(t, err)
	later := one
	later.Turns, later.LastSeq, later.Status, later.Placement, later.Workspace = 3, 9, store.SessionClosed, "remote:x", "/other"
	must(t, s.SaveSession(ctx, later))
	got, err := s.Session(ctx, "one")
	must(t, err)
	if got.Turns != 3 || got.Status != store.SessionClosed || got.UpdatedAt.Before(first.UpdatedAt) {
		t.Errorf("%+v", got)
	}
	if got.Placement != "local" || got.Workspace != "/w" || !got.CreatedAt.Equal(first.CreatedAt) {
		t.Errorf("what is fixed has changed: %+v", got)
	}
	all, err := s.Sessions(ctx, "", 10)
	must(t, err)
	if len(all) != 2 || all[0].ID != "one" {
		t.Errorf("%+v", all)
	}
	if of, err := s.Sessions(ctx, "/v", 1); err != nil || len(of) != 1 || of[0].ID != "two" {
		t.Errorf("%+v, %v", of, err)
	}
	if err := s.SaveSession(ctx, store.Session{ID: "bad", Status: "no"}); err == nil {
		t.Error("a status that is none was saved")
	}
}

func event(i int) store.Event {
	return store.Event{Turn: i / 3, Kind: "message", Payload: json.RawMessage(fmt.Sprintf(`{"n": %d, "a":"%s<&>中"  , "a":1.50}`, i, strings.Repeat("x", i%9)))}
}

func eventsOf(t *testing.T, s *store.Store, session string, from int64) (out []store.Event) {
	t.Helper()
	for ev, err := range s.Events().Read(t.Context(), session, from) {
		must(t, err)
		out = append(out, ev)
	}
	return out
}

func events(t *testing.T, open func(store.Options) *store.Store) {
	ctx, s := t.Context(), open(store.Options{})
	for _, err := range s.Events().Read(ctx, "one", 1) {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("nothing yet: %v", err)
		}
	}
	must(t, s.Events().Delete(ctx, "one"))
	var want []store.Event
	for round := range 3 {
		w, err := s.Events().Open(ctx, "one")
		must(t, err)
		if w.Last() != int64(len(want)) || w.Torn() != "" {
			t.Errorf("round %d: last %d, torn %q", round, w.Last(), w.Torn())
		}
		for range 500 {
			ev := event(len(want))
			must(t, w.Append(ctx, ev))
			want = append(want, ev)
		}
		batch := []store.Event{event(len(want)), event(len(want) + 1)}
		must(t, w.Append(ctx, batch...))
		want = append(want, batch...)
		if err := w.Append(ctx, event(0), store.Event{Kind: "Bad kind", Payload: json.RawMessage("1")}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("a kind that is none: %v", err)
		}
		must(t, w.Sync(), w.Close())
	}
	got := eventsOf(t, s, "one", 1)
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range got {
		want[i].Seq, want[i].At = int64(i+1), got[i].At
		if got[i].At.IsZero() {
			t.Fatal("no time")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[1200:], eventsOf(t, s, "one", 1201)); diff != "" {
		t.Error(diff)
	}
	for range s.Events().Read(ctx, "one", 1) {
		break
	}
	must(t, s.SaveSession(ctx, store.Session{ID: "one", Status: store.SessionIdle}), s.DeleteSession(ctx, "one"))
	if err := s.DeleteSession(ctx, "one"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	for _, err := range s.Events().Read(ctx, "one", 1) {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("deleted: %v", err)
		}
	}
}

func oneWriter(t *testing.T, open func(store.Options) *store.Store) {
	ctx, a, b := t.Context(), open(store.Options{}), open(store.Options{})
	first, err := a.Events().Open(ctx, "one")
	must(t, err)
	second, err := b.Events().Open(ctx, "one")
	if err == nil {
		must(t, first.Append(ctx, event(0)))
		err = second.Append(ctx, event(1))
		must(t, second.Close())
	}
	if !errors.Is(err, store.ErrBusy) {
		t.Errorf("second writer: %v", err)
	}
	must(t, first.Close())
	if got := eventsOf(t, a, "one", 1); len(got) > 1 {
		t.Errorf("%d events", len(got))
	}
}

func sharedWriter(t *testing.T, s *store.Store) {
	w, err := s.Events().Open(t.Context(), "one")
	must(t, err)
	const writers, each = 4, 10
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for i := range each {
				if err := w.Append(t.Context(), event(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := len(eventsOf(t, s, "one", 1)); n != writers*each || w.Last() != writers*each {
		t.Errorf("%d events, the last has number %d, want %d", n, w.Last(), writers*each)
	}
	must(t, w.Close())
}

func sessionTenants(t *testing.T, open func(store.Options) *store.Store) {
	ctx, a, b := t.Context(), open(store.Options{Tenant: "a"}), open(store.Options{Tenant: "b"})
	w, err := a.Events().Open(ctx, "one")
	must(t, err)
	must(t, w.Append(ctx, event(0)), w.Close(), a.SaveSession(ctx, store.Session{ID: "one", Status: store.SessionIdle}))
	if all, err := b.Sessions(ctx, "", 10); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := b.Session(ctx, "one"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("row: %v", err)
	}
	for ev, err := range b.Events().Read(ctx, "one", 1) {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("events of another tenant: %v, %v", ev, err)
		}
	}
	must(t, b.Events().Delete(ctx, "one"))
	if n := len(eventsOf(t, a, "one", 1)); n != 1 {
		t.Errorf("%d events are left", n)
	}
}
