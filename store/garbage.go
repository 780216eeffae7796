package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// garbageGrace is how old contents are before they are marked, and how old a mark is before
// it counts: a publication that is under way for that long is taken for dead.
const garbageGrace = 24 * time.Hour

// GarbageOptions says what a collection does beside what this package knows.
type GarbageOptions struct {
	// Needed are contents that are needed by what the database does not know; nobody may put
	// any of those or need others while it runs, but by Refs.
	Needed map[skill.Digest]bool
	// Alone says that nobody puts anything into the place while it runs: what is a day old
	// and not needed is deleted at once, without a mark.
	Alone bool
	// DryRun counts, and changes nothing.
	DryRun bool
}

// Garbage is what a collection did, or would do, in numbers of contents and bytes. Each is
// counted once, as Kept, Young, Marked, Waiting, Freed or Failed.
type Garbage struct {
	Kept, Young, Marked, Waiting, Freed Amount
	Failed                              []error // of contents that could not be deleted; each names one
}

// Amount is a number of contents and their bytes.
type Amount struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
}

func (a *Amount) add(i blobs.Info) {
	a.Blobs++
	a.Bytes += i.Size
}

// CollectGarbage frees the contents of a place that nobody needs: no tree of a published
// version or other owner of any tenant (Refs), nobody in Needed. They are marked when they
// are a day old, and deleted by a collection a day after the mark, if nobody needs them by
// then; who puts contents lifts their marks first (Refs.Unmark). One collection of a
// database runs at a time: ErrBusy. What can't be deleted is reported and stays marked.
func (s *Store) CollectGarbage(ctx context.Context, place blobs.Store, o GarbageOptions) (out Garbage, err error) {
	if !o.DryRun {
		done, busy := s.b.alone(ctx, "gc")
		if busy != nil {
			return out, busy
		}
		defer func() { err = errors.Join(err, done()) }()
	}
	const page = 500
	for after := skill.Digest(""); ; {
		list, err := place.List(ctx, after, page)
		if err != nil {
			return out, fmt.Errorf("gc: %w", err)
		}
		last := len(list) < page
		c := collection{s: s, place: place, o: o, out: &out, after: after}
		if !last {
			c.until = list[page-1].Digest
			after = c.until
		}
		if err := c.page(ctx, list); err != nil || last {
			return out, err
		}
	}
}

// collection is the work on one page of a place: what lies after one digest, until another.
type collection struct {
	s            *Store
	place        blobs.Store
	o            GarbageOptions
	out          *Garbage
	after, until skill.Digest // until "" = the end

	kept  map[skill.Digest]bool
	marks map[skill.Digest]int64
}

func (c *collection) page(ctx context.Context, list []blobs.Info) error {
	var digests []skill.Digest
	for _, i := range list {
		digests = append(digests, i.Digest)
	}
	err := c.s.read(ctx, func(q querier) (err error) {
		if !c.o.Alone {
			if c.marks, err = c.marked(ctx, q); err != nil {
				return err
			}
		}
		c.kept, err = keptByAnybody(ctx, q, digests)
		return err
	})
	if err != nil {
		return err
	}
	cutoff := c.s.o.Now().Add(-garbageGrace).UnixMicro()
	var mark []blobs.Info
	var free []blobs.Info
	for _, i := range list {
		at, marked := c.marks[i.Digest]
		switch {
		case c.kept[i.Digest] || c.o.Needed[i.Digest]:
			c.out.Kept.add(i)
			continue // its mark goes, if it has one
		case marked && at <= cutoff:
			free = append(free, i)
		case marked:
			c.out.Waiting.add(i)
		case i.At > cutoff:
			c.out.Young.add(i)
		case c.o.Alone:
			free = append(free, i)
		default:
			mark = append(mark, i)
		}
		delete(c.marks, i.Digest)
	}
	if err := c.mark(ctx, mark); err != nil {
		return err
	}
	for _, i := range free {
		if err := c.free(ctx, i, cutoff); err != nil {
			return err
		}
	}
	return nil
}

