package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// grace is how long a cancelled tool may take to return before it is left behind: a shell
// command gets two seconds to end by itself and is waited for after it was killed.
const grace = 5 * time.Second

// Normalizer is a Tool that takes other spellings of its arguments. What it returns
// is what the gate checks and what runs.
type Normalizer interface {
	Normalize(args json.RawMessage) json.RawMessage
}

// calls takes the calls of one step through gate and handler. The results keep the
// order of the calls. looping reports that the model goes round in circles.
func (t *turn) calls(list []model.Call) (results []model.Result, looping bool) {
	all := make([]*pending, len(list))
	for i, c := range list {
		p := t.received(c, i)
		t.emit(Event{Type: ToolRequested, Call: p.event()})
		switch {
		case p.settled:
		case t.account.left() <= 0:
			p.settle("budget", "Not run: the tool calls of this turn are used up.", "")
		default:
			t.account.spend(End{Calls: 1})
		}
		all[i] = p
	}
	alone, groups := order(all)
	for _, g := range alone {
		t.group(g)
	}
	t.holdBack(alone, groups)
	for _, g := range groups {
		t.group(g)
	}
	for _, p := range all {
		results = append(results, model.Result{CallID: p.call.ID, Text: p.text(), IsError: p.result.IsError})
		switch n := t.repeats.add(p.call.Name, p.call.Input, p.result.Text); {
		case n >= repeatStop:
			looping = true
		case n == repeatNote:
			results[len(results)-1].Text += fmt.Sprintf("\n\n[Note: this is call %d of %s with the same arguments and the same result. Do something else.]", n, p.call.Name)
			t.writeResult(results[len(results)-1])
		}
	}
	return results, looping
}

// group decides about each call of a group in order, then runs the allowed ones.
func (t *turn) group(g []*pending) {
	before := t.s.Active()
	var run []*pending
	for _, p := range g {
		if !p.settled && t.ctx.Err() != nil {
			p.settle("cancelled", "Not run: the turn was cancelled.", "")
		}
		if !p.settled {
			p.ctx, p.span = t.r.eyes.start(t.ctx, "deft.tool", attribute.String("deft.tool", p.call.Name), attribute.String("deft.call", p.call.ID))
			t.admit(p)
		}
		if !p.settled {
			run = append(run, p)
		}
	}
	elapsed := t.handle(run)
	for _, p := range g {
		t.patch(p)
		p.result.Text = t.r.d.Redact(p.result.Text)
		if !p.settled {
			p.result.Text = t.fit(p.spec.Name, p.result.Text)
			if p.result.Meta.Confirmed {
				t.log(slog.LevelWarn, "a model claims consent", "agent/loop", "claimed", "tool", p.spec.Name)
			}
			t.after(p)
		}
		e := p.event()
		e.Code, e.Output, e.IsError, e.Elapsed = p.result.Code, p.text(), p.result.IsError, elapsed[p.index]
		t.seen(p, elapsed)
		t.writeResult(model.Result{CallID: p.call.ID, Text: e.Output, IsError: e.IsError})
		t.recordCall(p, e.Output, e.Elapsed)
		t.usedCall(before, p, e.Output, e.Elapsed)
		t.emit(Event{Type: ToolFinished, Call: e})
	}
	t.flush()
	t.tellChanges(before, t.s.Active())
}

// patch applies what a call changes of the session, if it succeeded. Where the session
// cannot take the change, the call has failed.
func (t *turn) patch(p *pending) {
	if p.settled || p.result.IsError {
		return
	}
	t.wrote = append(t.wrote, p.result.Meta.Wrote...)
	if p.result.Patch == nil {
		return
	}
	change := *p.result.Patch
	change.Owner = session.Owner{Kind: session.OwnerTool, ID: p.call.Name}
	by := session.Provenance{Actor: session.ActorModel, Tool: p.call.Name, CallID: p.call.ID}
	if _, err := t.turn.Apply(change, by); err != nil {
		code := cmp.Or(codeOf(err), "internal")
		p.result = toolset.Result{Text: errorText(code, err.Error(), ""), Code: code, IsError: true}
	}
}

