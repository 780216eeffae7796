package jobs

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/pgtest"
)

func eachBench(b *testing.B, f func(b *testing.B, db string)) {
	b.Run("sqlite", func(b *testing.B) {
		db := "sqlite:" + b.TempDir() + "/deft.db"
		must(b, ready(db))
		f(b, db)
	})
	b.Run("postgres", func(b *testing.B) { f(b, pgtest.From(b, "jobs", ready)) })
}

// A firing is queued, with everything that is written of it, and is on the disk.
func BenchmarkInsert(b *testing.B) {
	eachBench(b, func(b *testing.B, db string) {
		q := open(b, Options{DB: db})
		_, err := q.Add(context.Background(), eventJob("ev"))
		must(b, err)
		n := 0
		for b.Loop() {
			n++
			_, err := q.Insert(context.Background(), Firing{Job: "ev", Trigger: "event", SignalID: strconv.Itoa(n)})
			must(b, err)
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "firings/s")
	})
}

// From the call that queues a firing to the first line of its turn, in another process's
// place: median and the slowest of a hundred.
func BenchmarkFiring(b *testing.B) {
	eachBench(b, func(b *testing.B, db string) {
		ctx, cancel := context.WithCancel(context.Background())
		begun := make(chan time.Time, 1)
		q := open(b, Options{DB: db, Prepare: func(context.Context, Turn) (Prepared, error) {
			return Prepared{Run: func(context.Context) Outcome { begun <- time.Now(); return Outcome{} }}, nil
		}})
		in := open(b, Options{DB: db})
		_, err := in.Add(ctx, eventJob("ev"))
		must(b, err)
		done := make(chan error, 1)
		go func() { done <- q.Work(ctx) }()
		var waits []time.Duration
		for b.Loop() {
			from := time.Now()
			_, err := in.Insert(ctx, Firing{Job: "ev", Trigger: "event"})
			must(b, err)
			waits = append(waits, (<-begun).Sub(from))
		}
		cancel()
		must(b, <-done)
		slices.Sort(waits)
		b.ReportMetric(float64(waits[len(waits)/2].Microseconds())/1000, "median-ms")
		b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
	})
}