// marked returns the marks of the page, with their times.
func (c *collection) marked(ctx context.Context, q querier) (map[skill.Digest]int64, error) {
	query, args := "SELECT blob, marked_at FROM blob_gc WHERE tenant = 'local' AND blob > ?", []any{string(c.after)}
	if c.until != "" {
		query, args = query+" AND blob <= ?", append(args, string(c.until))
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	marks := map[skill.Digest]int64{}
	for rows.Next() {
		var blob string
		var at int64
		if err := rows.Scan(&blob, &at); err != nil {
			return nil, err
		}
		marks[skill.Digest(blob)] = at
	}
	return marks, rows.Err()
}

// keptByAnybody returns those that some tenant needs.
func keptByAnybody(ctx context.Context, q querier, list []skill.Digest) (map[skill.Digest]bool, error) {
	if t, ok := q.(*tx); ok && t.postgres {
		var on string
		if err := q.QueryRowContext(ctx, "SELECT set_config('deft.garbage', 'on', true)").Scan(&on); err != nil {
			return nil, err
		}
	}
	return among(ctx, q, "SELECT DISTINCT blob FROM blob_refs WHERE blob IN ", list)
}

// mark notes what is new garbage, and forgets the marks of what is needed or gone.
func (c *collection) mark(ctx context.Context, list []blobs.Info) error {
	for _, i := range list {
		c.out.Marked.add(i)
	}
	if c.o.DryRun || len(list) == 0 && len(c.marks) == 0 {
		return nil
	}
	return c.s.write(ctx, "gc.mark", func(tx *tx) error {
		for _, i := range list {
			if _, err := tx.ExecContext(ctx, "INSERT INTO blob_gc (tenant, blob, marked_at) VALUES ('local', ?, ?) ON CONFLICT DO NOTHING",
				string(i.Digest), tx.now.UnixMicro()); err != nil {
				return err
			}
		}
		for d := range c.marks {
			if _, err := tx.ExecContext(ctx, "DELETE FROM blob_gc WHERE tenant = 'local' AND blob = ?", string(d)); err != nil {
				return err
			}
		}
		return nil
	})
}

// free deletes one, unless somebody needs it by now or has lifted its mark. As long as the
// transaction has the mark, whoever is going to put the same contents waits for it in
// Refs.Unmark, and puts them when they are gone. If it fails after they are gone, the mark
// stays, and nothing else: nobody needed them.
func (c *collection) free(ctx context.Context, i blobs.Info, cutoff int64) error {
	if c.o.DryRun {
		c.out.Freed.add(i)
		return nil
	}
	if c.o.Alone {
		_, err := c.place.Delete(ctx, i.Digest)
		return c.count(ctx, i, err)
	}
	var failed error
	lifted := false
	err := c.s.write(ctx, "gc.delete", func(tx *tx) error {
		failed, lifted = nil, false
		n, err := tx.changed(ctx, "DELETE FROM blob_gc WHERE tenant = 'local' AND blob = ? AND marked_at <= ?", string(i.Digest), cutoff)
		if err != nil {
			return err
		}
		kept, err := keptByAnybody(ctx, tx, []skill.Digest{i.Digest})
		if err != nil {
			return err
		}
		if lifted = n == 0 || kept[i.Digest]; lifted {
			return nil
		}
		_, failed = c.place.Delete(ctx, i.Digest)
		return failed
	})
	switch {
	case failed != nil:
		return c.count(ctx, i, failed)
	case err != nil:
		return err
	case lifted:
		c.out.Kept.add(i)
		return nil
	}
	return c.count(ctx, i, nil)
}

// count counts a deletion, done or failed.
func (c *collection) count(ctx context.Context, i blobs.Info, failed error) error {
	switch {
	case failed == nil:
		c.out.Freed.add(i)
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		c.out.Failed = append(c.out.Failed, fmt.Errorf("gc: %s: %w", i.Digest, failed))
	}
	return nil
}
