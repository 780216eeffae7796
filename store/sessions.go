package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// SessionStatus says how a conversation stands.
type SessionStatus string

// The states. One that is open belongs to a process, which may have been killed: its
// events tell, and whoever goes on with it.
const (
	SessionOpen        SessionStatus = "open"        // a turn runs
	SessionIdle        SessionStatus = "idle"        // between two turns
	SessionClosed      SessionStatus = "closed"      // its process has ended by itself
	SessionInterrupted SessionStatus = "interrupted" // its process was killed in a turn
)

// Session is what a list shows of a conversation. Its words are its events.
type Session struct {
	ID        string // letters, digits, - and _
	Workspace string // absolute path
	Dialect   string
	Profile   string
	Origin    string // interactive, cron, webhook, event, workflow
	Surface   string // cli, tui, api, mcp, job
	Principal string
	Model     string
	Snapshot  string // digest of the skills that it began with; "" = not known
	Ceiling   int    // the highest tier that may run; 0 = none is set
	Placement string // where its tools run, fixed when it began
	Status    SessionStatus
	Title     string // a line for people
	Turns     int
	LastSeq   int64     // of its events
	CreatedAt time.Time // UTC, set by the first SaveSession
	UpdatedAt time.Time // UTC, set by SaveSession
}

// sessionColumns are those of Session.row, the key first.
const sessionColumns = "id, workspace, dialect, profile, origin, surface, principal, model, snapshot_digest, risk_ceiling, placement, status, title, turns, last_seq, created_at, updated_at"

func (s *Session) scan(rows interface{ Scan(...any) error }) error {
	var created, updated int64
	err := rows.Scan(&s.ID, &s.Workspace, &s.Dialect, &s.Profile, &s.Origin, &s.Surface, &s.Principal, &s.Model, &s.Snapshot,
		&s.Ceiling, &s.Placement, &s.Status, &s.Title, &s.Turns, &s.LastSeq, &created, &updated)
	s.CreatedAt, s.UpdatedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return err
}

// sessionID keeps an id from being anything else than a name of a file.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

func checkSession(id string) error {
	if !sessionID.MatchString(id) {
		return fmt.Errorf("%w: id of a session %.140q: want letters, digits, - and _", ErrInvalid, id)
	}
	return nil
}

// SaveSession writes the row of a conversation; when it began, where its tools run and
// whose it is stay as they were written first.
func (s *Store) SaveSession(ctx context.Context, r Session) error {
	if err := checkSession(r.ID); err != nil {
		return err
	}
	return s.write(ctx, "session.save", func(tx *tx) error {
		now := tx.now.UnixMicro()
		_, err := tx.ExecContext(ctx, "INSERT INTO sessions (tenant, "+sessionColumns+") VALUES (:tenant, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "+
			"ON CONFLICT (tenant, id) DO UPDATE SET model = excluded.model, profile = excluded.profile, snapshot_digest = excluded.snapshot_digest, "+
			"status = excluded.status, title = excluded.title, turns = excluded.turns, last_seq = excluded.last_seq, updated_at = excluded.updated_at",
			r.ID, r.Workspace, r.Dialect, r.Profile, r.Origin, r.Surface, r.Principal, r.Model, r.Snapshot,
			r.Ceiling, r.Placement, string(r.Status), r.Title, r.Turns, r.LastSeq, now, now)
		return err
	})
}

// Session returns one conversation, ErrNotFound without it.
func (s *Store) Session(ctx context.Context, id string) (r Session, err error) {
	found := false
	err = s.read(ctx, func(q querier) error {
		err := r.scan(q.QueryRowContext(ctx, "SELECT "+sessionColumns+" FROM sessions WHERE tenant = :tenant AND id = ?", id))
		found = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("session %.140q: %w", id, ErrNotFound)
	}
	return r, err
}

// Sessions returns the conversations of a workspace, the newest first; "" = of all.
func (s *Store) Sessions(ctx context.Context, workspace string, most int) (out []Session, err error) {
	err = s.read(ctx, func(q querier) error {
		out = nil
		rows, err := q.QueryContext(ctx, "SELECT "+sessionColumns+" FROM sessions WHERE tenant = :tenant AND (? = '' OR workspace = ?) "+
			"ORDER BY updated_at DESC, id LIMIT ?", workspace, workspace, most)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r Session
			if err := r.scan(rows); err != nil {
				return err
			}
			out = append(out, r)
		}
		return rows.Err()
	})
	return out, err
}

// DeleteSession removes a conversation with everything that was said in it; ErrNotFound
// without it, and ErrBusy while a process writes it.
func (s *Store) DeleteSession(ctx context.Context, id string) error {
	if err := s.Events().Delete(ctx, id); err != nil {
		return err
	}
	return s.write(ctx, "session.save", func(tx *tx) error {
		if n, err := tx.changed(ctx, "DELETE FROM sessions WHERE tenant = :tenant AND id = ?", id); err != nil || n > 0 {
			return err
		}
		return fmt.Errorf("session %q: %w", id, ErrNotFound)
	})
}