// tellChanges tells which skills a group of calls started and ended.
func (t *turn) tellChanges(before, after []session.Activation) {
	key := func(a session.Activation) string { return fmt.Sprint(a.Address, "|", a.Scope, "|", a.At, "|", a.Turn) }
	had, has := map[string]bool{}, map[string]bool{}
	for _, a := range before {
		had[key(a)] = true
	}
	for _, a := range after {
		has[key(a)] = true
		if !had[key(a)] {
			e := skillEvent(a, string(a.Actor))
			t.loaded(a, e)
		}
	}
	for _, a := range before {
		if !has[key(a)] {
			e := skillEvent(a, string(a.Actor))
			t.emit(Event{Type: SkillCleared, Skill: &e})
		}
	}
}

func (t *turn) gateCall(id, name string, args json.RawMessage) gate.Call {
	var visible []string
	for _, s := range t.specs {
		if t.visible(s.Name) {
			visible = append(visible, s.Name)
		}
	}
	if visible == nil {
		visible = []string{} // none at all, not all of them
	}
	return gate.Call{
		ID: id, Session: t.s.ID(), Turn: strconv.Itoa(t.number()), Trace: t.trace, Tool: name, Args: args,
		Visible: visible, Origin: t.in.Origin, Principal: t.in.Principal, Stages: t.stages(),
		Ceiling: t.in.Ceiling, Skills: t.s.ActiveSkills(), Placement: t.r.d.Placement, Dir: t.r.d.Dir,
		Env: slices.Collect(maps.Keys(t.s.Effective().Env)),
	}
}

// admit puts the call to the hooks, to the gate, and to a person if the gate asks.
func (t *turn) admit(p *pending) {
	if t.displaced(p) || t.unready(p) {
		return
	}
	word := t.before(p)
	if p.settled {
		return
	}
	call := t.callOf(p, word)
	d := t.check(p.ctx, call)
	p.args, p.judged = d.Args, d
	t.emit(Event{Type: GateDecided, Call: p.decided(d)})
	if d.Verdict == gate.Ask {
		call.Args = d.Args
		if d = t.permission(p, call, d); d.Verdict == gate.Ask {
			d = t.confirm(p, call, d)
		}
	}
	p.judged.Verdict, p.judged.Code = d.Verdict, d.Code
	if d.Verdict != gate.Allow {
		p.settle(d.Code, d.Reason, hints[d.Code])
	}
}

// callOf is the call of p with what hooks said of it.
func (t *turn) callOf(p *pending, word gate.HookWord) gate.Call {
	call := t.gateCall(p.call.ID, p.call.Name, p.call.Input)
	call.Via, call.Hook = p.via, word
	return call
}

// check puts a call to the gate; ctx has the span that it belongs to.
func (t *turn) check(ctx context.Context, call gate.Call) gate.Decision {
	ctx, span := t.r.eyes.start(ctx, "deft.gate", attribute.String("deft.tool", call.Tool))
	d, err := t.r.d.Gate.Check(ctx, call)
	if err != nil {
		t.log(slog.LevelError, "a call could not be judged", "gate", "unavailable", "err", err)
	}
	t.decided(ctx, span, call.Tool, d)
	return d
}

// decided notes a decision of the gate for whoever looks.
func (t *turn) decided(ctx context.Context, s span, tool string, d gate.Decision) {
	t.r.eyes.decided(ctx, d)
	s.end("", attribute.String("deft.verdict", string(d.Verdict)), attribute.String("deft.code", d.Code), attribute.String("deft.tier", d.Tier.String()))
	level := slog.LevelDebug
	if d.Verdict == gate.Deny {
		level = slog.LevelInfo
	}
	t.log(level, "a call was judged", "gate", "decision", "tool", tool, "verdict", string(d.Verdict), "code", d.Code, "tier", d.Tier.String())
}

// seen ends the span of a call.
func (t *turn) seen(p *pending, elapsed map[int]time.Duration) {
	e := t.r.eyes
	if took, ran := elapsed[p.index]; ran && p.tool != nil {
		e.ran(t.ctx, p.spec.Name, took)
	}
	e.text(p.span, "deft.arguments", string(p.args))
	e.text(p.span, "deft.result", p.result.Text)
	p.span.end(outcomeOf(p))
}

