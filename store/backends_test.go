package store_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/pgtest"
	"github.com/deftskills/deft/internal/s3test"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
	"github.com/deftskills/deft/store/blobs3"
	"github.com/deftskills/deft/store/storetest"
)

func opener(address func(t *testing.T) string) func(*testing.T, store.Options) *store.Store {
	addresses := newOnce()
	return func(t *testing.T, o store.Options) *store.Store {
		t.Helper()
		o.DB = addresses.of(t, address)
		if o.Busy == 0 {
			o.Busy = time.Minute // a loaded machine is no fault
		}
		s, err := store.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	ran := map[string][]string{}
	t.Run("SQLite", func(t *testing.T) {
		ran["SQLite"] = storetest.Run(t, opener(func(t *testing.T) string {
			t.Helper()
			return "sqlite:" + filepath.Join(t.TempDir(), "state", "deft.db")
		}))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		_ = pgtest.URL(t) // skips once, not in every part
		ran["PostgreSQL"] = storetest.Run(t, opener(func(t *testing.T) string {
			t.Helper()
			return pgtest.URL(t)
		}))
		if !slices.Equal(ran["SQLite"], ran["PostgreSQL"]) {
			t.Errorf("not the same tests: %q", ran)
		}
	})
}

// Contents may lie in another place than the database: every pair keeps the promises.
func TestContentsOnEveryPair(t *testing.T) {
	t.Parallel()
	databases := []struct {
		name    string
		address func(t *testing.T) string
	}{
		{"SQLite", func(t *testing.T) string {
			t.Helper()
			return "sqlite:" + filepath.Join(t.TempDir(), "state", "deft.db")
		}},
		{"PostgreSQL", func(t *testing.T) string { t.Helper(); return pgtest.URL(t) }},
	}
	bucket := func(server func(testing.TB) *s3test.Bucket) func(t *testing.T) blobs.Store {
		return func(t *testing.T) blobs.Store {
			t.Helper()
			b := server(t)
			s, err := blobs3.Open(b.Address, blobs3.Options{Env: b.Env, Patience: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		}
	}
	places := []struct {
		name string
		open func(t *testing.T) blobs.Store
	}{
		{"folder", func(t *testing.T) blobs.Store {
			t.Helper()
			return &blobs.Dir{Path: filepath.Join(t.TempDir(), "blobs")}
		}},
		{"bucket in process", bucket(s3test.InProcess)},
		{"bucket of the gateway", bucket(s3test.Gateway)},
	}
	for _, db := range databases {
		for _, place := range places {
			t.Run(db.name+" and "+place.name, func(t *testing.T) {
				t.Parallel()
				_, _ = db.address(t), place.open(t) // skips once, not in every part
				storetest.RunContents(t, opener(db.address), place.open)
			})
		}
	}
}
