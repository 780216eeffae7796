package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/internal/lockfile"
	"github.com/deftskills/deft/internal/safetext"
)

// Turn is a firing whose turn comes: what to run, and for whom.
type Turn struct {
	Row
	Definition Job
}

// Prepared is a turn that is ready to begin.
type Prepared struct {
	// Run runs the turn, once. When ctx ends it ends soon and reports what came of it.
	Run func(ctx context.Context) Outcome
	// Close frees what Prepare opened, whether Run was called or not; nil = nothing.
	Close func()
}

// Outcome is how a turn ended.
type Outcome struct {
	Session, Stop string
	Err           error // nil = it ended by itself
}

// running are the turns of this process, for the end of a drain.
type running struct {
	mu    sync.Mutex
	next  int
	end   map[int]context.CancelCauseFunc
	cause error // why all were ended; one that begins after that ends at once
}

func (r *running) add(cancel context.CancelCauseFunc) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == nil {
		r.end = map[int]context.CancelCauseFunc{}
	}
	r.next++
	n := r.next
	r.end[n] = cancel
	if r.cause != nil {
		cancel(r.cause)
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.end, n)
	}
}

func (r *running) cancel(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cause = cause
	for _, end := range r.end {
		end(cause)
	}
}

// firingArgs is what the library keeps of a firing: its id; the rest is ours.
type firingArgs struct {
	ID string `json:"id"`
}

// Kind implements river.JobArgs.
func (firingArgs) Kind() string { return "signal_turn" }

type worker struct {
	river.WorkerDefaults[firingArgs]
	q *Queue
}

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, j *river.Job[firingArgs]) error {
	return w.q.deliver(ctx, j.Args.ID)
}

// Working reports whether this process takes firings now; of the processes on one SQLite
// database one does.
func (q *Queue) Working() bool { return q.working.Load() }

// Work takes firings and plans schedules until ctx ends. Then it takes no more, lets the
// turns that run end within Options.Drain, ends the rest, whose firings are interrupted,
// and returns. Where another process works on the same SQLite database it waits for its
// end first.
func (q *Queue) Work(ctx context.Context) error {
	if q.o.Prepare == nil {
		return fmt.Errorf("%w: nothing prepares turns", ErrInvalid)
	}
	if q.busy.Swap(true) {
		return ErrWorking
	}
	defer q.busy.Store(false)
	if q.lite {
		l, err := q.alone(ctx)
		if l == nil {
			return err
		}
		defer func() { _ = l.Release() }()
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{q: q})
	c := q.library()
	c.Workers, c.Queues = workers, map[string]river.QueueConfig{queueName: {MaxWorkers: q.o.Workers}}
	var stopped <-chan struct{}
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		var err error
		if stopped, err = q.base.start(context.WithoutCancel(ctx), c); err == nil {
			break
		}
		q.o.Log.Warn("the queue does not start", "category", "signals", "event", "queue_start", "error", err.Error())
		if !pause(ctx, wait) {
			return nil
		}
	}
	q.working.Store(true)
	defer q.working.Store(false)
	keeping, stopKeeping := context.WithCancel(ctx)
	var keepers sync.WaitGroup
	keepers.Go(func() { q.sweeps(keeping) })
	keepers.Go(func() { q.plans(keeping) })
	<-ctx.Done()
	stopKeeping()
	keepers.Wait()
	return q.drain(context.WithoutCancel(ctx), stopped)
}

// alone waits for the lock of the one working process; no lock without an error = ctx
// ended.
func (q *Queue) alone(ctx context.Context) (*lockfile.Lock, error) {
	for {
		l, err := lockfile.Exclusive(ctx, q.o.Lock, lockfile.Options{Verb: "serve", Wait: -1, Now: q.o.Now})
		switch {
		case err == nil:
			return l, nil
		case ctx.Err() != nil:
			return nil, nil
		case !errors.Is(err, lockfile.ErrBusy):
			return nil, err
		}
		if !pause(ctx, pollPause) {
			return nil, nil
		}
	}
}

// pause reports whether it passed: false = ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// farewell is how long ended turns may take to write how they ended.
const farewell = 10 * time.Second

func (q *Queue) drain(ctx context.Context, stopped <-chan struct{}) error {
	soft, cancel := context.WithTimeout(ctx, q.o.Drain)
	defer cancel()
	go func() { _ = q.base.stop(soft) }() // ends with stopped, or with soft
	select {
	case <-stopped:
		return nil
	case <-soft.Done():
	}
	q.turns.cancel(errDrained)
	last := time.NewTimer(farewell)
	defer last.Stop()
	select {
	case <-stopped:
		return nil
	case <-last.C:
		return fmt.Errorf("turns still run %s after the end of the drain", farewell)
	}
}

// deliver runs one firing that the library handed out, unless it has run. An error lets
// the library hand it out again: nothing has begun.
func (q *Queue) deliver(ctx context.Context, id string) error {
	rows, err := readRows(ctx, q.base, " AND w.id = $1", []any{id})
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].Status != Queued {
		return nil
	}
	t := Turn{Row: rows[0]}
	if t.Definition, err = q.Job(ctx, t.Job); errors.Is(err, ErrNotFound) {
		return q.fail(ctx, id, "the job was removed")
	} else if err != nil {
		return err
	}
	p, err := q.o.Prepare(ctx, t)
	if err != nil {
		return q.unready(ctx, t, err)
	}
	if p.Close != nil {
		defer p.Close()
	}
	asked := time.Now()
	taken, err := q.base.exec(ctx, "UPDATE workflow_instances SET status = 'running', replica = $2, lease_until = {now} + $3,"+
		" attempt = attempt + 1, started = coalesce(started, {now}), ended = NULL, stop = '', error = ''"+
		" WHERE tenant = 'local' AND id = $1 AND status = 'queued'", id, q.o.Replica, q.o.Lease.Microseconds())
	if err != nil || taken == 0 {
		return err // taken == 0: somebody else has it
	}
	// From here on the library never hears of an error: the firing has run.
	q.run(ctx, t, p, asked)
	return nil
}

