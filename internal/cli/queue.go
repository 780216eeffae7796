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
		if err := r.schemaThere(ctx, st); err != nil {
			return nil, err
		}
	} else if path, ok := strings.CutPrefix(o.DB, "sqlite:"); ok && !exists(path) {
		return nil, nil
	}
	q, err := jobs.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if r.verb.effects.writes && !r.writing.dryRun && !r.replica() {
		err = q.Migrate(ctx)
	} else if err = q.Ping(ctx); err != nil {
		err = r.schemaMissing(ctx, err)
	}
	if err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

// schemaThere brings the state to this release's schema, or wants it to be there.
func (r *run) schemaThere(ctx context.Context, st *store.Store) error {
	if !r.replica() {
		_, err := st.Migrate(ctx)
		return err
	}
	s, err := st.Schema(ctx)
	if err == nil && s.Current < s.Wanted {
		err = fail(Refused, "serve_schema", "database %s is at schema %d, this release needs %d", r.storeName(), s.Current, s.Wanted).hinted("hint.serve_schema")
	}
	return err
}

// replica reports whether this is one of several processes on a server's database, which
// never change its schema: others may still run with the one that is there.
func (r *run) replica() bool {
	return r.verb.name == "serve" && !strings.HasPrefix(r.database(), "sqlite:")
}

// schemaMissing says of a database that answers that it lacks tables.
func (r *run) schemaMissing(ctx context.Context, cause error) error {
	st, err := r.openStore(ctx)
	if err == nil {
		_, err = st.Load(ctx)
	}
	if err != nil {
		return err // it does not answer, or is damaged
	}
	return fail(Refused, "serve_schema", "database %s has no tables of the queue: %v", r.storeName(), cause).hinted("hint.serve_schema")
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
