package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// AgentDefinition is a kind of agent that a host keeps for all its machines.
type AgentDefinition struct {
	ID        string
	Version   int64     // counted by SaveAgent, from 1
	Body      string    // the text of a definition, as it stands in a file
	CreatedAt time.Time // UTC, set by SaveAgent, as the next one
	UpdatedAt time.Time
	UpdatedBy string // who, such as "cli"; may be ""
}

const agentColumns = "SELECT id, version, body, created_at, updated_at, updated_by FROM agent_definitions WHERE tenant = :tenant"

func scanAgent(scan func(...any) error) (a AgentDefinition, err error) {
	var created, updated int64
	err = scan(&a.ID, &a.Version, &a.Body, &created, &updated, &a.UpdatedBy)
	a.CreatedAt, a.UpdatedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return a, err
}

// Agents returns the kept kinds of agents, in the order of ids.
func (s *Store) Agents(ctx context.Context) ([]AgentDefinition, error) {
	var out []AgentDefinition
	err := s.read(ctx, func(q querier) error {
		out = nil
		rows, err := q.QueryContext(ctx, agentColumns+" ORDER BY id")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			a, err := scanAgent(rows.Scan)
			if err != nil {
				return err
			}
			out = append(out, a)
		}
		return rows.Err()
	})
	return out, err
}

// SaveAgent saves a kind over the one of its id, and returns it as it is kept.
func (s *Store) SaveAgent(ctx context.Context, a AgentDefinition) (AgentDefinition, error) {
	if a.ID == "" || a.Body == "" {
		return a, fmt.Errorf("%w: an agent without an id or a text", ErrInvalid)
	}
	err := s.write(ctx, "agent.save", func(tx *tx) error {
		now := tx.now
		a.Version, a.CreatedAt, a.UpdatedAt = 1, now, now
		old, err := scanAgent(tx.QueryRowContext(ctx, agentColumns+" AND id = ?"+tx.forUpdate(), a.ID).Scan)
		switch {
		case err == nil:
			a.Version, a.CreatedAt = old.Version+1, old.CreatedAt
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM agent_definitions WHERE tenant = :tenant AND id = ?", a.ID); err != nil {
			return err
		}
		return tx.insert(ctx, "agent_definitions", []string{"id", "version", "body", "created_at", "updated_at", "updated_by"},
			[]any{a.ID, a.Version, a.Body, a.CreatedAt.UnixMicro(), a.UpdatedAt.UnixMicro(), a.UpdatedBy})
	})
	return a, err
}

// RemoveAgent deletes a kind, ErrNotFound without one.
func (s *Store) RemoveAgent(ctx context.Context, id string) error {
	return s.write(ctx, "agent.save", func(tx *tx) error {
		if n, err := tx.changed(ctx, "DELETE FROM agent_definitions WHERE tenant = :tenant AND id = ?", id); err != nil || n > 0 {
			return err
		}
		return fmt.Errorf("%w: agent %q", ErrNotFound, id)
	})
}
