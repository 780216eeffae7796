package storetest

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/store"
)

// usage is what the scanner said, and how skills are used.
func usage(s *Suite) {
	s.test("ScansAreFoundByTreeAndRules", scans)
	s.test("UsageIsAddedUpByDay", counts)
	s.test("UsageOfWritersAtOnceIsAddedUp", countsTogether)
	s.test("UsageIsForgottenByNameOrWhole", forgets)
	s.testOpen("ScansAndUsageOfTenantsAreApart", func(t *testing.T, open func(store.Options) *store.Store) {
		a, b := open(store.Options{Tenant: "a"}), open(store.Options{Tenant: "b"})
		kept, err := a.KeepScan(t.Context(), store.Scan{Tree: "sha256:1", Rules: "r", Findings: json.RawMessage("[]")})
		must(t, err, a.CountUsage(t.Context(), used("2026-01-02", "x", 1)))
		if _, err := b.Scan(t.Context(), kept.Tree, kept.Rules); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
		list, err := b.Usage(t.Context(), time.Time{})
		must(t, err)
		n, err := b.ForgetUsage(t.Context(), "")
		must(t, err)
		mine, err := a.Usage(t.Context(), time.Time{})
		must(t, err)
		if len(list) != 0 || n != 0 || len(mine) != 1 {
			t.Error(list, n, mine)
		}
	})
}

func scans(t *testing.T, s *store.Store) {
	ctx := t.Context()
	if _, err := s.Scan(ctx, "sha256:1", "r"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	first, err := s.KeepScan(ctx, store.Scan{Tree: "sha256:1", Rules: "r", Read: 3, Findings: json.RawMessage(`[]`)})
	must(t, err)
	want := store.Scan{Tree: "sha256:1", Rules: "r", Complete: true, Read: 2, Skipped: 1, Blocking: 1, Findings: json.RawMessage(`[{"file": "it's ? :tenant 名"}]`)}
	again, err := s.KeepScan(ctx, want)
	must(t, err)
	_, err = s.KeepScan(ctx, store.Scan{Tree: "sha256:1", Rules: "other", Findings: json.RawMessage(`[{"file": "\u0000"}]`)})
	must(t, err)
	got, err := s.Scan(ctx, "sha256:1", "r")
	must(t, err)
	want.ID, want.At = first.ID, again.At
	if diff := cmp.Diff(want, got); diff != "" || again.ID != first.ID || got.At.IsZero() {
		t.Error(diff, again.ID, first.ID)
	}
	for _, bad := range []store.Scan{{Rules: "r", Findings: json.RawMessage("[]")}, {Tree: "t", Findings: json.RawMessage("[]")}, {Tree: "t", Rules: "r"}} {
		if _, err := s.KeepScan(ctx, bad); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// used is one row in which every count is n.
func used(day, skill string, n int64) store.Usage {
	at, _ := time.Parse(time.DateOnly, day)
	return store.Usage{
		UsageKey: store.UsageKey{Day: day, Skill: skill, Source: "s", Digest: "sha256:1", Client: "cli"},
		Counts: store.Counts{
			Shown: n, Loaded: n, UserStarted: n, ModelStarted: n, Preloaded: n, ResourceReads: n, ToolCalls: n, ToolErrors: n, Denied: n,
			CatalogTokens: n, BodyTokens: n, Milliseconds: n,
		},
		Last: at.Add(time.Duration(n) * time.Second),
	}
}

func counts(t *testing.T, s *store.Store) {
	ctx := t.Context()
	if list, err := s.Usage(ctx, time.Time{}); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	other := used("2026-01-02", "名", 1)
	other.Agent, other.Client = "it's", "mcp:x?"
	must(t, s.CountUsage(ctx), s.CountUsage(ctx, used("2026-01-02", "x", 5), used("2026-01-01", "x", 1), other, used("2026-01-02", "x", 2)))
	must(t, s.CountUsage(ctx, used("2026-01-02", "x", 3)))
	sum := used("2026-01-02", "x", 10)
	sum.Last = used("2026-01-02", "x", 5).Last
	list, err := s.Usage(ctx, time.Date(2026, 1, 2, 23, 0, 0, 0, time.UTC))
	must(t, err)
	if diff := cmp.Diff([]store.Usage{sum, other}, list); diff != "" {
		t.Error(diff)
	}
	if all, err := s.Usage(ctx, time.Time{}); err != nil || len(all) != 3 || all[0].Day != "2026-01-01" {
		t.Error(all, err)
	}
	for _, bad := range []store.Usage{used("2026-1-2", "x", 1), used("", "x", 1), used("2026-01-02", "", 1)} {
		if err := s.CountUsage(ctx, used("2026-01-05", "x", 1), bad); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if late, err := s.Usage(ctx, time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)); err != nil || len(late) != 0 {
		t.Error("a part of what cannot be kept was kept", late, err)
	}
}

func countsTogether(t *testing.T, s *store.Store) {
	const writers = 8
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			rows := []store.Usage{used("2026-01-02", "a", 1), used("2026-01-02", "b", 1)}
			if i%2 == 1 {
				rows[0], rows[1] = rows[1], rows[0]
			}
			if err := s.CountUsage(t.Context(), rows...); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	list, err := s.Usage(t.Context(), time.Time{})
	must(t, err)
	if len(list) != 2 || list[0].Loaded != writers || list[1].Milliseconds != writers {
		t.Errorf("%+v", list)
	}
}

func forgets(t *testing.T, s *store.Store) {
	ctx := t.Context()
	must(t, s.CountUsage(ctx, used("2026-01-01", "a", 1), used("2026-01-02", "a", 1), used("2026-01-02", "b", 1), used("2026-01-02", "c", 1)))
	for _, step := range []struct {
		name string
		want int64
	}{{"none", 0}, {"a", 2}, {"", 2}, {"", 0}} {
		if n, err := s.ForgetUsage(ctx, step.name); err != nil || n != step.want {
			t.Errorf("%q: %d, %v, want %d", step.name, n, err, step.want)
		}
	}
	if list, err := s.Usage(ctx, time.Time{}); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}
