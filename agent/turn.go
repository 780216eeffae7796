package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// turn is one run of the loop. It lives on one goroutine, the consumer's; only the
// handlers of tools run beside it.
type turn struct {
	r       *Runner
	s       *session.Session
	in      Input
	parent  context.Context
	yield   func(Event, error) bool
	started time.Time

	span  span                    // of the turn
	over  bool                    // the span has ended
	tools map[string]toolset.Tool // registered in this turn
	specs []toolset.Spec

	ctx      context.Context
	cancel   context.CancelCauseFunc
	trace    string
	turn     *session.Turn
	seq      int
	gone     bool // the consumer stopped reading
	yielding bool // the consumer's code is running

	plan      Plan
	notes     []string        // for the model, about what could not be started
	reminder  string          // before the request, of a skill that the person named
	blocks    []Block         // of the last request
	messages  []model.Message // of this turn, after the request
	account   account
	repeats   repeats
	wrote     []string // files that tools wrote, for the dialects that hear
	plans     bool     // it ends before the first request
	own       bool     // the loop is the host's
	quiet     bool     // the step is no answer: its text is not told
	inbox     *inbox
	subs      []*sub
	due       []due // forked skills that the input asks for
	family    *family
	opens     bool            // the session begins with it
	heard     map[string]bool // hooks that have run before the request was routed
	added     []string        // to the request, by hooks
	more      int             // steps that hooks added at the end
	answer    string
	scenarios []route.Scenario
	boundary  string // of the signal's payload in the prompt
	rec       recording
	uses      uses
}

// run is the frame of a turn: whatever happens inside, the turn layer goes, open
// questions go, and one turn_finished is told.
func (t *turn) run() {
	defer t.release()
	stop, err := t.guarded()
	t.release()
	t.finish(stop, err)
	t.tally()
}

// guarded runs the turn and turns a panic of ours into an error. A panic of the
// consumer's loop body passes: it is not ours to hide.
func (t *turn) guarded() (stop Stop, err error) {
	defer func() {
		if t.yielding {
			return
		}
		if p := recover(); p != nil {
			t.log(slog.LevelError, "panic in a turn", "agent/loop", "panic", "panic", p, "stack", string(debug.Stack()))
			stop, err = StopError, fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	if err := t.begin(); err != nil {
		return StopRefused, err
	}
	if t.r.d.Model == nil {
		return StopOffline, ErrNoModel
	}
	if t.in.shorten {
		return t.shorten()
	}
	if err := t.prepare(); err != nil {
		return t.stopFor(err)
	}
	if err := t.carryOutDue(); err != nil {
		return t.stopFor(err)
	}
	return t.loop()
}

func (t *turn) begin() error {
	var err error
	if t.in, err = t.in.settled(); err != nil {
		return err
	}
	if err := t.drawBoundary(); err != nil {
		return err
	}
	if t.trace = t.in.TraceID; t.trace == "" {
		trace, err := newTrace(t.r.d.Rand)
		if err != nil {
			return err
		}
		t.trace = trace
	}
	if err := t.provide(); err != nil {
		return err
	}
	said := t.in.Text
	if t.in.task || t.in.shorten {
		said = ""
	}
	turn, err := t.s.Begin(t.parent, session.TurnInput{Text: said, Door: textDoor{t}, Trace: t.trace})
	if err != nil {
		return err
	}
	t.turn = turn
	t.r.runs(t.s.ID(), t.in, t.trace)
	t.account.limit = t.in.Budget.withDefaults(t.in.Origin)
	t.account.pool = &pool{up: t.in.pool, limit: t.account.limit}
	limited, stop := context.WithTimeoutCause(t.parent, t.account.limit.Time, errTime)
	ctx, cancel := context.WithCancelCause(limited)
	t.ctx, t.cancel = ctx, func(cause error) {
		cancel(cause)
		stop()
	}
	t.watch()
	t.log(slog.LevelInfo, "a turn began", "agent/loop", "turn_started", "origin", string(t.in.Origin))
	if s := t.in.Signal; s != nil {
		t.log(slog.LevelInfo, "a signal started a turn", "signals", "signal", "source", string(s.Source), "signal_id", s.ID)
	}
	t.writeTurn()
	t.emit(Event{Type: TurnStarted, Text: t.in.Text, Signal: t.signalEvent(), Placement: t.r.d.Placement})
	return nil
}

// release ends what the turn holds. It is idempotent.
func (t *turn) release() {
	if t.turn == nil {
		return
	}
	t.cancel(nil)
	t.dismiss()
	t.r.d.Gate.Drop(t.s.ID())
	t.turn.End()
	if t.own || t.plans {
		t.watched(StopEnd, "")
	}
}

// number is the turn's, 0 where there is none.
func (t *turn) number() int {
	if t.turn == nil {
		return 0
	}
	return t.turn.Number()
}

// emit tells one event. After the consumer has gone, nothing is told, and the
// context is cancelled.
func (t *turn) emit(e Event) {
	if t.gone || t.yielding {
		return
	}
	t.send(e, nil)
	if t.gone {
		t.cancel(errGone)
	}
}

func (t *turn) send(e Event, err error) {
	t.seq++
	e.Trace, e.Session, e.Seq, e.Time, e.Turn = t.trace, t.s.ID(), t.seq, t.r.d.Now(), t.number()
	t.yielding = true
	t.gone = !t.yield(e, err)
	t.yielding = false
}

// stopFor says what kind of end an error is. A turn that was cancelled ends so
// whatever error came of it.
func (t *turn) stopFor(err error) (Stop, error) {
	var m *model.Error
	var h *HookError
	switch {
	case errors.Is(context.Cause(t.ctx), errTime):
		return StopTime, nil
	case t.ctx.Err() != nil:
		return StopCancelled, nil
	case errors.As(err, &m):
		return StopModel, err
	case errors.As(err, &h):
		return StopRefused, err
	}
	return StopError, err
}

func (t *turn) finish(stop Stop, err error) {
	end := &End{}
	if t.account.pool != nil { // nil = the turn could not start
		*end = t.account.pool.total()
	}
	end.Stop, end.Answer, end.Elapsed = stop, t.answer, t.r.d.Now().Sub(t.started)
	if err != nil {
		end.Code = codeOf(err)
	}
	t.watched(stop, end.Code)
	t.log(slog.LevelInfo, "a turn ended", "agent/loop", "turn_finished", "stop", string(stop), "code", end.Code, "elapsed_ms", end.Elapsed.Milliseconds())
	t.writeEnd(end)
	t.recordEnd(end)
	if err == nil && t.turn != nil {
		err = cmp.Or(t.r.kept.err, t.rec.err)
	}
	if t.gone {
		return
	}
	if err != nil {
		end.Code, end.Message = codeOf(err), err.Error()
	}
	t.send(Event{Type: TurnFinished, End: end}, err)
}
