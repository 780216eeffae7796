package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/store"
)

// agents is notes of models and kinds of agents.
func agents(s *Suite) {
	s.test("NotesAreOfOnePersonInOneWorkspace", notes)
	s.test("NotesHaveABoundThatWritersAtOnceKeep", notesTogether)
	s.test("KindsOfAgentsAreCountedAndReplaced", kinds)
	s.testOpen("NotesAndAgentsOfTenantsAreApart", func(t *testing.T, open func(store.Options) *store.Store) {
		a, b := open(store.Options{Tenant: "a"}), open(store.Options{Tenant: "b"})
		_, err := a.Memories("/w", "user").Keep(t.Context(), "n", "x", 10)
		must(t, err)
		_, err = a.SaveAgent(t.Context(), store.AgentDefinition{ID: "x", Body: "b"})
		must(t, err)
		all, err := b.Memories("/w", "user").All(t.Context())
		must(t, err)
		list, err := b.Agents(t.Context())
		must(t, err)
		if len(all) != 0 || len(list) != 0 {
			t.Error(all, list)
		}
		if err := b.RemoveAgent(t.Context(), "x"); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
	})
}

func notes(t *testing.T, s *store.Store) {
	ctx := t.Context()
	m := s.Memories("/srv/w", "user")
	if all, err := m.All(ctx); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
	if there, err := m.Drop(ctx, "none"); there || err != nil {
		t.Error(there, err)
	}
	want := map[string]string{"it's": "one? :tenant", "名": strings.Repeat("长", 1000), "x": "2"}
	for name, body := range want {
		kept, err := m.Keep(ctx, name, "before", 3)
		must(t, err)
		again, err := m.Keep(ctx, name, body, 3)
		must(t, err)
		if !kept || !again {
			t.Error(name, kept, again)
		}
	}
	if kept, err := m.Keep(ctx, "one more", "y", 3); kept || err != nil {
		t.Error(kept, err)
	}
	all, err := m.All(ctx)
	must(t, err)
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	for _, other := range []*store.Memories{s.Memories("/srv/w", "agent:x"), s.Memories("/other", "user")} {
		if all, err := other.All(ctx); err != nil || len(all) != 0 {
			t.Error(all, err)
		}
		if there, err := other.Drop(ctx, "x"); there || err != nil {
			t.Error(there, err)
		}
	}
	if there, err := m.Drop(ctx, "x"); !there || err != nil {
		t.Error(there, err)
	}
	if _, err := s.Memories("", "user").Keep(ctx, "x", "y", 3); !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
}

func notesTogether(t *testing.T, s *store.Store) {
	m := s.Memories("/srv/w", "user")
	const most, writers = 5, 12
	var kept atomic.Int32
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			ok, err := m.Keep(t.Context(), fmt.Sprint("n", i), "x", most)
			if err != nil {
				t.Error(err)
			}
			if ok {
				kept.Add(1)
			}
		})
	}
	group.Wait()
	all, err := m.All(t.Context())
	must(t, err)
	if len(all) != most || kept.Load() != most {
		t.Errorf("%d kept, %v", kept.Load(), slices.Sorted(maps.Keys(all)))
	}
}

func kinds(t *testing.T, s *store.Store) {
	ctx := t.Context()
	if list, err := s.Agents(ctx); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	first, err := s.SaveAgent(ctx, store.AgentDefinition{ID: "trader", Body: "---\nname: trader\n---\n", UpdatedBy: "cli"})
	must(t, err)
	second, err := s.SaveAgent(ctx, store.AgentDefinition{ID: "trader", Body: "---\nname: trader\ntier: READ_ONLY\n---\n"})
	must(t, err)
	_, err = s.SaveAgent(ctx, store.AgentDefinition{ID: "a", Body: "x"})
	must(t, err)
	list, err := s.Agents(ctx)
	must(t, err)
	if first.Version != 1 || second.Version != 2 || !second.CreatedAt.Equal(first.CreatedAt) || len(list) != 2 || list[0].ID != "a" {
		t.Error(first, second, list)
	}
	if diff := cmp.Diff(second, list[1]); diff != "" {
		t.Error(diff)
	}
	must(t, s.RemoveAgent(ctx, "trader"))
	if err := s.RemoveAgent(ctx, "trader"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if _, err := s.SaveAgent(ctx, store.AgentDefinition{ID: "x"}); !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
}
