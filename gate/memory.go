package gate

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Memory keeps grants and questions in memory and hands the rows on to a Sink: for programs
// without a database. What it keeps ends with the process. It is safe for concurrent use.
type Memory struct {
	audit Sink

	mu     sync.Mutex
	grants map[string]Grant
	open   map[string]Confirmation // those that are resolved are forgotten
}

// NewMemory returns an empty Memory that writes its rows to audit.
func NewMemory(audit Sink) *Memory {
	return &Memory{audit: audit, grants: map[string]Grant{}, open: map[string]Confirmation{}}
}

// Add keeps a grant as it is; an id that is taken is an error.
func (m *Memory) Add(g Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.add(g)
}

func (m *Memory) add(g Grant) error {
	if _, taken := m.grants[g.ID]; taken || g.ID == "" {
		return fmt.Errorf("grant %q: the id is empty or taken", clip(g.ID))
	}
	m.grants[g.ID] = g.clone()
	return nil
}

// Revoke ends a grant; ErrGrantUnusable if there is none of that id.
func (m *Memory) Revoke(id, by string, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, ok := m.grants[id]
	if !ok {
		return ErrGrantUnusable
	}
	if g.Revoked.IsZero() {
		g.Revoked, g.RevokedBy = now, by
	}
	m.grants[id] = g
	return nil
}

// Grants returns all grants, those that are over too, in the order in which they are used.
func (m *Memory) Grants() []Grant {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Grant
	for _, g := range m.grants {
		out = append(out, g.clone())
	}
	sortGrants(out)
	return out
}

// Candidates implements GrantStore.
func (m *Memory) Candidates(ctx context.Context, q GrantQuery) ([]Grant, error) {
	all := m.Grants()
	return slices.DeleteFunc(all, func(g Grant) bool { return !q.Matches(g) }), ctx.Err()
}

// Use implements GrantStore.
func (m *Memory) Use(ctx context.Context, id string, now time.Time, row Row) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, ok := m.grants[id]
	if !ok || !g.Usable(now) {
		return ErrGrantUnusable
	}
	if err := m.record(ctx, row); err != nil {
		return err
	}
	g.Used++
	m.grants[id] = g
	return nil
}

// record writes a row, unless whoever wants it is gone.
func (m *Memory) record(ctx context.Context, r Row) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.audit.Record(ctx, r)
}

// Open implements ConfirmStore.
func (m *Memory) Open(ctx context.Context, c Confirmation, row Row) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.open[c.ID]; taken {
		return fmt.Errorf("confirmation %q: the id is taken", clip(c.ID))
	}
	if err := m.record(ctx, row); err != nil {
		return err
	}
	m.open[c.ID] = c
	return nil
}

// Resolve implements ConfirmStore.
func (m *Memory) Resolve(ctx context.Context, r Resolution) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.open[r.ID]; !ok {
		return ErrNotOpen
	}
	if r.Grant != nil {
		if err := m.add(*r.Grant); err != nil {
			return err
		}
	}
	if err := m.record(ctx, r.Row); err != nil {
		if r.Grant != nil {
			delete(m.grants, r.Grant.ID)
		}
		return err
	}
	delete(m.open, r.ID)
	return nil
}

// Drop implements ConfirmStore.
func (m *Memory) Drop(_ context.Context, session string, _ time.Time) error {
	m.end(func(c Confirmation) bool { return c.Session == session })
	return nil
}

// Expire implements ConfirmStore.
func (m *Memory) Expire(_ context.Context, now time.Time) error {
	m.end(func(c Confirmation) bool { return now.After(c.Expires) })
	return nil
}

func (m *Memory) end(which func(Confirmation) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, c := range m.open {
		if which(c) {
			delete(m.open, id)
		}
	}
}
