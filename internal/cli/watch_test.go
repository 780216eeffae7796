package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deftskills/deft/internal/cli/text"
	"github.com/deftskills/deft/internal/progress"
	"github.com/deftskills/deft/internal/safetext"
)

// watched runs work under a watch and returns what a terminal would show.
func watched(terminal bool, work func(ctx context.Context)) string {
	var out bytes.Buffer
	r := &run{app: &app{err: safetext.NewPrinter(&out, safetext.Policy{Terminal: terminal}), words: text.Load("en")}}
	ctx, done := r.watch(context.Background(), "skills")
	work(ctx)
	done()
	done()
	return out.String()
}

func TestLongWorkShowsCountAndRateOnATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		work := func(wait time.Duration) func(context.Context) {
			return func(ctx context.Context) {
				progress.Begin(ctx, "index", 4000)
				progress.Add(ctx, 2000)
				time.Sleep(wait) // the bubble's clock: no real time passes
			}
		}
		long := watched(true, work(time.Second))
		if !strings.Contains(long, "[==========          ] indexing: 2,000, 4,000/s") || !strings.HasSuffix(long, "\r\x1b[K") {
			t.Errorf("long work shows %q", long)
		}
		if short := watched(true, work(100*time.Millisecond)); short != "" {
			t.Errorf("short work shows %q", short)
		}
		if file := watched(false, work(time.Second)); file != "" {
			t.Errorf("a file gets %q", file)
		}
	})
}
