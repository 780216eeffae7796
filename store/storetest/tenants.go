package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/store"
)

// tenants are several owners of one database.
func tenants(s *Suite) {
	s.testOpen("TenantsSeeNothingOfEachOther", func(t *testing.T, open func(store.Options) *store.Store) {
		a, b := open(store.Options{Tenant: "a"}), open(store.Options{Tenant: "b"})
		want := fill(t, a)
		if diff := cmp.Diff(store.State{}, load(t, b)); diff != "" {
			t.Error(diff)
		}
		for _, g := range want.Grants {
			if err := b.Revoke(t.Context(), "b", g.ID); err == nil {
				t.Error("a grant of another tenant was withdrawn")
			}
		}
		must(t, b.States().Clear(t.Context(), "commit"), b.States().Set(t.Context(), store.SkillState{Name: "commit", Switch: store.On}))
		if diff := cmp.Diff(want, load(t, a)); diff != "" {
			t.Error(diff)
		}
	})
}
