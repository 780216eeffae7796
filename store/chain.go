package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/deftskills/deft/gate"
)

var decisionColumns = []string{
	"chain", "seq", "ts", "trace_id", "session", "turn", "call_id", "origin", "principal", "tool", "via", "tier", "stages",
	"ceiling", "verdict", "code", "rule", "grant_id", "confirm_id", "call_hash", "skills", "bypassed_by", "tier_override",
	"prev", "hash",
}

// keepDecisions adds rows of decisions to their chains, and moves the chains' heads.
func (s *Store) keepDecisions(ctx context.Context, tx *tx, rows ...gate.Row) error {
	heads := map[string]gate.Head{}
	var chains []string
	kept := make([][]any, 0, len(rows))
	for _, r := range rows {
		if err := s.clean(ctx, tx, &r); err != nil {
			return err
		}
		chain := gate.ChainOf(r, s.host(tx))
		head, known := heads[chain]
		if !known {
			var err error
			if head, err = lockHead(ctx, tx, chain); err != nil {
				return err
			}
			chains = append(chains, chain)
		}
		var l gate.Link
		l, heads[chain] = head.Append(r)
		row := l.Row
		kept = append(kept, []any{
			l.Chain, l.Seq, row.Time.UnixMicro(), row.Trace, row.Session, row.Turn, row.Call, string(row.Origin), row.Principal, row.Tool,
			row.Via, int64(row.Tier), jsonText(row.Stages), int64(row.Ceiling), string(row.Verdict), row.Code, row.Rule, row.GrantID,
			row.ConfirmID, row.CallHash, jsonText(row.Skills), row.BypassedBy, row.Override, hexOf(l.Prev), hexOf(l.Hash),
		})
	}
	if err := tx.insert(ctx, "tier_events", decisionColumns, kept...); err != nil {
		return err
	}
	for _, chain := range chains {
		if err := putHead(ctx, tx, heads[chain]); err != nil {
			return err
		}
	}
	return nil
}

// host is the name of the chain of rows without a session: a file is one host's.
func (s *Store) host(tx *tx) string {
	if tx.postgres {
		return s.o.Replica
	}
	return "local"
}

// clean takes out of a row what no record may hold, and brings it into the form in which it
// is read back.
func (s *Store) clean(ctx context.Context, tx *tx, r *gate.Row) error {
	*r = r.Kept()
	for _, p := range []*string{&r.Tool, &r.Rule, &r.Override} {
		*p, _ = gate.Redactor{}.Text(*p)
	}
	var err error
	r.CallHash, err = s.keyed(ctx, tx, r.CallHash, r.Secret)
	return err
}

// keyed returns the hash of a call as it is kept: under the database's own key where the
// call holds a secret, which could be guessed from the hash otherwise.
func (s *Store) keyed(ctx context.Context, tx *tx, hash string, secret bool) (string, error) {
	if !secret || hash == "" {
		return hash, nil
	}
	key, err := s.recordKey(ctx, tx)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(hash))
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil)), nil
}

// recordKey is the key of keyed hashes, drawn when the first one is written.
func (s *Store) recordKey(ctx context.Context, tx *tx) ([]byte, error) {
	const name = "record_key"
	for {
		text, err := metaText(ctx, tx, name)
		if err != nil {
			return nil, err
		}
		if text != "" {
			key, err := hex.DecodeString(text)
			if err != nil || len(key) != sha256.Size {
				return nil, &rowDamage{"meta", name}
			}
			return key, nil
		}
		var fresh [sha256.Size]byte
		if _, err := io.ReadFull(s.o.Rand, fresh[:]); err != nil {
			return nil, fmt.Errorf("random bytes: %w", err)
		}
		// Another transaction may have drawn one meanwhile: the one that is there counts.
		if _, err := tx.ExecContext(ctx, "INSERT INTO meta (tenant, key, value) VALUES (:tenant, ?, ?) ON CONFLICT DO NOTHING",
			name, hex.EncodeToString(fresh[:])); err != nil {
			return nil, err
		}
	}
}

const headColumns = "chain, seq, hash, cut_seq, cut_hash"

// lockHead returns the head of a chain, which no other transaction moves until this one
// ends. A chain that is not there yet begins.
func lockHead(ctx context.Context, tx *tx, chain string) (gate.Head, error) {
	for begun := false; ; begun = true {
		h, err := scanHead(tx.QueryRowContext(ctx, "SELECT "+headColumns+" FROM audit_heads WHERE tenant = :tenant AND chain = ?"+tx.forUpdate(), chain))
		if !errors.Is(err, sql.ErrNoRows) || begun {
			return h, err
		}
		if !tx.postgres {
			return gate.Head{Chain: chain}, nil
		}
		// A row that is not there can't be locked.
		if _, err := tx.ExecContext(ctx, "INSERT INTO audit_heads (tenant, "+headColumns+") VALUES (:tenant, ?, 0, ?, 0, ?) ON CONFLICT DO NOTHING",
			chain, hexOf(gate.Hash{}), hexOf(gate.Hash{})); err != nil {
			return h, err
		}
	}
}

func putHead(ctx context.Context, tx *tx, h gate.Head) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO audit_heads (tenant, "+headColumns+") VALUES (:tenant, ?, ?, ?, ?, ?)"+
		" ON CONFLICT (tenant, chain) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
		h.Chain, h.Seq, hexOf(h.Hash), h.CutSeq, hexOf(h.CutHash))
	return err
}

