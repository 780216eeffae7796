package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/deftskills/deft/agent/model"
)

// Retries of one step. The wait doubles from the base, with full jitter, so that many
// clients do not come back at once; what a server asks for is obeyed within reason.
const (
	maxRetries    = 4
	retryBase     = 500 * time.Millisecond
	retryCap      = 30 * time.Second
	retryAfterCap = 60 * time.Second
	idleTime      = 120 * time.Second // silence that counts as a cut stream
)

// step asks the model for one step and retries what may succeed later. No tool of a
// step has run before the step is whole, so asking again repeats nothing.
func (t *turn) step(ctx context.Context, req model.Request) (model.Step, error) {
	for attempt := 1; ; attempt++ {
		step, err := t.ask(ctx, t.model(), req)
		if err == nil {
			t.count(req, step)
			return step, nil
		}
		wait, again := t.backoff(attempt, err)
		if !again || ctx.Err() != nil {
			return model.Step{}, err
		}
		t.emit(Event{Type: Retried, Step: t.account.steps + 1, Retry: &Retry{
			Attempt: attempt + 1, Wait: wait, Code: codeOf(err), Message: err.Error(),
		}})
		if err := sleep(ctx, wait); err != nil {
			return model.Step{}, err
		}
	}
}

// backoff says how long to wait before the next attempt, if there is to be one.
func (t *turn) backoff(attempt int, err error) (time.Duration, bool) {
	var m *model.Error
	if attempt > maxRetries || !errors.As(err, &m) || !m.Retryable() || m.RetryAfter > retryAfterCap {
		return 0, false
	}
	if m.RetryAfter > 0 {
		return m.RetryAfter, true
	}
	ceiling := min(retryBase<<(attempt-1), retryCap)
	return time.Duration(t.r.d.Jitter() * float64(ceiling)), true
}

func sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// ask makes one request and reads the step, telling text as it comes.
func (t *turn) ask(ctx context.Context, m model.Model, req model.Request) (got model.Step, err error) {
	ctx, span := t.r.eyes.start(ctx, "deft.model", attribute.String("deft.model", m.Info().String()), attribute.Int("deft.step", t.account.steps+1))
	defer func() {
		code := ""
		if err != nil {
			code = cmp.Or(codeOf(err), "error")
		}
		span.end(code, attribute.String("deft.stop", string(got.Stop)),
			attribute.Int("deft.input_tokens", got.Usage.Input), attribute.Int("deft.output_tokens", got.Usage.Output))
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.emit(Event{Type: ModelStarted, Step: t.account.steps + 1, Model: m.Info().String(), Blocks: t.blocks})
	if t.gone {
		return model.Step{}, errGone
	}
	idle := time.AfterFunc(idleTime, func() { cancel(errIdle) })
	defer idle.Stop()
	var b model.Builder
	for d, err := range t.deltas(ctx, cancel, m, req) {
		// The clock stands while the consumer looks at what came.
		idle.Stop()
		if err == nil {
			err = b.Add(d)
		}
		if err != nil {
			return model.Step{}, idleError(ctx, err)
		}
		t.tell(d)
		if t.gone {
			return model.Step{}, errGone
		}
		idle.Reset(idleTime)
	}
	step, whole := b.Step()
	switch {
	case ctx.Err() != nil:
		return model.Step{}, idleError(ctx, ctx.Err())
	case !whole:
		return model.Step{}, &model.Error{Kind: model.KindCut, Message: "the stream ended before the answer did"}
	}
	return step, nil
}

// deltas are the pieces of a step as they come. While sub-agents run, the model answers
// beside the loop, which tells between two pieces what they do and puts their questions.
func (t *turn) deltas(ctx context.Context, cancel context.CancelCauseFunc, m model.Model, req model.Request) iter.Seq2[model.Delta, error] {
	if !t.accompanied() {
		return m.Stream(ctx, req)
	}
	type piece struct {
		delta model.Delta
		err   error
	}
	return func(yield func(model.Delta, error) bool) {
		pieces, left, end := make(chan piece), make(chan struct{}), make(chan any, 1)
		go func() {
			defer func() { end <- recover() }()
			for d, err := range m.Stream(ctx, req) {
				select {
				case pieces <- piece{d, err}:
				case <-left:
					return
				}
			}
		}()
		whole := false
		defer func() {
			if !whole {
				close(left)
				cancel(nil)
				<-end
			}
		}()
		for {
			select {
			case <-t.inbox.bell:
				if t.inbox.serve(); t.gone {
					return
				}
			case p := <-pieces:
				if !yield(p.delta, p.err) {
					return
				}
			case broken := <-end:
				if whole = true; broken != nil {
					panic(broken) // it is the turn's, not a goroutine's
				}
				return
			}
		}
	}
}

func (t *turn) tell(d model.Delta) {
	if t.quiet {
		return
	}
	if d.Text != "" {
		t.emit(Event{Type: TextDelta, Text: d.Text})
	}
	if d.Reasoning != "" {
		t.emit(Event{Type: ReasoningDelta, Text: d.Reasoning})
	}
}

// idleError turns the cancellation by our own clock into the cut stream that it is.
func idleError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errIdle) {
		return &model.Error{Kind: model.KindCut, Message: fmt.Sprintf("the model was silent for %s", idleTime), Err: errIdle}
	}
	return err
}
