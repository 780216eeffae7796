package store

import (
	"context"
	"fmt"
)

// Memories are the notes that models keep for one principal in one workspace, text by
// name. They are data: nothing reads them but the tools for notes.
type Memories struct {
	s                    *Store
	workspace, principal string
}

// Memories returns the notes of a principal, such as "user", in a workspace, an absolute
// path. It reads nothing.
func (s *Store) Memories(workspace, principal string) *Memories {
	return &Memories{s, workspace, principal}
}

const ofMemories = " FROM memories WHERE tenant = :tenant AND workspace = ? AND principal = ?"

// All returns every note, by name.
func (m *Memories) All(ctx context.Context) (map[string]string, error) {
	var out map[string]string
	err := m.s.read(ctx, func(q querier) error {
		out = map[string]string{}
		rows, err := q.QueryContext(ctx, "SELECT name, body"+ofMemories, m.workspace, m.principal)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, body string
			if err := rows.Scan(&name, &body); err != nil {
				return err
			}
			out[name] = body
		}
		return rows.Err()
	})
	return out, err
}

// Keep writes a note over the one of its name. kept is false, and nothing was written,
// where there is none of that name and most others.
func (m *Memories) Keep(ctx context.Context, name, body string, most int) (kept bool, err error) {
	if m.workspace == "" || m.principal == "" || name == "" {
		return false, fmt.Errorf("%w: a note without a name, or of nobody", ErrInvalid)
	}
	err = m.s.write(ctx, "memory.save", func(tx *tx) error {
		kept = false
		if tx.postgres { // two that are the last one to fit are counted one after the other
			if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtext(?), hashtext(:tenant))", "memories "+m.workspace+" "+m.principal); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, "DELETE"+ofMemories+" AND name = ?", m.workspace, m.principal, name); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*)"+ofMemories, m.workspace, m.principal).Scan(&n); err != nil {
			return err
		}
		if kept = n < most; !kept {
			return errUnchanged
		}
		return tx.insert(ctx, "memories", []string{"workspace", "principal", "name", "body", "updated_at"},
			[]any{m.workspace, m.principal, name, body, tx.now.UnixMicro()})
	})
	return kept && err == nil, err
}

// Drop deletes a note; there is false where it was not there.
func (m *Memories) Drop(ctx context.Context, name string) (there bool, err error) {
	err = m.s.write(ctx, "memory.save", func(tx *tx) error {
		n, err := tx.changed(ctx, "DELETE"+ofMemories+" AND name = ?", m.workspace, m.principal, name)
		if there = n > 0; err == nil && !there {
			return errUnchanged
		}
		return err
	})
	return there && err == nil, err
}
