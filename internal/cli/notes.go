package cli

import (
	"context"

	"github.com/deftskills/deft/store"
)

// notes keeps what models note for later work in this project. The state is opened with the
// first call that needs it.
type notes struct{ r *run }

func (n notes) of(ctx context.Context) (*store.Memories, error) {
	s, err := n.r.openStore(ctx)
	if err != nil {
		return nil, err
	}
	return s.Memories(n.r.projectRoot(), "user"), nil
}

// All implements toolset.Memories.
func (n notes) All(ctx context.Context) (map[string]string, error) {
	m, err := n.of(ctx)
	if err != nil {
		return nil, err
	}
	return m.All(ctx)
}

// Keep implements toolset.Memories.
func (n notes) Keep(ctx context.Context, name, text string, most int) (bool, error) {
	m, err := n.of(ctx)
	if err != nil {
		return false, err
	}
	return m.Keep(ctx, name, text, most)
}

// Drop implements toolset.Memories.
func (n notes) Drop(ctx context.Context, name string) (bool, error) {
	m, err := n.of(ctx)
	if err != nil {
		return false, err
	}
	return m.Drop(ctx, name)
}
