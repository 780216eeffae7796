package registry_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// countingSource counts its scans; each takes as long as it is told.
type countingSource struct {
	source.Source
	scans atomic.Int64
	takes time.Duration
	fails atomic.Bool
}

func (s *countingSource) Scan(ctx context.Context, prev *source.Listing) (*source.Listing, error) {
	s.scans.Add(1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.fails.Load() {
		return nil, errors.New("disk is away")
	}
	return s.Source.Scan(ctx, prev)
}

func counting(takes time.Duration) *countingSource {
	return &countingSource{Source: source.Data([]source.Definition{{Name: "one", Content: "---\nname: one\ndescription: One.\n---\n\nText.\n"}}, source.DataOptions{}), takes: takes}
}

func opened(t *testing.T, c registry.Config) *registry.Registry {
	t.Helper()
	r, err := registry.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func refreshed(t *testing.T, r *registry.Registry) *registry.Snapshot {
	t.Helper()
	if _, err := r.Refresh(t.Context(), registry.RefreshOptions{}); err != nil {
		t.Fatal(err)
	}
	return r.Snapshot()
}

func TestCallsDuringARunShareItAndThoseAfterAChangeShareTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := counting(time.Second)
		r := opened(t, registry.Config{Sources: []source.Source{src}})
		var group sync.WaitGroup
		call := func(o registry.RefreshOptions) {
			group.Go(func() {
				if _, err := r.Refresh(context.Background(), o); err != nil {
					t.Error(err)
				}
			})
		}
		for range 5 {
			call(registry.RefreshOptions{})
		}
		synctest.Wait()
		for range 5 {
			call(registry.RefreshOptions{After: true})
		}
		group.Wait()
		want(t, "scans", src.scans.Load(), int64(3)) // Open, the shared one, and one more
	})
}

func TestARunGoesOnForThoseWhoStillWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := counting(time.Second)
		r := opened(t, registry.Config{Sources: []source.Source{src}})
		first, leave := context.WithCancel(context.Background())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := r.Refresh(first, registry.RefreshOptions{}); !errors.Is(err, context.Canceled) {
				t.Errorf("who left got %v", err)
			}
		})
		synctest.Wait()
		group.Go(func() {
			if _, err := r.Refresh(context.Background(), registry.RefreshOptions{}); err != nil {
				t.Errorf("who stayed got %v", err)
			}
		})
		synctest.Wait()
		leave()
		group.Wait()
		want(t, "scans", src.scans.Load(), int64(2))
	})
}

func TestATurnAnswersAtOnceAndChecksBehindItsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := counting(time.Second)
		r := opened(t, registry.Config{Sources: []source.Source{src}})
		defer r.Close()
		turn := func() time.Duration {
			start := time.Now()
			r.ForTurn(t.Context())
			return time.Since(start)
		}
		turn()
		want(t, "scans within the cooldown", src.scans.Load(), int64(1))
		time.Sleep(31 * time.Second)
		want(t, "waited", turn(), time.Duration(0))
		turn()
		time.Sleep(2 * time.Second)
		want(t, "scans after it", src.scans.Load(), int64(2))
		time.Sleep(28 * time.Second) // the cooldown counts from the end of the check
		turn()
		synctest.Wait()
		want(t, "scans 30 seconds after the check began, 29 after it ended", src.scans.Load(), int64(2))
		time.Sleep(2 * time.Second)
		turn()
		synctest.Wait()
		want(t, "scans 31 seconds after it ended", src.scans.Load(), int64(3))
	})
}

func TestABlockingTurnWaitsForTheCheckAndAFailureIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := counting(time.Second)
		told := 0
		r := opened(t, registry.Config{
			Sources: []source.Source{src}, Blocking: true, Cooldown: time.Minute,
			Report: func(d skill.Diagnostic) {
				if d.Code == "source_failed" {
					told++
				}
			},
		})
		time.Sleep(2 * time.Minute)
		start := time.Now()
		r.ForTurn(t.Context())
		want(t, "waited", time.Since(start), time.Second)
		src.fails.Store(true)
		for range 3 {
			time.Sleep(2 * time.Minute)
			r.ForTurn(t.Context())
		}
		want(t, "told", told, 1)
		want(t, "the old skills stay", winners(r.Snapshot()), []string{"one"})
	})
}

