// Package progress counts what long work has done, for a person who waits.
//
// What belongs here: a counter that travels in a context. What may not come in:
// anything that is shown; the command line draws it. Work that is not watched pays
// for one look into its context.
package progress

import (
	"context"
	"sync/atomic"
)

// Counter holds how far the work is. The zero value is ready; it is safe for
// concurrent use.
type Counter struct {
	done, total atomic.Int64
	stage       atomic.Pointer[string]
}

type key struct{}

// With returns a context whose work counts into c.
func With(ctx context.Context, c *Counter) context.Context { return context.WithValue(ctx, key{}, c) }

// Begin starts a stage of total parts, 0 where nobody knows; the count starts anew.
// Without a Counter in ctx it does nothing.
func Begin(ctx context.Context, stage string, total int) {
	if c, ok := ctx.Value(key{}).(*Counter); ok {
		c.stage.Store(&stage)
		c.total.Store(int64(total))
		c.done.Store(0)
	}
}

// Add counts n more parts as done. Without a Counter in ctx it does nothing.
func Add(ctx context.Context, n int) {
	if c, ok := ctx.Value(key{}).(*Counter); ok {
		c.done.Add(int64(n))
	}
}

// Now returns the stage, the parts done, and their total, 0 where nobody knows.
func (c *Counter) Now() (stage string, done, total int) {
	if s := c.stage.Load(); s != nil {
		stage = *s
	}
	return stage, int(c.done.Load()), int(c.total.Load())
}
