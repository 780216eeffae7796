package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"
)

func cronJob(id string) Job {
	return Job{ID: id, Kind: Cron, Schedule: "*/5 * * * *", Zone: "Europe/Berlin", Prompt: "look"}
}

func eventJob(id string) Job { return Job{ID: id, Kind: Event, Prompt: "look"} }

func TestDefinitionsAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db string) {
		ctx := t.Context()
		q := open(t, Options{DB: db})
		full := Job{
			ID: "drop", Kind: Webhook, Body: PayloadBody, Prompt: "what now?", Agent: "desk", Principal: "agent:desk", PreloadSkills: []string{"a"},
			AllowPreload: []string{"a", "b"}, Stages: []string{"evaluate", "decide"}, RiskTierMax: 3, Placement: "sandbox",
			DedupeWindow: time.Hour, Timeout: time.Minute, Idempotent: true, CatchUp: "none", Owner: "ana",
		}
		added, err := q.Add(ctx, full)
		must(t, err)
		if len(added.Secret) < 40 {
			t.Errorf("secret %q", added.Secret)
		}
		got, err := q.Job(ctx, "drop")
		must(t, err)
		added.planned = got.planned
		if !reflect.DeepEqual(got, added) {
			t.Errorf("kept\n%+v\nadded\n%+v", got, added)
		}
		if _, err := q.Add(ctx, full); !errors.Is(err, ErrExists) {
			t.Errorf("the same id again: %v", err)
		}
		plain, err := q.Add(ctx, cronJob("nightly"))
		must(t, err)
		if plain.RiskTierMax != 1 || plain.DedupeWindow != 10*time.Minute || plain.CatchUp != "one" || plain.Principal != "job:nightly" || plain.Secret != "" {
			t.Errorf("defaults: %+v", plain)
		}
		must(t, q.Pause(ctx, "nightly", true))
		all, err := q.Jobs(ctx)
		must(t, err)
		if len(all) != 2 || all[0].ID != "drop" || !all[1].Paused {
			t.Errorf("jobs: %+v", all)
		}
		must(t, q.Remove(ctx, "drop"))
		for _, err := range []error{q.Remove(ctx, "drop"), q.Pause(ctx, "drop", true)} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("of a job that is gone: %v", err)
			}
		}
	})
}

func TestBadDefinitionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Job){
		"no id": func(j *Job) { j.ID = "" }, "path as id": func(j *Job) { j.ID = "../x" }, "kind": func(j *Job) { j.Kind = "sun" },
		"prompt": func(j *Job) { j.Prompt = "" }, "schedule": func(j *Job) { j.Schedule = "soon" }, "zone": func(j *Job) { j.Zone = "Nowhere" },
		"tier 4": func(j *Job) { j.RiskTierMax = 4 }, "tier -1": func(j *Job) { j.RiskTierMax = -1 }, "stage": func(j *Job) { j.Stages = []string{"ponder"} },
		"window": func(j *Job) { j.DedupeWindow = time.Millisecond }, "timeout": func(j *Job) { j.Timeout = time.Hour }, "catch up": func(j *Job) { j.CatchUp = "all" },
		"body of cron": func(j *Job) { j.Body = SignalBody }, "schedule of event": func(j *Job) { j.Kind = Event },
		"too many skills": func(j *Job) { j.PreloadSkills = make([]string, 17) },
	} {
		j := cronJob("x")
		change(&j)
		if _, err := j.WithDefaults(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An event that comes again within the job's window runs once and is told the first
// trace; in the next window it runs again.
func TestTheSameSignalRunsOnceAWindow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db string) {
		ctx := t.Context()
		now := time.Unix(1_800_000_000, 0)
		q := open(t, Options{DB: db, Now: func() time.Time { return now }})
		_, err := q.Add(ctx, eventJob("drop"))
		must(t, err)
		_, err = q.Add(ctx, eventJob("other"))
		must(t, err)
		f := Firing{Job: "drop", Trigger: "event", SignalID: "btc_drop_5pct", Signal: json.RawMessage(`{"source":"event"}`), TraceID: "sender_1"}
		first, err := q.Insert(ctx, f)
		must(t, err)
		if first.TraceID != "sender_1" || first.Duplicate {
			t.Errorf("first: %+v", first)
		}
		again, err := q.Insert(ctx, f)
		must(t, err)
		if !again.Duplicate || again.TraceID != first.TraceID || again.ID != first.ID {
			t.Errorf("again: %+v, first %+v", again, first)
		}
		f.Job = "other"
		other, err := q.Insert(ctx, f)
		must(t, err)
		if other.Duplicate || other.TraceID == first.TraceID {
			t.Errorf("of another job: %+v", other)
		}
		now = now.Add(DefaultWindow)
		f.Job = "drop"
		later, err := q.Insert(ctx, f)
		must(t, err)
		if later.Duplicate || later.TraceID == first.TraceID {
			t.Errorf("in the next window: %+v", later)
		}
		rows, err := q.List(ctx, Filter{ID: later.ID})
		must(t, err)
		if len(rows) != 1 || rows[0].ParentTraceID != "sender_1" || rows[0].Status != Queued || string(rows[0].Signal) != `{"source":"event"}` {
			t.Errorf("row: %+v", rows)
		}
		if _, err := q.Insert(ctx, Firing{Job: "nobody", Trigger: "event"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("no such job: %v", err)
		}
		must(t, q.Pause(ctx, "drop", true))
		if _, err := q.Insert(ctx, f); !errors.Is(err, ErrPaused) {
			t.Errorf("a paused job: %v", err)
		}
	})
}

