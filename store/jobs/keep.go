package jobs

import (
	"context"
	"encoding/json"
	"time"
)

// sweeps ends what dead processes left, every third of a lease.
func (q *Queue) sweeps(ctx context.Context) {
	for {
		if err := q.Sweep(ctx); err != nil && ctx.Err() == nil {
			q.o.Log.Warn("the queue was not swept", "category", "signals", "event", "sweep", "error", err.Error())
		}
		if !pause(ctx, q.o.Lease/3) {
			return
		}
	}
}

// Sweep marks turns whose lease ran out as interrupted, queues those of idempotent jobs
// again, and brings back firings that a process took from the queue and never began.
// Work does it all the time.
func (q *Queue) Sweep(ctx context.Context) error {
	return q.base.within(ctx, func(t tx) error {
		if err := q.sweepRuns(ctx, t); err != nil {
			return err
		}
		if err := q.sweepTaken(ctx, t); err != nil {
			return err
		}
		_, err := t.exec(ctx, "DELETE FROM hook_nonces WHERE tenant = 'local' AND expires_at < {now}")
		return err
	})
}

func (q *Queue) sweepRuns(ctx context.Context, t tx) error {
	var lost []string
	err := t.query(ctx, "UPDATE workflow_instances SET status = 'interrupted', ended = {now}, lease_until = NULL,"+
		" error = 'its process stopped before the end of the turn'"+
		" WHERE tenant = 'local' AND status = 'running' AND lease_until < {now} RETURNING id", nil, collect(&lost))
	if err != nil {
		return err
	}
	for _, id := range lost {
		again, err := q.mayRunAgain(ctx, t, id)
		if err != nil {
			return err
		}
		if !again {
			continue
		}
		if _, err := t.exec(ctx, "UPDATE workflow_instances SET status = 'queued', ended = NULL WHERE tenant = 'local' AND id = $1", id); err != nil {
			return err
		}
		if err := requeue(ctx, t, id, 0); err != nil {
			return err
		}
	}
	return nil
}

// mayRunAgain reports whether an interrupted firing is queued by itself: its job says
// that it may, it did not run three times yet, and no call of it used a grant.
func (q *Queue) mayRunAgain(ctx context.Context, c conn, id string) (bool, error) {
	var n int64
	err := one(ctx, c, "SELECT count(*) FROM workflow_instances w JOIN firings f ON f.tenant = w.tenant AND f.id = w.id"+
		" JOIN jobs j ON j.tenant = f.tenant AND j.id = f.job"+
		" WHERE w.tenant = 'local' AND w.id = $1 AND j.idempotent = 1 AND w.attempt < $2"+
		" AND NOT EXISTS (SELECT 1 FROM tier_events e WHERE e.tenant = w.tenant AND e.trace_id = w.trace_id AND e.grant_id <> '')",
		[]any{id, maxTries}, &n)
	return n > 0, err
}

// sweepTaken finds queued firings that no process will begin: the library handed them
// out longer than a lease ago, or gave them up.
func (q *Queue) sweepTaken(ctx context.Context, t tx) error {
	var lost []string
	tries := map[string]int{}
	err := t.query(ctx, "SELECT f.id, f.tries FROM workflow_instances w JOIN firings f ON f.tenant = w.tenant AND f.id = w.id"+
		" LEFT JOIN river_job r ON r.id = f.queued_as"+
		" WHERE w.tenant = 'local' AND w.status = 'queued' AND (r.id IS NULL OR r.state IN ('cancelled', 'completed', 'discarded')"+
		" OR (r.state = 'running' AND {taken} < {now} - $1))", []any{q.o.Lease.Microseconds()}, func(scan func(...any) error) error {
		var id string
		var n int
		if err := scan(&id, &n); err != nil {
			return err
		}
		lost, tries[id] = append(lost, id), n
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range lost {
		if tries[id]+1 >= maxTries {
			if err := fail(ctx, t, id, "three processes stopped before they began it"); err != nil {
				return err
			}
			continue
		}
		if err := requeue(ctx, t, id, tries[id]+1); err != nil {
			return err
		}
	}
	return nil
}

func collect(into *[]string) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		var s string
		err := scan(&s)
		*into = append(*into, s)
		return err
	}
}

// planPause is the longest sleep of the planner: a new definition is seen after it.
const planPause = 5 * time.Second

// grace is how late a time may be that a job without catch-up still runs for.
const grace = time.Minute

func (q *Queue) plans(ctx context.Context) {
	for {
		next, err := q.Plan(ctx)
		if err != nil && ctx.Err() == nil {
			q.o.Log.Warn("schedules were not planned", "category", "signals", "event", "plan", "error", err.Error())
		}
		wait := planPause
		if until := next.Sub(q.o.Now()); !next.IsZero() && until < wait {
			wait = max(until, time.Millisecond)
		}
		if !pause(ctx, wait) {
			return
		}
	}
}

// Plan queues what the schedules say until now and returns when the next job is due.
// Every process may plan: a job moves on by compare-and-set in the transaction that
// queues its firing, so one of them does. Of several times that were missed the newest
// runs, if the job catches up. Work does it all the time.
func (q *Queue) Plan(ctx context.Context) (next time.Time, err error) {
	all, err := q.Jobs(ctx)
	if err != nil {
		return time.Time{}, err
	}
	now := q.o.Now()
	for _, j := range all {
		if j.Kind != Cron || j.Paused {
			continue
		}
		s, err := ParseSchedule(j.Schedule, j.Zone)
		if err != nil {
			q.o.Log.Error("a schedule cannot be read", "category", "signals", "event", "plan", "job", j.ID, "error", err.Error())
			continue
		}
		if due, ok := s.Due(j.planned, now); ok {
			if err := q.fire(ctx, j, due, now); err != nil {
				return time.Time{}, err
			}
		}
		if at := s.Next(now); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, nil
}

// fire moves the job on to due and queues its firing.
func (q *Queue) fire(ctx context.Context, j Job, due, now time.Time) error {
	return q.base.within(ctx, func(t tx) error {
		n, err := t.exec(ctx, "UPDATE jobs SET planned_at = $2 WHERE tenant = 'local' AND id = $1 AND planned_at = $3 AND paused = 0",
			j.ID, due.UnixMicro(), j.planned.UnixMicro())
		if err != nil || n == 0 {
			return err // n == 0: another process was first
		}
		if j.CatchUp == "none" && now.Sub(due) > grace {
			return nil
		}
		signal, err := json.Marshal(map[string]any{"source": "cron", "payload": map[string]string{"scheduled_at": due.UTC().Format(time.RFC3339)}})
		if err != nil {
			return err
		}
		_, err = q.insert(ctx, t, j, Firing{Job: j.ID, Trigger: "cron", Signal: signal, Scheduled: due})
		return err
	})
}
