package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/deftskills/deft/internal/fault"
)

// Firing is one event that a job is to run for.
type Firing struct {
	Job     string
	Trigger string // cron, webhook, event or manual
	// Signal is what the turn is told, as JSON; nil = nothing.
	Signal json.RawMessage
	// SignalID names the event; one that comes again in the job's window is a duplicate.
	// "" = no event is like another.
	SignalID string
	Critical bool // runs before what is not
	// TraceID is the caller's; one that is taken already is kept as the parent of a new one.
	TraceID string
	// Scheduled is the time of a schedule; it runs once, whoever plans it.
	Scheduled time.Time
	// Nonce is the proof of a signed request, and NonceUntil when it may be forgotten. One
	// that was seen before is ErrReplay. "" = the request proves itself in another way.
	Nonce      string
	NonceUntil time.Time
}

// Receipt says what became of a firing. Of a duplicate ID and TraceID are those of the
// first.
type Receipt struct {
	ID, TraceID string
	Duplicate   bool
}

// Insert puts a firing into the queue: it is there as a whole when Insert returns
// without an error, or it is a duplicate. ErrNotFound: there is no such job; ErrPaused:
// it takes none; ErrReplay comes with the receipt of the first.
func (q *Queue) Insert(ctx context.Context, f Firing) (Receipt, error) {
	var r Receipt
	err := q.base.within(ctx, func(t tx) error {
		j, err := readJob(ctx, t, f.Job)
		if err != nil {
			return err
		}
		if j.Paused && f.Trigger != "manual" {
			return fmt.Errorf("job %q: %w", f.Job, ErrPaused)
		}
		r, err = q.insert(ctx, t, j, f)
		if err != nil {
			return err
		}
		return fault.Err("queue.insert")
	})
	if err != nil && !errors.Is(err, ErrReplay) {
		return Receipt{}, err
	}
	fault.Point("queue.insert")
	return r, err
}

func (q *Queue) insert(ctx context.Context, t tx, j Job, f Firing) (r Receipt, err error) {
	if r, err = q.name(ctx, t, f); err != nil {
		return r, err
	}
	parent := ""
	if f.TraceID != "" && f.TraceID != r.TraceID {
		parent = f.TraceID
	}
	if f.Nonce != "" {
		n, err := t.exec(ctx, "INSERT INTO hook_nonces (nonce, firing, trace_id, expires_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
			f.Nonce, r.ID, r.TraceID, f.NonceUntil.UnixMicro())
		if err != nil {
			return r, err
		}
		if n == 0 {
			r.Duplicate = true
			if err := one(ctx, t, "SELECT firing, trace_id FROM hook_nonces WHERE tenant = 'local' AND nonce = $1", []any{f.Nonce}, &r.ID, &r.TraceID); err != nil {
				return r, err
			}
			return r, ErrReplay
		}
	}
	key := q.dedupeKey(j, f, r.ID)
	n, err := t.exec(ctx, "INSERT INTO workflow_instances (id, definition, definition_digest, trigger_kind, signal_id, dedupe_key,"+
		" trace_id, parent_trace_id, status, attempt, replica, session, stop, error)"+
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'queued', 0, '', '', '', '') ON CONFLICT DO NOTHING",
		r.ID, j.ID, j.digest(), f.Trigger, f.SignalID, key, r.TraceID, parent)
	if err != nil {
		return r, err
	}
	if n == 0 {
		r.Duplicate = true
		err := one(ctx, t, "SELECT id, trace_id FROM workflow_instances WHERE tenant = 'local' AND dedupe_key = $1", []any{key}, &r.ID, &r.TraceID)
		if err == nil && f.Nonce != "" {
			_, err = t.exec(ctx, "UPDATE hook_nonces SET firing = $2, trace_id = $3 WHERE tenant = 'local' AND nonce = $1", f.Nonce, r.ID, r.TraceID)
		}
		return r, err
	}
	priority := priorityOf(f.Critical)
	queued, err := t.enqueue(ctx, r.ID, priority)
	if err != nil {
		return r, err
	}
	signal := string(f.Signal)
	if signal == "" {
		signal = "null"
	}
	_, err = t.exec(ctx, "INSERT INTO firings (id, job, signal, priority, scheduled_at, queued_at, queued_as, tries) VALUES ($1, $2, $3, $4, $5, {now}, $6, 0)",
		r.ID, j.ID, signal, priority, micros(f.Scheduled), queued)
	return r, err
}

// traceForm is what a caller's trace id must look like to name a turn.
var traceForm = regexp.MustCompile(`^[A-Za-z0-9_-]{4,64}$`)

// name draws the ids of a firing. The caller's trace id is taken if nobody has it.
func (q *Queue) name(ctx context.Context, c conn, f Firing) (r Receipt, err error) {
	if r.ID, err = q.newID(); err != nil {
		return r, err
	}
	if traceForm.MatchString(f.TraceID) {
		var taken int64
		if err := one(ctx, c, "SELECT count(*) FROM workflow_instances WHERE tenant = 'local' AND trace_id = $1", []any{f.TraceID}, &taken); err != nil {
			return r, err
		}
		if taken == 0 {
			r.TraceID = f.TraceID
			return r, nil
		}
	}
	r.TraceID, err = q.newTrace()
	return r, err
}

// dedupeKey is what the database holds unique.
func (q *Queue) dedupeKey(j Job, f Firing, id string) string {
	switch {
	case !f.Scheduled.IsZero():
		return "cron:" + j.ID + ":" + strconv.FormatInt(f.Scheduled.Unix(), 10)
	case f.SignalID != "":
		window := q.o.Now().UnixMicro() / j.DedupeWindow.Microseconds()
		return "signal:" + j.ID + ":" + f.SignalID + ":" + strconv.FormatInt(window, 10)
	}
	return "run:" + id
}

// priorityOf is the library's priority: smaller numbers come first.
func priorityOf(critical bool) int {
	if critical {
		return 1
	}
	return 2
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