func TestASignatureCountsOnceInAllProcesses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db string) {
		ctx := t.Context()
		a, b := open(t, Options{DB: db}), open(t, Options{DB: db})
		_, err := a.Add(ctx, eventJob("drop"))
		must(t, err)
		f := Firing{Job: "drop", Trigger: "webhook", Nonce: "abc", NonceUntil: time.Now().Add(time.Hour)}
		first, err := a.Insert(ctx, f)
		must(t, err)
		again, err := b.Insert(ctx, f)
		if !errors.Is(err, ErrReplay) || again.TraceID != first.TraceID {
			t.Errorf("replayed: %+v, %v; first %+v", again, err, first)
		}
		rows, err := a.List(ctx, Filter{})
		must(t, err)
		if len(rows) != 1 {
			t.Errorf("%d rows", len(rows))
		}
	})
}

// ran counts turns by firing, and holds them until they are let go.
type ran struct {
	mu    sync.Mutex
	turns map[string]int
	seen  chan Turn
}

func newRan() *ran { return &ran{turns: map[string]int{}, seen: make(chan Turn, 1000)} }

func (r *ran) prepare(run func(ctx context.Context, t Turn) Outcome) func(context.Context, Turn) (Prepared, error) {
	return func(_ context.Context, t Turn) (Prepared, error) {
		return Prepared{Run: func(ctx context.Context) Outcome {
			r.mu.Lock()
			r.turns[t.ID]++
			r.mu.Unlock()
			r.seen <- t
			return run(ctx, t)
		}}, nil
	}
}

func ends(context.Context, Turn) Outcome { return Outcome{Session: "s1", Stop: "end"} }

// work works on the queue until the test or stop ends it.
func work(t *testing.T, q *Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Work(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// await polls until f holds: only the database says when a process is done.
func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(2 * time.Minute)
	defer late.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("never: %s", what)
		}
	}
}

func (q *Queue) count(t *testing.T, s Status) int {
	t.Helper()
	rows, err := q.List(context.Background(), Filter{Status: s, Limit: 10_000})
	must(t, err)
	return len(rows)
}

func TestFiringsRunOnceAndSayHowTheyEnded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db string) {
		ctx := t.Context()
		r := newRan()
		q := open(t, Options{DB: db, Prepare: r.prepare(func(_ context.Context, t Turn) Outcome {
			switch t.SignalID {
			case "bad":
				return Outcome{Stop: "model_error", Err: errors.New("no\x1b[31m model")}
			case "off":
				return Outcome{Stop: "cancelled"}
			case "panic":
				panic("no")
			}
			return Outcome{Session: "s1", Stop: "end"}
		})})
		_, err := q.Add(ctx, eventJob("drop"))
		must(t, err)
		ids := map[string]Status{}
		for name, want := range map[string]Status{"good": Finished, "bad": Failed, "off": Cancelled, "panic": Failed} {
			got, err := q.Insert(ctx, Firing{Job: "drop", Trigger: "event", SignalID: name})
			must(t, err)
			ids[got.ID] = want
		}
		work(t, q)
		for id, want := range ids {
			await(t, string(want), func() bool {
				rows, err := q.List(ctx, Filter{ID: id})
				must(t, err)
				return rows[0].Status == want
			})
			rows, err := q.List(ctx, Filter{ID: id})
			must(t, err)
			if x := rows[0]; x.Attempt != 1 || r.turns[id] != 1 || x.Replica != q.Replica() || x.StartedAt.IsZero() || x.EndedAt.IsZero() ||
				want == Failed && (x.Error == "" || x.Error[2] == 0x1b) {
				t.Errorf("%s: %+v", want, x)
			}
		}
		d, err := q.Depth(ctx)
		must(t, err)
		if d.Queued != 0 || d.Running != 0 {
			t.Errorf("depth %+v", d)
		}
	})
}

