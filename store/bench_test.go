package store

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/internal/pgtest"
	"github.com/deftskills/deft/store/blobs"
)

// What a process pays that looks at state once: Open, Load of a usual state, Close.
func BenchmarkOpenAndLoad(b *testing.B) {
	s := open(b)
	fill(b, s)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(context.Background(), Options{DB: s.Path()})
		if err != nil {
			b.Fatal(err)
		}
		load(b, s)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// Ten thousand rows of the record in batches of fifty: at most 5 s on SQLite, each batch
// on the disk when it returns. A test's server does not wait for its disk.
func BenchmarkAppend10000(b *testing.B) {
	for kind, address := range map[string]func() string{
		"SQLite":     func() string { return filepath.Join(b.TempDir(), "state", "deft.db") },
		"PostgreSQL": func() string { return pgtest.URL(b) },
	} {
		b.Run(kind, func(b *testing.B) {
			for n := range b.N {
				s := reopen(b, address())
				if err := s.Writable(context.Background()); err != nil {
					b.Fatal(err)
				}
				rows := make([]AuditRow, 50)
				for batch := range 200 {
					for i := range rows {
						rows[i] = AuditRow{Action: "route", Actor: "model", Session: fmt.Sprint(n), Turn: fmt.Sprint(batch), After: []string{"a", "b"}}
					}
					if err := s.Audit().Append(context.Background(), rows...); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// What a process pays before it can look: at most 30 ms.
func BenchmarkOpen(b *testing.B) {
	s := open(b)
	fill(b, s)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(context.Background(), Options{DB: s.Path(), ReadOnly: true})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Version(context.Background()); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSet(b *testing.B) {
	s := open(b)
	for i := 0; b.Loop(); i++ {
		if err := s.States().Set(context.Background(), SkillState{Name: fmt.Sprint(i % 100), Switch: Off}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVersion(b *testing.B) {
	s := open(b)
	fill(b, s)
	for b.Loop() {
		if _, err := s.Version(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad10000(b *testing.B) {
	s := open(b)
	err := s.update(context.Background(), "state.save", func(c *change) error {
		for i := range 10_000 {
			name := fmt.Sprintf("skill-%d", i)
			if err := skillStates().put(c, SkillState{Key: name, Name: name, Switch: Off, Tree: digest(name), UpdatedAt: c.now}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if st := load(b, s); len(st.Switches) != 10_000 {
			b.Fatal(len(st.Switches))
		}
	}
}

// A thousand skills of three files each, published to a folder, every file and every
// version synced: at most 5 s.
func BenchmarkPublish1000(b *testing.B) {
	for _, atOnce := range []int{1, 4} {
		b.Run(fmt.Sprint(atOnce, "AtOnce"), func(b *testing.B) {
			for b.Loop() {
				s, dir := open(b), &blobs.Dir{Path: filepath.Join(b.TempDir(), "blobs")}
				publishMany(b, s, dir, 1000, atOnce)
			}
		})
	}
}

func publishMany(b *testing.B, s *Store, to blobs.Store, n, atOnce int) {
	b.Helper()
	var group sync.WaitGroup
	for first := range atOnce {
		group.Go(func() { publishEach(b, s, to, first, n, atOnce) })
	}
	group.Wait()
}

func publishEach(b *testing.B, s *Store, to blobs.Store, first, n, step int) {
	b.Helper()
	for i := first; i < n; i += step {
		_, err := s.PublishDir(b.Context(), fstest.MapFS{
			"SKILL.md":       {Data: fmt.Appendf(nil, "---\nname: form-%d\ndescription: Reads form %d. Use when it is there.\n---\nBody %d.\n", i, i, i)},
			"docs/notes.md":  {Data: fmt.Appendf(nil, "Notes of %d.\n", i)},
			"scripts/run.sh": {Data: fmt.Appendf(nil, "#!/bin/sh\necho %d\n", i), Mode: 0o755},
		}, PublishOptions{Blobs: to})
		if err != nil {
			b.Error(err)
			return
		}
	}
}

// One of a thousand published skills, found by its name, all its files verified: at most 1 ms.
func BenchmarkReadPublished(b *testing.B) {
	s, dir := open(b), &blobs.Dir{Path: filepath.Join(b.TempDir(), "blobs")}
	publishMany(b, s, dir, 1000, 4)
	b.ResetTimer()
	for b.Loop() {
		v, err := s.Versions().Find(b.Context(), "form-500", "")
		if err != nil {
			b.Fatal(err)
		}
		tree, err := s.Trees().Get(b.Context(), v.Tree)
		if err != nil || len(tree) != 3 {
			b.Fatal(tree, err)
		}
		for _, e := range tree {
			if _, err := dir.Get(b.Context(), e.Blob); err != nil {
				b.Fatal(err)
			}
		}
	}
}
