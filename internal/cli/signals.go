package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/store/jobs"
)

// signalListVerb and signalRetryVerb stand below signal.
func signalListVerb() verb {
	var f jobs.Filter
	var status string
	return verb{
		name: "list", effects: effects{reads: true}, short: "firings of jobs, the newest first, and how they ended",
		flags: func(flags *pflag.FlagSet) {
			flags.StringVar(&f.Job, "job", "", "of one job, by `ID`")
			flags.StringVar(&status, "status", "", "`queued|running|done|failed|cancelled|interrupted`")
			flags.IntVar(&f.Limit, "limit", 100, "at most `N`")
		},
		run: func(ctx context.Context, r *run, _ []string) error {
			f.Status = jobs.Status(status)
			return r.signalList(ctx, f)
		},
	}
}

func signalRetryVerb() verb {
	var done bool
	return verb{
		name: "retry", args: "ID", min: 1, max: 1, effects: effects{reads: true, writes: true},
		short: "queue a firing again that failed or was interrupted, under its trace",
		flags: func(f *pflag.FlagSet) { f.BoolVar(&done, "done", false, "also one that is done") },
		run:   func(ctx context.Context, r *run, args []string) error { return r.signalRetry(ctx, args[0], done) },
	}
}

// firingsJSON is the document of signal list and signal retry.
type firingsJSON struct {
	Firings []jobs.Row `json:"firings"`
	Written bool       `json:"written"`
}

func (r *run) signalList(ctx context.Context, f jobs.Filter) error {
	if s := f.Status; s != "" && !known([]jobs.Status{jobs.Queued, jobs.Running, jobs.Finished, jobs.Failed, jobs.Cancelled, jobs.Interrupted}, s) {
		return usage("status %q is not known", string(s)).hinted("hint.one_of", "queued, running, done, failed, cancelled, interrupted")
	}
	doc := firingsJSON{Firings: []jobs.Row{}}
	err := r.withQueue(ctx, func(q *jobs.Queue) (err error) {
		if q != nil {
			doc.Firings, err = q.List(ctx, f)
		}
		return err
	})
	if err != nil {
		return err
	}
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	for _, x := range doc.Firings {
		r.out.Printf("%s  %-11s %-16s %-8s %s  %s\n", x.QueuedAt.Format(time.RFC3339), string(x.Status), x.Job, x.Trigger, x.TraceID, x.ID)
		if x.Error != "" {
			r.out.Printf("    %s\n", x.Error)
		}
	}
	if len(doc.Firings) == 0 {
		r.hintf("%s", r.words.Say("signal.none"))
	}
	return nil
}

func (r *run) signalRetry(ctx context.Context, id string, done bool) error {
	doc := firingsJSON{Firings: []jobs.Row{}}
	err := r.withQueue(ctx, func(q *jobs.Queue) error {
		if q == nil {
			return fmt.Errorf("firing %q: %w", id, jobs.ErrNotFound)
		}
		if !r.writing.dryRun {
			if _, err := q.Retry(ctx, id, done); err != nil {
				return err
			}
			doc.Written = true
		}
		rows, err := q.List(ctx, jobs.Filter{ID: id})
		if err == nil && len(rows) == 0 {
			err = fmt.Errorf("firing %q: %w", id, jobs.ErrNotFound)
		}
		doc.Firings = append(doc.Firings, rows...)
		return err
	})
	if err != nil {
		return err
	}
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	key := "signal.retried"
	if r.writing.dryRun {
		key = "signal.retried_dry"
	}
	r.out.Printf("%s\n", r.words.Say(key, id, doc.Firings[0].TraceID))
	return nil
}