// What fails before the turn begins is tried three times; then it is failed, listed, and
// can be retried under its trace.
func TestAFiringThatCannotBeginIsFailedAndCanBeRetried(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db string) {
		ctx := t.Context()
		r := newRan()
		var broken sync.Mutex
		fail, tries := true, 0
		good := r.prepare(ends)
		q := open(t, Options{DB: db, Prepare: func(ctx context.Context, t Turn) (Prepared, error) {
			broken.Lock()
			defer broken.Unlock()
			if fail {
				tries++
				return Prepared{}, errors.New("no skills")
			}
			return good(ctx, t)
		}})
		_, err := q.Add(ctx, eventJob("drop"))
		must(t, err)
		got, err := q.Insert(ctx, Firing{Job: "drop", Trigger: "event"})
		must(t, err)
		// Two tries are behind it: the library's own pauses are long.
		_, err = q.base.exec(ctx, "UPDATE firings SET tries = 2")
		must(t, err)
		work(t, q)
		await(t, "failed", func() bool { return q.count(t, Failed) == 1 })
		rows, err := q.List(ctx, Filter{})
		must(t, err)
		if rows[0].Error != "no skills" || rows[0].Tries != maxTries || rows[0].Attempt != 0 || tries != 1 {
			t.Errorf("failed: %+v after %d", rows[0], tries)
		}
		broken.Lock()
		fail = false
		broken.Unlock()
		again, err := q.Retry(ctx, got.ID, false)
		must(t, err)
		if again.TraceID != got.TraceID {
			t.Errorf("retried under %s, not %s", again.TraceID, got.TraceID)
		}
		await(t, "done", func() bool { return q.count(t, Finished) == 1 })
		if _, err := q.Retry(ctx, got.ID, false); !errors.Is(err, ErrState) {
			t.Errorf("retry of what is done: %v", err)
		}
		if _, err := q.Retry(ctx, got.ID, true); err != nil {
			t.Errorf("retry of what is done, on request: %v", err)
		}
		await(t, "done again", func() bool { return q.count(t, Finished) == 1 && len(r.seen) == 2 })
		if _, err := q.Retry(ctx, "nobody", true); !errors.Is(err, ErrNotFound) {
			t.Errorf("retry of nothing: %v", err)
		}
	})
}

// That a firing failed and how often it was tried are written together.
func TestAFiringFailsAsAWholeOrNot(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := open(t, Options{DB: liteDB(t)})
	_, err := q.Add(ctx, eventJob("drop"))
	must(t, err)
	got, err := q.Insert(ctx, Firing{Job: "drop", Trigger: "event"})
	must(t, err)
	_, err = q.base.exec(ctx, "CREATE TRIGGER broken BEFORE UPDATE ON firings BEGIN SELECT RAISE(ABORT, 'no'); END")
	must(t, err)
	if err := q.fail(ctx, got.ID, "no skills"); err == nil || q.count(t, Queued) != 1 {
		t.Errorf("%v, %d are queued", err, q.count(t, Queued))
	}
}

// Critical firings come first, then by time; four run at once.
func TestCriticalComesFirstAndFourRunAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db string) {
		ctx := t.Context()
		r := newRan()
		gate := make(chan struct{})
		q := open(t, Options{DB: db, Prepare: r.prepare(func(context.Context, Turn) Outcome { <-gate; return Outcome{} })})
		_, err := q.Add(ctx, eventJob("drop"))
		must(t, err)
		for i := range 8 {
			_, err := q.Insert(ctx, Firing{Job: "drop", Trigger: "event", SignalID: fmt.Sprint(i), Critical: i >= 4})
			must(t, err)
		}
		work(t, q)
		for range 4 {
			if got := <-r.seen; got.SignalID < "4" {
				t.Errorf("%s came before what is critical", got.SignalID)
			}
		}
		d, err := q.Depth(ctx)
		must(t, err)
		if d.Running != 4 || d.Queued != 4 || d.Oldest <= 0 {
			t.Errorf("depth %+v", d)
		}
		select {
		case got := <-r.seen:
			t.Errorf("%s is a fifth", got.SignalID)
		default:
		}
		close(gate)
		await(t, "all done", func() bool { return q.count(t, Finished) == 8 })
	})
}

