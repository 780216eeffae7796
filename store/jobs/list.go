package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Status is where a firing stands.
type Status string

// The statuses. Only failed and interrupted firings can be retried.
const (
	Queued      Status = "queued"
	Running     Status = "running"
	Finished    Status = "done"
	Failed      Status = "failed"      // it could not be begun, or ended with an error
	Cancelled   Status = "cancelled"   // somebody ended it
	Interrupted Status = "interrupted" // its process stopped before the turn's end
)

// Row is a firing in the list.
type Row struct {
	ID            string          `json:"id"`
	Job           string          `json:"job"`
	Trigger       string          `json:"trigger"`
	SignalID      string          `json:"signal_id"`
	TraceID       string          `json:"trace_id"`
	ParentTraceID string          `json:"parent_trace_id"`
	Status        Status          `json:"status"`
	Attempt       int             `json:"attempt"` // runs that were begun
	Tries         int             `json:"tries"`   // failures before a run
	Replica       string          `json:"replica"`
	Session       string          `json:"session"`
	Stop          string          `json:"stop"`
	Error         string          `json:"error"`
	Signal        json.RawMessage `json:"-"`
	ScheduledAt   time.Time       `json:"scheduled_at,omitzero"`
	QueuedAt      time.Time       `json:"queued_at"`
	StartedAt     time.Time       `json:"started_at,omitzero"` // of the first run
	EndedAt       time.Time       `json:"ended_at,omitzero"`
}

// Filter chooses firings; zero = the newest hundred.
type Filter struct {
	ID, Job string
	Status  Status
	Limit   int // 0 = 100
}

// List returns firings, the newest first.
func (q *Queue) List(ctx context.Context, f Filter) ([]Row, error) {
	var where []string
	var args []any
	for _, c := range []struct{ column, value string }{{"w.id", f.ID}, {"f.job", f.Job}, {"w.status", string(f.Status)}} {
		if c.value != "" {
			args = append(args, c.value)
			where = append(where, fmt.Sprintf(" AND %s = $%d", c.column, len(args)))
		}
	}
	limit := f.Limit
	if limit <= 0 {
		limit = 100
	}
	return readRows(ctx, q.base, strings.Join(where, "")+fmt.Sprintf(" ORDER BY f.queued_at DESC, w.id DESC LIMIT %d", limit), args)
}

func readRows(ctx context.Context, c conn, where string, args []any) ([]Row, error) {
	out := []Row{}
	err := c.query(ctx, "SELECT w.id, f.job, w.trigger_kind, w.signal_id, w.trace_id, w.parent_trace_id, w.status, w.attempt, f.tries,"+
		" w.replica, w.session, w.stop, w.error, f.signal, f.scheduled_at, f.queued_at, w.started, w.ended"+
		" FROM workflow_instances w JOIN firings f ON f.tenant = w.tenant AND f.id = w.id WHERE w.tenant = 'local'"+where, args,
		func(scan func(...any) error) error {
			var r Row
			var signal string
			var signalID, parent, replica, session, stop, failure sql.NullString
			var scheduled, queued int64
			var started, ended sql.NullInt64
			if err := scan(&r.ID, &r.Job, &r.Trigger, &signalID, &r.TraceID, &parent, &r.Status, &r.Attempt, &r.Tries,
				&replica, &session, &stop, &failure, &signal, &scheduled, &queued, &started, &ended); err != nil {
				return err
			}
			r.SignalID, r.ParentTraceID, r.Replica, r.Session = signalID.String, parent.String, replica.String, session.String
			r.Stop, r.Error, r.Signal = stop.String, failure.String, json.RawMessage(signal)
			r.ScheduledAt, r.QueuedAt, r.StartedAt, r.EndedAt = at(scheduled), at(queued), at(started.Int64), at(ended.Int64)
			out = append(out, r)
			return nil
		})
	return out, err
}

// Retry queues a firing again that failed, was cancelled or interrupted, or with done is
// done. It keeps its trace. ErrNotFound: there is none; ErrState: it is in another state.
func (q *Queue) Retry(ctx context.Context, id string, done bool) (Receipt, error) {
	var r Receipt
	err := q.base.within(ctx, func(t tx) error {
		rows, err := readRows(ctx, t, " AND w.id = $1", []any{id})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return fmt.Errorf("firing %q: %w", id, ErrNotFound)
		}
		n, err := t.exec(ctx, "UPDATE workflow_instances SET status = 'queued', lease_until = NULL, ended = NULL, stop = '', error = ''"+
			" WHERE tenant = 'local' AND id = $1 AND (status IN ('failed', 'cancelled', 'interrupted') OR status = 'done' AND $2 = 1)", id, number(done))
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("firing %q is %s: %w", id, rows[0].Status, ErrState)
		}
		r = Receipt{ID: id, TraceID: rows[0].TraceID}
		return requeue(ctx, t, id, 0)
	})
	return r, err
}

// requeue gives a queued firing a new place in the queue.
func requeue(ctx context.Context, t tx, id string, tries int) error {
	var priority int
	if err := one(ctx, t, "SELECT priority FROM firings WHERE tenant = 'local' AND id = $1", []any{id}, &priority); err != nil {
		return err
	}
	queued, err := t.enqueue(ctx, id, priority)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, "UPDATE firings SET queued_as = $2, tries = $3 WHERE tenant = 'local' AND id = $1", id, queued, tries)
	return err
}

// Depth is how much waits and runs.
type Depth struct {
	Queued, Running int
	Oldest          time.Duration // how long the oldest queued firing waits; 0 = none does
}

// Depth counts what waits and runs, over all processes.
func (q *Queue) Depth(ctx context.Context) (Depth, error) {
	var d Depth
	var oldest int64
	err := one(ctx, q.base, "SELECT coalesce(sum(CASE WHEN w.status = 'queued' THEN 1 ELSE 0 END), 0),"+
		" coalesce(sum(CASE WHEN w.status = 'running' THEN 1 ELSE 0 END), 0),"+
		" coalesce(max(CASE WHEN w.status = 'queued' THEN {now} - f.queued_at END), 0)"+
		" FROM workflow_instances w JOIN firings f ON f.tenant = w.tenant AND f.id = w.id"+
		" WHERE w.tenant = 'local' AND w.status IN ('queued', 'running')", nil, &d.Queued, &d.Running, &oldest)
	d.Oldest = max(time.Duration(oldest)*time.Microsecond, 0)
	return d, err
}
