package store

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"
)

// The kinds of a Change that this package writes by itself, in the transaction of the
// decision. Others are free to be published: lower-case words.
const (
	ChangedSkills   = "skills"   // switches; the key is that of the switch
	ChangedProfiles = "profiles" // profiles and which one a project uses; its name or root
	ChangedTrust    = "trust"    // folders and grants; the id
)

// Change says that something was changed, by whichever process. What it is now stands
// where it is kept.
type Change struct {
	Seq       int64 // greater than that of every change before it in the same process
	Kind, Key string
	At        time.Time // UTC
}

const (
	// defaultPoll is how often a watcher looks by itself: notices may be lost.
	defaultPoll = 2 * time.Second
	// changesKept is how long changes are told to who was away. Who was away longer reads
	// everything anew.
	changesKept = 24 * time.Hour
	maxKind     = 32
)

// Changes is the feed of what was changed.
type Changes struct{ s *Store }

// Changes returns the feed of what was changed.
func (s *Store) Changes() Changes { return Changes{s} }

// Publish tells every watcher of the tenant that something was changed which this
// package does not keep. Kind is a lower-case word of at most 32 letters.
func (c Changes) Publish(ctx context.Context, kind, key string) error {
	if kind == "" || len(kind) > maxKind || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return fmt.Errorf("%w: kind of change %q; want a lower-case word", ErrInvalid, kind)
	}
	return c.s.write(ctx, "state.save", func(tx *tx) error { return publish(ctx, tx, []Change{{Kind: kind, Key: key}}) })
}

// publish writes changes into the transaction that makes them.
func publish(ctx context.Context, tx *tx, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	rows := make([][]any, 0, len(changes))
	for _, c := range changes {
		rows = append(rows, []any{c.Kind, c.Key, tx.now.UnixMicro()})
	}
	if err := tx.insert(ctx, "changes", []string{"kind", "key", "at"}, rows...); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM changes WHERE tenant = :tenant AND at < ?", tx.now.Add(-changesKept).UnixMicro())
	return err
}

// Last returns the number to Watch from for what happens from now on, 0 when nothing ever
// did. What is read after it was asked needs no change before it.
func (c Changes) Last(ctx context.Context) (n int64, err error) {
	err = c.s.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM changes WHERE tenant = :tenant").Scan(&n)
	})
	return n, err
}

// Watch yields the changes after the one with number from, as they come, until ctx ends or
// the loop does. A server wakes it at once; in any case it looks every Options.Poll. None
// is left out, whatever order transactions end in; one may be told twice. An error is
// yielded once and does not end the watch: what was missed is told when the database is
// back.
func (c Changes) Watch(ctx context.Context, from int64) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		wake := make(chan struct{}, 1)
		ended := c.s.b.listen(ctx, wake)
		defer func() { stop(); <-ended }()
		poll := time.NewTicker(c.s.o.Poll)
		defer poll.Stop()
		cur := cursor{from: from, told: map[int64]bool{}}
		for failing := false; ; {
			found, err := cur.read(ctx, c.s)
			if ctx.Err() != nil {
				return
			}
			if err != nil && !failing && !yield(Change{}, err) {
				return
			}
			failing = err != nil
			for _, change := range found {
				if !yield(change, nil) {
					return
				}
			}
			select {
			case <-wake:
			case <-poll.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// cursor is how far a watcher has read.
type cursor struct {
	from int64 // SQLite: the last number that was told; one writer, so none comes late
	// PostgreSQL: every transaction below had ended when it was read last, so that what it
	// wrote was told. Of the others those with these numbers were.
	below string
	told  map[int64]bool
}

const (
	changesByNumber = "SELECT seq, kind, key, at, '' FROM changes WHERE tenant = :tenant AND seq > ? ORDER BY seq"
	// Where it begins after a number: with what had not ended when that one was written.
	changesAfter = "SELECT seq, kind, key, at, xid::text FROM changes WHERE tenant = :tenant AND xid >= coalesce(" +
		"(SELECT seen FROM changes WHERE tenant = :tenant AND seq = ?), '0'::xid8) ORDER BY seq"
	changesFrom = "SELECT seq, kind, key, at, xid::text FROM changes WHERE tenant = :tenant AND xid >= ?::text::xid8 ORDER BY seq"
	runningFrom = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text"
)

// read returns what was not told yet.
func (c *cursor) read(ctx context.Context, s *Store) (found []Change, err error) {
	err = s.read(ctx, func(q querier) error {
		query, arg, below := changesByNumber, any(c.from), ""
		if tx, ok := q.(*tx); ok && tx.postgres {
			if err := q.QueryRowContext(ctx, runningFrom).Scan(&below); err != nil {
				return err
			}
			query = changesAfter
			if c.below != "" {
				query, arg = changesFrom, c.below
			}
		}
		rows, err := q.QueryContext(ctx, query, arg)
		if err != nil {
			return err
		}
		defer rows.Close()
		told := map[int64]bool{c.from: c.below == ""}
		for rows.Next() {
			var change Change
			var at int64
			var xid string
			if err := rows.Scan(&change.Seq, &change.Kind, &change.Key, &at, &xid); err != nil {
				return err
			}
			change.At = time.UnixMicro(at).UTC()
			if !c.told[change.Seq] && !told[change.Seq] {
				found = append(found, change)
			}
			told[change.Seq] = true
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if below == "" {
			told = nil
			if len(found) > 0 {
				c.from = found[len(found)-1].Seq
			}
		}
		c.below, c.told = below, told
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// note collects the changes of one write; a row that is written over is one change.
func (c *change) note(table, key string) {
	kind, ok := map[string]string{
		"skill_state": ChangedSkills, "meta": ChangedSkills,
		"profiles": ChangedProfiles, "profile_choices": ChangedProfiles, "trust": ChangedTrust,
	}[table]
	if row := (Change{Kind: kind, Key: key}); ok && !c.isNoted[row] {
		c.noted = append(c.noted, row)
		c.isNoted[row] = true
	}
}