// A turn whose process says nothing any more is interrupted by another and not run again,
// unless its job allows it; one that was taken and never begun is brought back.
func TestWhatDeadProcessesLeftIsSwept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db string) {
		ctx := t.Context()
		r := newRan()
		q := open(t, Options{DB: db, Lease: time.Minute, Prepare: r.prepare(ends)})
		again := eventJob("again")
		again.Idempotent = true
		for _, j := range []Job{eventJob("once"), again} {
			_, err := q.Add(ctx, j)
			must(t, err)
		}
		ids := map[string]string{}
		for name, job := range map[string]string{"dead": "once", "dead again": "again", "dead thrice": "again", "paid": "again", "taken": "once", "dropped": "once", "poison": "once"} {
			got, err := q.Insert(ctx, Firing{Job: job, Trigger: "event", SignalID: name})
			must(t, err)
			ids[name] = got.ID
		}
		set := func(stmt string, args ...any) {
			t.Helper()
			n, err := q.base.exec(ctx, stmt, args...)
			must(t, err)
			if n != 1 {
				t.Fatalf("%s: %d rows", stmt, n)
			}
		}
		for name, attempt := range map[string]int{"dead": 1, "dead again": 1, "dead thrice": 3, "paid": 1} {
			set("UPDATE workflow_instances SET status = 'running', replica = 'gone', attempt = $2, lease_until = {now} - 1 WHERE id = $1", ids[name], attempt)
			set("DELETE FROM river_job WHERE id = (SELECT queued_as FROM firings WHERE id = $1)", ids[name])
		}
		set("INSERT INTO tier_events (chain, seq, ts, trace_id, session, turn, call_id, origin, principal, tool, via, tier, stages, ceiling,"+
			" verdict, code, rule, grant_id, confirm_id, call_hash, skills, bypassed_by, tier_override, prev, hash)"+
			" SELECT 'session:x', 1, 1, trace_id, 'x', '1', 'c', 'event', 'job:again', 'pay', '', 3, '[]', 3, 'allow', 'grant', '', 'g1', '', '', '[]', '', '', '', ''"+
			" FROM workflow_instances WHERE id = $1", ids["paid"])
		set("DELETE FROM river_job WHERE id = (SELECT queued_as FROM firings WHERE id = $1)", ids["dropped"])
		set("DELETE FROM river_job WHERE id = (SELECT queued_as FROM firings WHERE id = $1)", ids["poison"])
		set("UPDATE firings SET tries = 2 WHERE id = $1", ids["poison"])
		long := "datetime('now', '-2 minutes')"
		if !q.lite {
			long = "now() - interval '2 minutes'"
		}
		set("UPDATE river_job SET state = 'running', attempt = 1, attempted_at = "+long+" WHERE id = (SELECT queued_as FROM firings WHERE id = $1)", ids["taken"])
		must(t, q.Sweep(ctx), q.Sweep(ctx))
		for name, want := range map[string]Status{
			"dead": Interrupted, "dead again": Queued, "dead thrice": Interrupted, "paid": Interrupted, "taken": Queued, "dropped": Queued, "poison": Failed,
		} {
			rows, err := q.List(ctx, Filter{ID: ids[name]})
			must(t, err)
			if rows[0].Status != want {
				t.Errorf("%s is %s, want %s", name, rows[0].Status, want)
			}
		}
		work(t, q)
		await(t, "three done", func() bool { return q.count(t, Finished) == 3 })
		for _, name := range []string{"dead", "dead thrice", "paid", "poison"} {
			if r.turns[ids[name]] != 0 {
				t.Errorf("%s ran", name)
			}
		}
	})
}