// scanHead reads a head. A hash that is none reads as another than was written.
func scanHead(row interface{ Scan(...any) error }) (h gate.Head, err error) {
	var hash, cut string
	err = row.Scan(&h.Chain, &h.Seq, &hash, &h.CutSeq, &cut)
	h.Hash, h.CutHash = hashOf(hash), hashOf(cut)
	return h, err
}

func hexOf(h gate.Hash) string { return hex.EncodeToString(h[:]) }

func hashOf(text string) (h gate.Hash) {
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(h) {
		return gate.Hash(b)
	}
	return gate.Hash{0xff}
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null" // cannot be: texts and lists of texts
	}
	return string(b)
}

// VerifyReport is what Verify found.
type VerifyReport struct {
	Chains  int // that have rows or a tombstone
	Rows    int // that were checked
	Removed int // chains whose rows, or the older ones, retention removed
	// Broken are the first bad rows, one a chain, in the order of the chains.
	Broken []*gate.ChainError
}

// Verify walks every chain of decisions in one consistent read: a row that is missing,
// was changed or moved, a cut end, a head that is another. Other tables are not chained.
func (a Audit) Verify(ctx context.Context) (report VerifyReport, err error) {
	err = a.s.read(ctx, func(q querier) (err error) {
		report, err = verify(ctx, q)
		return err
	})
	return report, err
}

func verify(ctx context.Context, q querier) (report VerifyReport, err error) {
	heads, err := allHeads(ctx, q)
	if err != nil {
		return report, err
	}
	links, err := openLinks(ctx, q)
	if err != nil {
		return report, err
	}
	defer links.close()
	for _, h := range heads {
		for links.more() && links.now.Chain < h.Chain {
			report.orphans(links)
		}
		report.Chains++
		if h.CutSeq > 0 {
			report.Removed++
		}
		if err := report.verify(h, links); err != nil {
			return report, err
		}
	}
	for links.more() {
		report.orphans(links)
	}
	return report, links.err
}

func (r *VerifyReport) verify(h gate.Head, links *links) error {
	var broken *gate.ChainError
	switch err := gate.VerifyChain(h, links.of(h.Chain, &r.Rows)); {
	case errors.As(err, &broken):
		r.Broken = append(r.Broken, broken)
	case err != nil:
		return err
	}
	for range links.of(h.Chain, &r.Rows) { // what is left of a broken one
		continue
	}
	return links.err
}

// orphans passes the rows of a chain that has no head.
func (r *VerifyReport) orphans(links *links) {
	chain, first := links.now.Chain, links.now.Seq
	for range links.of(chain, &r.Rows) {
		continue
	}
	r.Chains++
	r.Broken = append(r.Broken, &gate.ChainError{Chain: chain, Seq: first, Why: "the chain's head is missing"})
}

func allHeads(ctx context.Context, q querier) (heads []gate.Head, err error) {
	rows, err := q.QueryContext(ctx, "SELECT "+headColumns+" FROM audit_heads WHERE tenant = :tenant ORDER BY chain"+bytewise(q))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		h, err := scanHead(rows)
		if err != nil {
			return nil, err
		}
		heads = append(heads, h)
	}
	return heads, rows.Err()
}

// bytewise makes a server order texts as Go compares them, which SQLite does anyway.
func bytewise(q querier) string {
	if t, ok := q.(*tx); ok && t.postgres {
		return ` COLLATE "C"`
	}
	return ""
}

// links reads the rows of all chains, chain by chain.
type links struct {
	rows *sql.Rows
	now  gate.Link // that was read and not used
	has  bool
	err  error
}

func openLinks(ctx context.Context, q querier) (*links, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+strings.Join(decisionColumns, ", ")+
		" FROM tier_events WHERE tenant = :tenant ORDER BY chain"+bytewise(q)+", seq")
	if err != nil {
		return nil, err
	}
	l := &links{rows: rows}
	l.next()
	return l, nil
}

func (l *links) close() { _ = l.rows.Close() }

func (l *links) more() bool { return l.has }

func (l *links) next() {
	if l.has = l.rows.Next(); !l.has {
		l.err = l.rows.Err()
		return
	}
	if l.now, l.err = scanLink(l.rows); l.err != nil {
		l.has = false
	}
}

// of yields the rows of a chain that are left, and counts them.
func (l *links) of(chain string, count *int) iter.Seq2[gate.Link, error] {
	return func(yield func(gate.Link, error) bool) {
		for l.has && l.now.Chain == chain {
			*count++
			now := l.now
			l.next()
			if !yield(now, nil) {
				return
			}
		}
		if l.err != nil {
			yield(gate.Link{}, l.err)
		}
	}
}

func scanLink(rows *sql.Rows) (l gate.Link, err error) {
	r := &l.Row
	var ts, tier, ceiling int64
	var stages, skills, prev, hash string
	err = rows.Scan(&l.Chain, &l.Seq, &ts, &r.Trace, &r.Session, &r.Turn, &r.Call, &r.Origin, &r.Principal, &r.Tool, &r.Via, &tier,
		&stages, &ceiling, &r.Verdict, &r.Code, &r.Rule, &r.GrantID, &r.ConfirmID, &r.CallHash, &skills, &r.BypassedBy, &r.Override,
		&prev, &hash)
	r.Time, r.Tier, r.Ceiling = time.UnixMicro(ts).UTC(), gate.Tier(tier), gate.Tier(ceiling)
	r.Stages, r.Skills = textsOf(stages), textsOf(skills)
	l.Prev, l.Hash = hashOf(prev), hashOf(hash)
	return l, err
}

// textsOf reads a list; one that cannot be read is another than was written.
func textsOf(text string) (list []string) {
	if json.Unmarshal([]byte(text), &list) != nil {
		return []string{text}
	}
	return list
}
