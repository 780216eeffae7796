package session

import (
	"context"
	"errors"
	"strings"
)

// attempt does one attempt to start skills so that it leaves a record however it ends: one
// that an error, the end of the context or a panic cuts short writes its own. A panic goes
// on to whoever called, with nothing registered that is not in force.
func (t *Turn) attempt(ctx context.Context, r Request, do func() (Result, error)) (res Result, err error) {
	t.recorded = false
	whole := false
	defer func() {
		if !whole {
			t.s.withdraw()
		}
		if t.recorded || whole && err == nil {
			return
		}
		action := "activate"
		if r.Replace {
			action = "replace"
		}
		now := t.s.Layers()
		// The context may have ended, and the row is to be written all the same; that it
		// cannot be written changes nothing about an attempt that failed.
		_ = t.record(context.WithoutCancel(ctx), action, r, strings.Join(r.Names, " "), nil, faultCode(err), now, now)
	}()
	res, err = do()
	whole = true
	return res, err
}

// faultCode names in a record why an attempt was cut short; nil = a panic.
func faultCode(err error) string {
	var e *Error
	switch {
	case err == nil:
		return "panic"
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "internal"
}
