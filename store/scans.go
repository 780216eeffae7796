package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deftskills/deft/skill"
)

// Scan is what a scanner said of one tree by one set of rules.
type Scan struct {
	ID            string       // set by KeepScan
	Tree          skill.Digest // required
	Rules         string       // digest of the rules; required
	Complete      bool         // everything was read
	Read, Skipped int          // files
	Findings      json.RawMessage
	Blocking      int
	At            time.Time // UTC, set by KeepScan
}

const scanColumns = "id, tree_digest, rules_version, complete, files_read, files_skipped, findings, blocking, at"

// Scan returns what these rules said of a tree, ErrNotFound where nothing is kept.
func (s *Store) Scan(ctx context.Context, tree skill.Digest, rules string) (out Scan, err error) {
	found := false
	err = s.read(ctx, func(q querier) error {
		var complete, at int64
		var findings string
		err := q.QueryRowContext(ctx, "SELECT "+scanColumns+" FROM scans WHERE tenant = :tenant AND tree_digest = ? AND rules_version = ?", string(tree), rules).
			Scan(&out.ID, &out.Tree, &out.Rules, &complete, &out.Read, &out.Skipped, &findings, &out.Blocking, &at)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		found = err == nil
		out.Complete, out.Findings, out.At = complete == 1, json.RawMessage(findings), time.UnixMicro(at).UTC()
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("scan of %s: %w", tree, ErrNotFound)
	}
	return out, err
}

// KeepScan keeps what a scanner said, over what the same rules said of the tree before, and
// returns it as it is kept.
func (s *Store) KeepScan(ctx context.Context, r Scan) (Scan, error) {
	if r.Tree == "" || r.Rules == "" || !json.Valid(r.Findings) {
		return r, fmt.Errorf("%w: a scan without a tree, rules or findings", ErrInvalid)
	}
	err := s.write(ctx, "scan.save", func(tx *tx) (err error) {
		r.At = tx.now
		if r.ID, err = s.newID(tx.now); err != nil {
			return err
		}
		complete := 0
		if r.Complete {
			complete = 1
		}
		return tx.QueryRowContext(ctx, "INSERT INTO scans (tenant, "+scanColumns+") VALUES (:tenant, ?, ?, ?, ?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (tenant, tree_digest, rules_version) DO UPDATE SET complete = excluded.complete, files_read = excluded.files_read,"+
			" files_skipped = excluded.files_skipped, findings = excluded.findings, blocking = excluded.blocking, at = excluded.at RETURNING id",
			r.ID, string(r.Tree), r.Rules, complete, r.Read, r.Skipped, strings.ReplaceAll(string(r.Findings), `\u0000`, `\ufffd`), r.Blocking, r.At.UnixMicro()).
			Scan(&r.ID)
	})
	return r, err
}
