package store

import (
	"context"
	"time"
)

// Retention is how long records are kept; zero fields are the defaults.
type Retention struct {
	Audit         time.Duration // decisions, skills, tool calls, turns, usage; 0 = 400 days
	Confirmations time.Duration // questions; 0 = 30 days
}

const (
	auditKept    = 400 * 24 * time.Hour // a year and a month, so that two years can be compared
	confirmsKept = 30 * 24 * time.Hour
)

// Retained says how much a call of Retain removed.
type Retained struct {
	Chains        int // of decisions
	Decisions     int
	Events        int // of skills, tool calls and turns, and days of usage
	Confirmations int
}

// Retain removes what is older than it is to be kept. Decisions go by whole chains, when
// the newest of a chain is too old, and leave the chain's last hash: what comes later
// follows it.
func (a Audit) Retain(ctx context.Context, o Retention) (done Retained, err error) {
	if o.Audit <= 0 {
		o.Audit = auditKept
	}
	if o.Confirmations <= 0 {
		o.Confirmations = confirmsKept
	}
	err = a.s.write(ctx, "audit.retain", func(tx *tx) error {
		done = Retained{}
		before := tx.now.Add(-o.Audit).UnixMicro()
		if err := cutChains(ctx, tx, before, &done); err != nil {
			return err
		}
		for _, d := range []struct {
			count *int
			query string
			bound int64
		}{
			{&done.Events, "DELETE FROM skill_audit WHERE tenant = :tenant AND ts < ?", before},
			{&done.Events, "DELETE FROM tool_events WHERE tenant = :tenant AND ts < ?", before},
			{&done.Events, "DELETE FROM workflow_instances WHERE tenant = :tenant AND ended < ?", before},
			{&done.Events, "DELETE FROM usage_daily WHERE tenant = :tenant AND last_at < ?", before},
			{&done.Confirmations, "DELETE FROM confirmations WHERE tenant = :tenant AND expires_at < ?", tx.now.Add(-o.Confirmations).UnixMicro()},
		} {
			if err := remove(ctx, tx, d.count, d.query, d.bound); err != nil {
				return err
			}
		}
		if done == (Retained{}) {
			return errUnchanged
		}
		return nil
	})
	return done, err
}

func remove(ctx context.Context, tx *tx, count *int, query string, args ...any) error {
	n, err := tx.changed(ctx, query, args...)
	*count += int(n)
	return err
}

// cutChains removes the rows of chains whose newest row is older than before.
func cutChains(ctx context.Context, tx *tx, before int64, done *Retained) error {
	chains, err := texts(ctx, tx, "SELECT DISTINCT chain FROM tier_events old WHERE tenant = :tenant AND ts < ?"+
		" AND NOT EXISTS (SELECT 1 FROM tier_events young WHERE young.tenant = :tenant AND young.chain = old.chain AND young.ts >= ?)", before, before)
	if err != nil {
		return err
	}
	for _, chain := range chains {
		h, err := lockHead(ctx, tx, chain)
		if err != nil {
			return err
		}
		h = h.Cut()
		if err := remove(ctx, tx, &done.Decisions, "DELETE FROM tier_events WHERE tenant = :tenant AND chain = ? AND seq <= ?", chain, h.CutSeq); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE audit_heads SET cut_seq = ?, cut_hash = ?, cut_at = ? WHERE tenant = :tenant AND chain = ?",
			h.CutSeq, hexOf(h.CutHash), tx.now.UnixMicro(), chain); err != nil {
			return err
		}
		done.Chains++
	}
	return nil
}
