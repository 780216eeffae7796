package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/skill"
)

// grantFormat is the form in which this release writes grants. A grant of a later form may
// demand what this release does not know: it covers no call here.
const grantFormat = 1

// Gate keeps what package gate has kept: it is a gate.Sink, a gate.GrantStore and a
// gate.ConfirmStore on one database. Safe for concurrent use, by several processes too.
type Gate struct {
	s    *Store
	told sync.Once
	warn func(error)
}

// Gate returns the keeper for a gate. Warn is told once that there are grants which are
// damaged or of a newer release, and that they cover nothing; nil = nobody is.
func (s *Store) Gate(warn func(error)) *Gate { return &Gate{s: s, warn: warn} }

// Record implements gate.Sink.
func (g *Gate) Record(ctx context.Context, r gate.Row) error {
	return g.s.write(ctx, "audit.insert", func(tx *tx) error { return g.s.keepDecisions(ctx, tx, r) })
}

// callGrant is a gate.Grant as it is kept.
type callGrant struct {
	gate.Grant
	format  int64
	maxUses int64
	used    int64
	where   []constraint
}

// constraint is a gate.Constraint with its value as text: a database may write JSON anew.
type constraint struct{ Path, Op, Value string }

func callGrants() table[callGrant] {
	return table[callGrant]{
		"grants",
		[]string{
			"id", "format", "principal", "tool", "toolset", "rule", "constraints", "other_args", "workspace", "skill_digest", "max_uses",
			"used", "not_before", "expires_at", "created_by", "created_at", "reason", "revoked_at", "revoked_by",
		},
		func(r *callGrant) []column {
			return []column{
				text(&r.ID), whole(&r.format), text(&r.Principal), text(&r.Tool), text(&r.Toolset), text(&r.Rule), jsonOf(&r.where),
				text(&r.OtherArgs), text(&r.Workspace), text(&r.SkillHash), whole(&r.maxUses), whole(&r.used), at(&r.NotBefore),
				at(&r.Expires), text(&r.CreatedBy), at(&r.CreatedAt), text(&r.Reason), at(&r.Revoked), text(&r.RevokedBy),
			}
		},
	}
}

func keepGrant(g gate.Grant) callGrant {
	kept := callGrant{Grant: g, format: grantFormat, maxUses: int64(g.MaxUses), used: int64(g.Used)}
	for _, c := range g.Constraints {
		kept.where = append(kept.where, constraint{c.Path, c.Op, string(c.Value)})
	}
	return kept
}

func (r callGrant) grant() gate.Grant {
	g := r.Grant
	g.MaxUses, g.Used, g.Constraints = int(r.maxUses), int(r.used), nil
	for _, c := range r.where {
		g.Constraints = append(g.Constraints, gate.Constraint{Path: c.Path, Op: c.Op, Value: json.RawMessage(c.Value)})
	}
	return g
}

// AddGrant keeps a grant that a person makes and returns it with its ID, CreatedAt, and
// Used 0. It is ErrInvalid for one that gate.Grant.Valid refuses.
func (g *Gate) AddGrant(ctx context.Context, grant gate.Grant) (gate.Grant, error) {
	now := g.s.o.Now().UTC().Truncate(time.Microsecond)
	if err := grant.Valid(now); err != nil {
		return grant, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	grant.CreatedAt, grant.Used, grant.Revoked, grant.RevokedBy = now, 0, time.Time{}, ""
	var err error
	if grant.ID, err = g.s.newID(now); err != nil {
		return grant, err
	}
	return grant, g.s.write(ctx, "grant.save", func(tx *tx) error { return newGrant(ctx, tx, grant) })
}

// newGrant writes a grant whose id is not taken.
func newGrant(ctx context.Context, tx *tx, g gate.Grant) error {
	return callGrants().add(ctx, tx, keepGrant(g))
}

// putGrant writes a grant over the one of its id, which lockGrant has read.
func putGrant(ctx context.Context, tx *tx, g gate.Grant) error {
	return callGrants().rewrite(ctx, tx, keepGrant(g))
}

// Grants returns every grant, also those that are over or revoked, in the order in which
// they were made. Those that cannot be read are left out and make an ErrDamaged or
// ErrNewerSchema beside the list.
func (g *Gate) Grants(ctx context.Context) (out []gate.Grant, err error) {
	var unread error
	err = g.s.read(ctx, func(q querier) (err error) {
		out, unread, err = soundGrants(ctx, q, "")
		return err
	})
	return out, errors.Join(err, unread)
}

// soundGrants reads grants one by one, so that a damaged one takes no other with it.
func soundGrants(ctx context.Context, q querier, where string, args ...any) (out []gate.Grant, unread, err error) {
	query := "SELECT id FROM grants WHERE tenant = :tenant"
	if where != "" {
		query += " AND " + where
	}
	ids, err := texts(ctx, q, query+" ORDER BY created_at, id", args...)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		grant, bad, err := readGrant(ctx, q, id)
		switch {
		case err != nil:
			return nil, nil, err
		case bad != nil:
			unread = errors.Join(unread, bad)
		default:
			out = append(out, grant)
		}
	}
	return out, unread, nil
}

