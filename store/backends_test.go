package store_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/pgtest"
	"github.com/deftskills/deft/store"
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