func (q *Queue) run(ctx context.Context, t Turn, p Prepared, leased time.Time) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer q.turns.add(cancel)()
	over := make(chan struct{})
	var lease sync.WaitGroup
	lease.Go(func() { q.renew(ctx, t.ID, leased, over, cancel) })
	out := q.safely(ctx, t, p)
	cause := context.Cause(ctx)
	close(over)
	lease.Wait()
	switch {
	case errors.Is(cause, errLost):
		q.o.Log.Error("a turn lost its lease and was ended", "category", "signals", "event", "lease_lost", "trace_id", t.TraceID)
		return // whoever swept it has written how it ended
	case errors.Is(cause, errDrained):
		q.finish(ctx, t, Interrupted, out, errDrained)
	case out.Err != nil:
		q.finish(ctx, t, Failed, out, out.Err)
	case out.Stop == "cancelled":
		q.finish(ctx, t, Cancelled, out, nil)
	default:
		q.finish(ctx, t, Finished, out, nil)
	}
}

// safely makes a panic of a turn the end of that turn alone.
func (q *Queue) safely(ctx context.Context, t Turn, p Prepared) (out Outcome) {
	defer func() {
		if fault := recover(); fault != nil {
			q.o.Log.Error("a turn panicked", "category", "signals", "event", "panic", "trace_id", t.TraceID, "error", fault, "stack", string(debug.Stack()))
			out.Err = errors.New("a fault of deft itself; the log has it")
		}
	}()
	return p.Run(ctx)
}

// renew says every third of a lease that the turn lives. It ends the turn when the lease
// is somebody else's, and in time before it would be: a database that does not answer
// counts as a lease that ran out.
func (q *Queue) renew(ctx context.Context, id string, renewed time.Time, over <-chan struct{}, cancel context.CancelCauseFunc) {
	ctx = context.WithoutCancel(ctx)
	tick := time.NewTicker(q.o.Lease / 3)
	defer tick.Stop()
	for {
		deadline := time.NewTimer(time.Until(renewed.Add(q.o.Lease * 9 / 10)))
		select {
		case <-over:
			deadline.Stop()
			return
		case <-deadline.C:
			cancel(errLost)
			return
		case <-tick.C:
		}
		deadline.Stop()
		asked := time.Now()
		bounded, stop := context.WithDeadline(ctx, renewed.Add(q.o.Lease*9/10))
		n, err := q.base.exec(bounded, "UPDATE workflow_instances SET lease_until = {now} + $3"+
			" WHERE tenant = 'local' AND id = $1 AND replica = $2 AND status = 'running'", id, q.o.Replica, q.o.Lease.Microseconds())
		stop()
		switch {
		case err == nil && n == 0:
			cancel(errLost)
			return
		case err == nil:
			renewed = asked
		}
	}
}

// finish writes how a turn ended, for as long as its lease may last: after that it is
// swept.
func (q *Queue) finish(ctx context.Context, t Turn, s Status, out Outcome, failure error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.o.Lease)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := fault.Err("queue.complete")
		if err == nil {
			_, err = q.base.exec(ctx, "UPDATE workflow_instances SET status = $3, session = $4, stop = $5, error = $6, ended = {now}, lease_until = NULL"+
				" WHERE tenant = 'local' AND id = $1 AND replica = $2 AND status = 'running'",
				t.ID, q.o.Replica, string(s), out.Session, out.Stop, told(failure))
		}
		if err == nil {
			fault.Point("queue.complete")
			q.o.Log.Info("a turn ended", "category", "signals", "event", "turn_ended", "trace_id", t.TraceID, "job", t.Job, "status", string(s), "stop", out.Stop)
			return
		}
		if !pause(ctx, wait) {
			q.o.Log.Error("the end of a turn could not be written", "category", "signals", "event", "finish_lost", "trace_id", t.TraceID, "error", err.Error())
			return
		}
	}
}

// maxError is how much of an error is kept, in characters.
const maxError = 500

// told is an error as a row keeps it.
func told(err error) string {
	if err == nil {
		return ""
	}
	text, _ := safetext.Field(err.Error())
	return safetext.Clip(text, maxError)
}

// unready counts a try that failed before the turn began.
func (q *Queue) unready(ctx context.Context, t Turn, cause error) error {
	if t.Tries+1 >= maxTries {
		return q.fail(ctx, t.ID, told(cause))
	}
	_, err := q.base.exec(ctx, "UPDATE firings SET tries = tries + 1 WHERE tenant = 'local' AND id = $1", t.ID)
	return errors.Join(cause, err)
}

// fail ends a firing that never began.
func (q *Queue) fail(ctx context.Context, id, why string) error {
	return q.base.within(ctx, func(t tx) error { return fail(ctx, t, id, why) })
}

func fail(ctx context.Context, c conn, id, why string) error {
	_, err := c.exec(ctx, "UPDATE workflow_instances SET status = 'failed', ended = {now}, error = $2"+
		" WHERE tenant = 'local' AND id = $1 AND status = 'queued'", id, why)
	if err == nil {
		_, err = c.exec(ctx, "UPDATE firings SET tries = tries + 1 WHERE tenant = 'local' AND id = $1", id)
	}
	return err
}
