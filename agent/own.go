package agent

import (
	"context"
	"slices"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// Turn is a turn whose loop belongs to the host: it asks a model itself and hands the
// tool calls back here, where they pass the same gate as in Run. It is used by one
// goroutine, and ended by End.
type Turn struct {
	t      *turn
	Events []Event // what has happened so far, in order
}

// Begin starts a turn up to the first request to a model: skills that the input names
// are started, the rest is routed, the catalog is rendered. The session is busy until
// End. Budgets of steps and tokens are the host's to keep; those of calls and time hold.
func (r *Runner) Begin(ctx context.Context, s *session.Session, in Input) (*Turn, error) {
	own := &Turn{}
	own.t = r.turn(ctx, s, in, func(e Event, _ error) bool {
		own.Events = append(own.Events, e)
		return true
	})
	own.t.own = true
	if err := own.t.begin(); err != nil {
		return nil, err
	}
	err := own.t.prepare()
	if err == nil {
		err = own.t.carryOutDue()
	}
	if err != nil {
		own.t.release()
		return nil, err
	}
	return own, nil
}

// Plan returns the router's order and the catalog of this turn.
func (o *Turn) Plan() Plan { return o.t.plan }

// Blocks returns the prompt as it stands now: the stable blocks make the system text,
// the others belong before the request in the last user message.
func (o *Turn) Blocks() []Block { return o.t.prompt() }

// Prompt returns the blocks as two texts: the system text and the last user message.
func (o *Turn) Prompt() (system, user string) {
	blocks := o.t.prompt()
	stable := slices.DeleteFunc(slices.Clone(blocks), func(b Block) bool { return !b.Stable })
	for i := range stable {
		stable[i].Stable = false
	}
	return tail(stable, ""), tail(blocks, o.t.words())
}

// Session returns the session of the turn.
func (o *Turn) Session() *session.Session { return o.t.s }

// Tools returns the tools that the model may be shown now; ask again after each step.
func (o *Turn) Tools() []toolset.Spec { return o.t.exposed() }

// Withheld says why the model is not shown a tool now: one of the Withheld constants, or
// of the session's; "" = it is shown, or there is no such tool.
func (o *Turn) Withheld(tool string) string {
	for _, s := range o.t.specs {
		if s.Name == tool {
			return o.t.withheld(o.t.s.Effective(), s)
		}
	}
	return ""
}

// Call takes the tool calls of one step through gate and handlers and returns their
// results in the same order. A refusal is a result with IsError, never a Go error.
func (o *Turn) Call(calls ...model.Call) []model.Result {
	o.t.account.spend(End{Steps: 1})
	results, _ := o.t.calls(calls)
	return results
}

// End ends the turn and what is active for it alone. It is idempotent.
func (o *Turn) End() {
	o.t.release()
	o.t.recordEnd(&End{Stop: StopEnd})
	o.t.tally()
}

// Kept says why the record of the turn is not whole; nil = it is so far.
func (o *Turn) Kept() error { return o.t.rec.err }