// Stopping lets what runs end; what does not end in time is interrupted, by itself.
func TestADrainEndsTurnsInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db string) {
		ctx := t.Context()
		r := newRan()
		gate := make(chan struct{})
		prepare := r.prepare(func(ctx context.Context, _ Turn) Outcome {
			select {
			case <-ctx.Done():
				return Outcome{Session: "s", Stop: "cancelled", Err: ctx.Err()}
			case <-gate:
				return Outcome{Stop: "end"}
			}
		})
		for _, c := range []struct {
			name  string
			drain time.Duration
			want  Status
		}{{"slow", time.Millisecond, Interrupted}, {"quick", time.Hour, Finished}} {
			q := open(t, Options{DB: db, Drain: c.drain, Prepare: prepare})
			_, err := q.Add(ctx, eventJob(c.name))
			must(t, err)
			_, err = q.Insert(ctx, Firing{Job: c.name, Trigger: "event"})
			must(t, err)
			stop := work(t, q)
			<-r.seen
			if c.want == Finished {
				defer close(gate)
				go func() { gate <- struct{}{} }()
			}
			stop()
			rows, err := q.List(ctx, Filter{Job: c.name})
			must(t, err)
			if rows[0].Status != c.want || q.Working() {
				t.Errorf("%s is %s: %s; works still: %v", c.name, rows[0].Status, rows[0].Error, q.Working())
			}
		}
	})
}

// A process whose lease somebody swept ends its turn and writes nothing over it.
func TestALostLeaseEndsTheTurn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db string) {
		ctx := t.Context()
		r := newRan()
		q := open(t, Options{DB: db, Lease: 300 * time.Millisecond, Prepare: r.prepare(func(ctx context.Context, _ Turn) Outcome {
			<-ctx.Done()
			return Outcome{Stop: "cancelled", Err: ctx.Err()}
		})})
		_, err := q.Add(ctx, eventJob("drop"))
		must(t, err)
		_, err = q.Insert(ctx, Firing{Job: "drop", Trigger: "event"})
		must(t, err)
		stop := work(t, q)
		<-r.seen
		_, err = q.base.exec(ctx, "UPDATE workflow_instances SET status = 'interrupted', error = 'swept'")
		must(t, err)
		stop()
		rows, err := q.List(ctx, Filter{})
		must(t, err)
		if rows[0].Status != Interrupted || rows[0].Error != "swept" {
			t.Errorf("row: %+v", rows[0])
		}
	})
}

// However many processes plan, a time of a schedule runs once; of those that were missed
// the newest runs, or none.
func TestSchedulesArePlannedOnceByAll(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db string) {
		ctx := t.Context()
		var mu sync.Mutex
		now := time.Date(2026, 3, 1, 0, 0, 30, 0, time.UTC)
		clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
		var all []*Queue
		for range 3 {
			all = append(all, open(t, Options{DB: db, Now: clock}))
		}
		none := cronJob("none")
		none.CatchUp = "none"
		for _, j := range []Job{cronJob("one"), none} {
			_, err := all[0].Add(ctx, j)
			must(t, err)
		}
		plan := func(to time.Time) {
			t.Helper()
			mu.Lock()
			now = to
			mu.Unlock()
			var group sync.WaitGroup
			for _, q := range all {
				group.Go(func() {
					if _, err := q.Plan(ctx); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
		}
		want := func(job string, times ...string) {
			t.Helper()
			rows, err := all[0].List(ctx, Filter{Job: job})
			must(t, err)
			var got []string
			for i := range rows {
				got = append(got, rows[len(rows)-1-i].ScheduledAt.Format("15:04"))
			}
			if fmt.Sprint(got) != fmt.Sprint(times) {
				t.Errorf("%s ran for %v, want %v", job, got, times)
			}
		}
		plan(now)
		want("one")
		plan(now.Add(5 * time.Minute))
		want("one", "00:05")
		want("none", "00:05")
		plan(now.Add(3 * time.Hour)) // all were down
		plan(now)
		want("one", "00:05", "03:05")
		want("none", "00:05", "03:05") // half a minute late is not missed
		plan(now.Add(2 * time.Hour).Add(2 * time.Minute))
		want("one", "00:05", "03:05", "05:05")
		want("none", "00:05", "03:05")
		must(t, all[0].Pause(ctx, "one", true))
		plan(now.Add(time.Hour))
		must(t, all[0].Pause(ctx, "one", false))
		plan(now)
		want("one", "00:05", "03:05", "05:05")
	})
}
