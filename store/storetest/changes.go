package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/deftskills/deft/store"
)

// changes is the feed.
func changes(s *Suite) {
	s.testOpen("EveryDecisionIsTold", told)
	s.testOpen("AWatcherGoesOnWhereItWas", goesOn)
	s.test("AChangeHasAKind", changeKinds)
}

// next returns the next n changes after from as "kind key".
func next(ctx context.Context, t *testing.T, s *store.Store, from int64, n int) (out []string, last int64) {
	t.Helper()
	for c, err := range s.Changes().Watch(ctx, from) {
		must(t, err)
		if c.At.IsZero() || c.At.Location() != time.UTC {
			t.Errorf("time %v", c.At)
		}
		out, last = append(out, c.Kind+" "+c.Key), max(last, c.Seq)
		if len(out) == n {
			break
		}
	}
	slices.Sort(out)
	return out, last
}

func told(t *testing.T, open func(store.Options) *store.Store) {
	ctx := t.Context()
	a, other, watcher := open(store.Options{}), open(store.Options{Tenant: "other"}), open(store.Options{})
	fill(t, other)
	must(t,
		a.States().Set(ctx, store.SkillState{Name: "One", Switch: store.Off}, store.SkillState{Name: "two", Switch: store.On}),
		a.States().Clear(ctx, "none"), // changes nothing
		a.SaveProfile(ctx, store.Profile{Name: "work"}))
	f, err := a.TrustFolder(ctx, "/none/a", "cli", "")
	must(t, err, a.Changes().Publish(ctx, "config", "x"))
	got, _ := next(ctx, t, watcher, 0, 5)
	want := []string{"config x", "profiles work", "skills one", "skills two", "trust " + f.ID}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

func goesOn(t *testing.T, open func(store.Options) *store.Store) {
	ctx := t.Context()
	a, watcher := open(store.Options{}), open(store.Options{Poll: 10 * time.Millisecond})
	must(t, a.Changes().Publish(ctx, "config", "1"), a.Changes().Publish(ctx, "config", "2"))
	_, last := next(ctx, t, watcher, 0, 2)
	if now, err := watcher.Changes().Last(ctx); err != nil || now != last {
		t.Errorf("last %d, %v, want %d", now, err, last)
	}
	began := make(chan struct{})
	found := make(chan int)
	go func() {
		close(began)
		n := 0
		for c, err := range watcher.Changes().Watch(ctx, last) {
			if n++; err != nil || c.Key == "3" {
				break // one of those before may be told again
			}
		}
		found <- n
	}()
	<-began
	must(t, a.Changes().Publish(ctx, "config", "3"))
	if n := <-found; n > 3 {
		t.Errorf("told %d changes", n)
	}
}

func changeKinds(t *testing.T, s *store.Store) {
	for _, kind := range []string{"", "Config", "a b", "it's", string(make([]byte, 40))} {
		if err := s.Changes().Publish(t.Context(), kind, "x"); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("kind %q: %v", kind, err)
		}
	}
}
