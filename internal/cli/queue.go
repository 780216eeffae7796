package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/jobs"
)

// queueLock is held by the one process that works on the queue of a SQLite file.
func (r *run) queueLock() string { return filepath.Join(r.dirs.Run, "jobs.lock") }

// openQueue opens the queue of jobs for a verb. A verb that changes it makes its tables
// where there are none. A nil Queue without an error: nobody has made any yet.
func (r *run) openQueue(ctx context.Context, o jobs.Options) (*jobs.Queue, error) {
	o.DB, o.Lock, o.Now = r.database(), r.queueLock(), r.proc.Now
	if r.verb.effects.writes && !r.writing.dryRun {
		st, err := r.openStore(ctx)
		if err != nil {
			return nil, err
		}
		if err := st.Ready(ctx); err != nil {
			return nil, err
		}
	} else if path, ok := strings.CutPrefix(o.DB, "sqlite:"); ok && !exists(path) {
		return nil, nil
	}
	q, err := jobs.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if r.verb.effects.writes && !r.writing.dryRun {
		if err := q.Migrate(ctx); err != nil {
			q.Close()
			return nil, err
		}
	}
	return q, nil
}

// withQueue opens the queue for one piece of work.
func (r *run) withQueue(ctx context.Context, f func(q *jobs.Queue) error) error {
	q, err := r.openQueue(ctx, jobs.Options{})
	if err != nil {
		return err
	}
	if q != nil {
		defer q.Close()
	}
	return f(q)
}

// queueFailure ends a verb whose job or firing is not as it must be.
func queueFailure(err error) *failure {
	for _, known := range []struct {
		err  error
		exit Exit
		code string
	}{
		{jobs.ErrInvalid, Usage, "job_invalid"},
		{jobs.ErrNotFound, Negative, "job_unknown"},
		{jobs.ErrExists, Usage, "job_exists"},
		{jobs.ErrPaused, Refused, "job_paused"},
		{jobs.ErrState, Refused, "firing_state"},
	} {
		if errors.Is(err, known.err) && !errors.Is(err, store.ErrNotFound) {
			return fail(known.exit, known.code, "%v", err)
		}
	}
	return nil
}
