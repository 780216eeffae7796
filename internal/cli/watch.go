package cli

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/deftskills/deft/internal/progress"
)

// patience is how long work may take before a person is shown how far it is.
const patience = 500 * time.Millisecond

// watch returns a context whose work is shown on the terminal when it takes long,
// and what ends that: it waits until the line is gone, and may be called twice.
func (r *run) watch(ctx context.Context, stage string) (context.Context, func()) {
	if !r.err.Policy().Terminal || r.globals.quiet {
		return ctx, func() {}
	}
	var c progress.Counter
	ctx = progress.With(ctx, &c)
	progress.Begin(ctx, stage, 0)
	stop, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		r.draw(&c, stop)
	}()
	return ctx, sync.OnceFunc(func() {
		close(stop)
		<-gone
	})
}

// draw shows the counter, ten times a second, until stop is closed.
func (r *run) draw(c *progress.Counter, stop <-chan struct{}) {
	start := time.Now()
	wait := time.NewTimer(patience)
	defer wait.Stop()
	shown := false
	for {
		select {
		case <-stop:
			if shown {
				r.err.Bytes([]byte("\r\x1b[K"))
			}
			return
		case <-wait.C:
		}
		stage, done, total := c.Now()
		r.err.Bytes([]byte("\r\x1b[K"))
		r.err.Printf("%s", r.words.Say("progress."+stage, bar(done, total), grouped(done), grouped(int(float64(done)/time.Since(start).Seconds()))))
		shown = true
		wait.Reset(100 * time.Millisecond)
	}
}

// bar draws done of total; without a total it is empty.
func bar(done, total int) string {
	const cells = 20
	if total <= 0 {
		return ""
	}
	full := min(cells, done*cells/total)
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", cells-full) + "] "
}