// readGrant returns a grant, or with bad why it covers nothing: it is damaged, of a newer
// release, or gone.
func readGrant(ctx context.Context, q querier, id string) (g gate.Grant, bad, err error) {
	var format int64
	err = q.QueryRowContext(ctx, "SELECT format FROM grants WHERE tenant = :tenant AND id = ?", id).Scan(&format)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return g, fmt.Errorf("grant %s: %w", id, ErrNotFound), nil
	case err != nil:
		return g, nil, err
	case format > grantFormat:
		return g, fmt.Errorf("%w: grant %s has form %d, this release knows %d", ErrNewerSchema, id, format, grantFormat), nil
	}
	rows, err := callGrants().list(ctx, q, "id = ?", id)
	var damaged *rowDamage
	switch {
	case errors.As(err, &damaged):
		return g, fmt.Errorf("%w: grant %s: %w", ErrDamaged, id, damaged), nil
	case err != nil:
		return g, nil, err
	case len(rows) == 0:
		return g, fmt.Errorf("grant %s: %w", id, ErrNotFound), nil
	}
	return rows[0].grant(), nil, nil
}

// Candidates implements gate.GrantStore.
func (g *Gate) Candidates(ctx context.Context, q gate.GrantQuery) ([]gate.Grant, error) {
	var found []gate.Grant
	var unread error
	err := g.s.read(ctx, func(db querier) (err error) {
		found, unread, err = soundGrants(ctx, db, "principal = ? AND expires_at > ? AND revoked_at IS NULL", q.Principal, q.Now.UnixMicro())
		return err
	})
	if err != nil {
		return nil, err
	}
	if unread != nil && g.warn != nil {
		g.told.Do(func() { g.warn(unread) })
	}
	var out []gate.Grant
	for _, grant := range found {
		if q.Matches(grant) {
			out = append(out, grant)
		}
	}
	return out, nil
}

// Use implements gate.GrantStore.
func (g *Gate) Use(ctx context.Context, id string, now time.Time, row gate.Row) error {
	return g.s.write(ctx, "grant.use", func(tx *tx) error {
		grant, bad, err := lockGrant(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case bad != nil:
			return fmt.Errorf("%w: %w", gate.ErrGrantUnusable, bad)
		case !grant.Usable(now):
			return fmt.Errorf("grant %s: %w", id, gate.ErrGrantUnusable)
		}
		grant.Used++
		if err := putGrant(ctx, tx, grant); err != nil {
			return err
		}
		return g.s.keepDecisions(ctx, tx, row)
	})
}

// lockGrant is readGrant for a grant that no other transaction changes until this one ends.
func lockGrant(ctx context.Context, tx *tx, id string) (g gate.Grant, bad, err error) {
	if lock := tx.forUpdate(); lock != "" {
		if _, err := tx.ExecContext(ctx, "SELECT 1 FROM grants WHERE tenant = :tenant AND id = ?"+lock, id); err != nil {
			return g, nil, err
		}
	}
	return readGrant(ctx, tx, id)
}