// confirm asks a person and takes the answer to the gate, whose word it is.
func (t *turn) confirm(p *pending, call gate.Call, d gate.Decision) gate.Decision {
	refuse := func(code, reason string) gate.Decision {
		t.r.d.Gate.Drop(t.s.ID())
		return gate.Decision{Verdict: gate.Deny, Code: code, Reason: reason, Tier: d.Tier}
	}
	if t.r.d.Confirmer == nil {
		return refuse(gate.CodeNoAnswerer, "nobody can be asked here")
	}
	t.emit(Event{Type: ConfirmNeeded, Call: p.decided(d)})
	if t.ctx.Err() != nil {
		return refuse("cancelled", "the turn was cancelled")
	}
	q := Question{Call: call, Decision: d, Tool: p.spec, Active: t.behalf(), For: p.of, Diff: t.difference(p, call)}
	answer, err := t.r.d.Confirmer.Confirm(t.ctx, q)
	var got gate.Decision
	switch {
	case t.ctx.Err() != nil:
		got = refuse("cancelled", "the turn was cancelled")
	case err != nil:
		got = refuse(gate.CodeNoAnswerer, "no answer could be had: "+err.Error())
	default:
		answer.ConfirmID, answer.Nonce, answer.Session = d.ConfirmID, d.Nonce, t.s.ID()
		if got, err = t.r.d.Gate.Answer(t.ctx, answer); err != nil {
			t.log(slog.LevelError, "a call could not be judged", "gate", "unavailable", "err", err)
		}
		if got.Verdict == gate.Allow && got.CallHash != d.CallHash {
			got = refuse(gate.CodeBadAnswer, "the answer is to another call")
		}
	}
	t.r.eyes.decided(t.ctx, got)
	t.emit(Event{Type: ConfirmAnswered, Call: p.decided(got)})
	return got
}

// outcome is what a handler came to.
type outcome struct {
	at      int
	result  toolset.Result
	elapsed time.Duration
}

// handle runs the handlers of calls, side by side if there are several, and waits for
// them. One that does not return after a cancel is left behind: its result is
// dropped, and it holds nothing that the turn needs.
func (t *turn) handle(calls []*pending) map[int]time.Duration {
	elapsed := map[int]time.Duration{}
	if len(calls) == 0 {
		return elapsed
	}
	done := make(chan outcome, len(calls))
	shown := t.shown()
	for i, p := range calls {
		t.emit(Event{Type: ToolStarted, Call: p.event()})
		c := toolset.Call{
			ID: p.call.ID, Input: p.args, Turn: t.turn, Snapshot: t.turn.Snapshot(),
			Step: toolset.Step{Model: t.account.steps, Index: p.index}, Shown: shown, Registered: t.registered(),
		}
		if t.carries() {
			c.Fork = t.carryOut
		}
		run, ctx := t.handler(p), p.ctx
		p.started = t.r.d.Now()
		go func() {
			from := t.r.d.Now()
			res := t.r.invoke(ctx, run, c)
			done <- outcome{i, res, t.r.d.Now().Sub(from)}
		}()
	}
	cancelled := t.ctx.Done()
	var late <-chan time.Time
	waiting := len(calls)
	for waiting > 0 {
		select {
		case o := <-done:
			waiting--
			calls[o.at].result, elapsed[calls[o.at].index] = o.result, o.elapsed
			calls[o.at].settled = o.result.Code == codeCancelled
		case <-t.inbox.bell:
			t.inbox.serve()
		case <-cancelled:
			cancelled = nil
			timer := time.NewTimer(grace)
			defer timer.Stop()
			late = timer.C
		case <-late:
			waiting = 0
		}
	}
	t.inbox.serve()
	for _, p := range calls {
		if _, came := elapsed[p.index]; !came {
			p.lost = true
			p.settle(codeCancelled, "The turn was cancelled while this ran; what it did is not known.", "")
		}
	}
	return elapsed
}

const codeCancelled = "cancelled"

// invoke calls one handler. It never panics and always has a result.
func (r *Runner) invoke(ctx context.Context, run func(context.Context, toolset.Call) (toolset.Result, error), c toolset.Call) (res toolset.Result) {
	fail := func(code, message string) toolset.Result {
		return toolset.Result{Text: errorText(code, message, ""), Code: code, IsError: true}
	}
	defer func() {
		if p := recover(); p != nil {
			r.d.Log.Error("panic in a tool", "category", "agent/loop", "event", "panic", "panic", p, "stack", string(debug.Stack()))
			res = fail("panic", "The tool broke down; what it did is not known.")
		}
	}()
	res, err := run(ctx, c)
	switch {
	case err == nil:
		return res
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return fail(codeCancelled, "The turn was cancelled while this ran.")
	}
	r.d.Log.Error("a tool failed", "category", "agent/loop", "event", "tool_failed", "err", err)
	return fail("internal", "The tool failed: "+err.Error())
}