func TestABrokenFileKeepsItsLastGoodVersion(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "x", "SKILL.md")
	writeSkill(t, filepath.Join(root, "x"), "x", "Good.")
	told := map[string]int{}
	r := opened(t, registry.Config{
		Sources: []source.Source{source.Dir(root, source.DirOptions{})},
		Report:  func(d skill.Diagnostic) { told[d.Code]++ },
	})
	for range 3 { // the same broken text again is the same complaint
		if err := os.WriteFile(file, []byte("---\nname: [x\n---\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		rec := lookup(t, refreshed(t, r), "x")
		want(t, "state", rec.State, registry.Available)
		want(t, "stale", rec.Stale, true)
		want(t, "description", rec.Skill.Description, "Good.")
		want(t, "reason", rec.Reasons[0].Code, "stale")
		if at(t, rec.Skill.Diagnostics, "yaml_syntax") == nil {
			t.Errorf("findings of the broken file are missing: %v", rec.Skill.Diagnostics)
		}
	}
	want(t, "version", r.Snapshot().Version, uint64(2))
	want(t, "complaints", told["yaml_syntax"], 1)

	writeSkill(t, filepath.Join(root, "x"), "x", "Better.")
	rec := lookup(t, refreshed(t, r), "x")
	want(t, "after the repair", rec.Skill.Description, "Better.")
	want(t, "stale", rec.Stale, false)

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if s := refreshed(t, r); len(s.All) != 0 {
		t.Errorf("a deleted skill stays: %v", winners(s))
	}
	if err := os.WriteFile(file, []byte("---\nname: [x\n---\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want(t, "broken from the start", lookup(t, refreshed(t, r), "x").State, registry.Invalid)
}

func TestATouchIsNoChange(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	writeSkill(t, filepath.Join(root, "x"), "x", "Same.")
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	before := r.Snapshot()
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(root, "x", "SKILL.md"), then, then); err != nil {
		t.Fatal(err)
	}
	if refreshed(t, r) != before {
		t.Error("a touched file made another snapshot")
	}
}

// Sidecars come without a change of SKILL.md; the directory's own stamp tells.
func TestASidecarThatAppearsIsSeen(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"SKILL.config.json", "agents/openai.yaml"} {
		root := t.TempDir()
		dir := filepath.Join(root, "x")
		writeSkill(t, dir, "x", "Same.")
		r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{Now: laterClock()})}})
		refreshed(t, r)
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		refreshed(t, r) // agents is there now and empty
		if err := os.WriteFile(file, []byte("{\"display_name\": \"Shown\", \"interface\": {\"display_name\": \"Shown\"}}"), 0o644); err != nil {
			t.Fatal(err)
		}
		rec := lookup(t, refreshed(t, r), "x")
		if rec.Stamp.Sidecars == nil || rec.Skill.Digest == rec.Skill.File {
			t.Errorf("%s was not noticed: %+v", name, rec.Stamp)
		}
	}
}

// Conformance minimax X08 subscriber-panic is the first subscriber.
func TestSubscribersHearOfSkillsThatDiffer(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, n := range []string{"a", "b"} {
		writeSkill(t, filepath.Join(root, n), n, "One.")
	}
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	heard := make(chan registry.Change, 10)
	r.Subscribe(func(registry.Change) { panic("somebody else's fault") })
	cancel := r.Subscribe(func(c registry.Change) { heard <- c })
	refreshed(t, r)
	writeSkill(t, filepath.Join(root, "a"), "a", "Two.")
	writeSkill(t, filepath.Join(root, "c"), "c", "One.")
	if err := os.RemoveAll(filepath.Join(root, "b")); err != nil {
		t.Fatal(err)
	}
	refreshed(t, r)
	c := <-heard
	want(t, "added", c.Added, []string{"c"})
	want(t, "removed", c.Removed, []string{"b"})
	want(t, "updated", c.Updated, []string{"a"})
	want(t, "reason", c.Reason, "refresh")
	want(t, "version", c.Version, uint64(2))
	cancel()
	writeSkill(t, filepath.Join(root, "d"), "d", "One.")
	refreshed(t, r)
	if len(heard) != 0 {
		t.Errorf("heard after cancel: %v", <-heard)
	}
}