// RevokeGrants ends the grants with these ids: all of them or, on error, none. One that is
// not there is ErrNotFound; one that was revoked before stays as it was.
func (g *Gate) RevokeGrants(ctx context.Context, by string, ids ...string) error {
	return g.s.write(ctx, "grant.save", func(tx *tx) error {
		for _, id := range ids {
			if err := revoke(ctx, tx, by, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// revoke ends one grant. A damaged one, or one of a newer release, is removed: it covers
// nothing, and what is left of it must not come back.
func revoke(ctx context.Context, tx *tx, by, id string) error {
	grant, bad, err := lockGrant(ctx, tx, id)
	switch {
	case err != nil:
		return err
	case errors.Is(bad, ErrNotFound):
		return bad
	case bad != nil:
		_, err := tx.ExecContext(ctx, "DELETE FROM grants WHERE tenant = :tenant AND id = ?", id)
		return err
	case !grant.Revoked.IsZero():
		return nil
	}
	grant.Revoked, grant.RevokedBy = tx.now, by
	return putGrant(ctx, tx, grant)
}

// RevokeGrantsOf ends the grants that are bound to a skill's tree, as when the skill is
// removed, and returns how many there were.
func (g *Gate) RevokeGrantsOf(ctx context.Context, tree skill.Digest, by string) (n int, err error) {
	var ids []string
	err = g.s.read(ctx, func(q querier) error {
		grants, _, err := soundGrants(ctx, q, "skill_digest = ? AND revoked_at IS NULL", string(tree))
		ids = nil
		for _, grant := range grants {
			ids = append(ids, grant.ID)
		}
		return err
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return len(ids), g.RevokeGrants(ctx, by, ids...)
}

var confirmColumns = []string{
	"id", "session", "turn", "tool", "tier", "call_hash", "nonce_hash", "shown", "state", "answer", "opened_at", "expires_at", "resolved_by",
}

// Open implements gate.ConfirmStore.
func (g *Gate) Open(ctx context.Context, c gate.Confirmation, row gate.Row) error {
	return g.s.write(ctx, "confirm.open", func(tx *tx) error {
		hash, err := g.s.keyed(ctx, tx, c.CallHash, row.Secret)
		if err != nil {
			return err
		}
		shown, _ := gate.Redactor{}.JSON(c.Shown)
		tool, _ := gate.Redactor{}.Text(row.Kept().Tool)
		err = tx.insert(ctx, "confirmations", confirmColumns, []any{
			c.ID, c.Session, c.Turn, tool, int64(c.Tier), hash, c.NonceHash, string(shown), string(gate.ConfirmOpen), "",
			c.Opened.UnixMicro(), c.Expires.UnixMicro(), "",
		})
		if err != nil {
			return err
		}
		return g.s.keepDecisions(ctx, tx, row)
	})
}

// Resolve implements gate.ConfirmStore. Of several answers at once the first to lock the
// row wins.
func (g *Gate) Resolve(ctx context.Context, r gate.Resolution) error {
	return g.s.write(ctx, "confirm.resolve", func(tx *tx) error {
		n, err := tx.changed(ctx, "UPDATE confirmations SET state = ?, answer = ?, resolved_at = ?, resolved_by = ?"+
			" WHERE tenant = :tenant AND id = ? AND state = 'open'", string(r.State), string(r.Reply), r.At.UnixMicro(), r.By, r.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("confirmation %s: %w", r.ID, gate.ErrNotOpen)
		}
		if r.Grant != nil {
			if err := newGrant(ctx, tx, *r.Grant); err != nil {
				return err
			}
		}
		return g.s.keepDecisions(ctx, tx, r.Row)
	})
}

// Drop implements gate.ConfirmStore.
func (g *Gate) Drop(ctx context.Context, session string, now time.Time) error {
	return g.end(ctx, gate.ConfirmDropped, now, "session = ?", session)
}

// Expire implements gate.ConfirmStore.
func (g *Gate) Expire(ctx context.Context, now time.Time) error {
	return g.end(ctx, gate.ConfirmExpired, now, "expires_at < ?", now.UnixMicro())
}

func (g *Gate) end(ctx context.Context, state gate.ConfirmState, now time.Time, where string, arg any) error {
	return g.s.write(ctx, "confirm.resolve", func(tx *tx) error {
		n, err := tx.changed(ctx, "UPDATE confirmations SET state = ?, resolved_at = ? WHERE tenant = :tenant AND state = 'open' AND "+where,
			string(state), now.UnixMicro(), arg)
		if err == nil && n == 0 {
			return errUnchanged
		}
		return err
	})
}
