package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/shellcmd"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
)

const (
	maxRewrites = 3 // of one call's arguments by hooks
	maxOnward   = 2 // steps that hooks may add to a turn that is done
)

// HookError says that a hook refused the request: no model was asked. Code is hook_deny or
// hook_failed.
type HookError struct{ Code, Message string }

// Error names the hook and what it says.
func (e *HookError) Error() string { return e.Message }

// fire runs the hooks of an event and tells of each.
func (t *turn) fire(in command.HookInput) command.HookOutcome {
	if t.in.NoHooks || !t.r.d.Hooks.Has(in.Event) {
		return command.HookOutcome{Input: in.Input}
	}
	in.Session, in.Turn, in.Dir = t.s.ID(), t.number(), t.r.d.Dir
	if n, ok := t.r.d.Gate.(gate.Namer); ok {
		in.Names = func(patterns []string, input json.RawMessage) bool {
			return n.Names(gate.Call{Tool: in.Tool, Args: input, Dir: in.Dir, Skills: t.s.ActiveSkills()}, patterns)
		}
	}
	out := t.r.d.Hooks.Fire(t.ctx, in, hookRunner{t})
	for i := range out.Runs {
		if r := &out.Runs[i]; r.Did == "failed" {
			t.log(slog.LevelWarn, "a hook failed", "agent/loop", "hook_failed", "on", r.Event, "skill", r.Skill, "id", r.ID, "err", r.Text)
		}
		t.emit(Event{Type: HookRan, Hook: &out.Runs[i]})
	}
	return out
}

// opening fires what comes before a request is routed. It is called before and after the
// skills start that the request names, and each hook runs once: what is in force already
// can refuse before any of them starts, and what they bring counts for this request.
func (t *turn) opening() error {
	if t.heard == nil {
		t.heard = map[string]bool{}
		t.opens = !t.in.NoHooks && t.r.opens(t.s.ID())
	}
	if t.opens {
		t.added = append(t.added, t.fire(command.HookInput{Event: "SessionStart", Done: t.heard}).Append...)
	}
	prompt, _ := json.Marshal(map[string]string{"prompt": t.in.Text}) // a text: it cannot fail
	out := t.fire(command.HookInput{Event: "UserPromptSubmit", Input: prompt, Done: t.heard})
	t.added = append(t.added, out.Append...)
	if out.Verdict == command.Refuse {
		return &HookError{out.Code, out.Reason}
	}
	return t.ctx.Err()
}

// opens reports whether the session has not begun, and notes that it has.
func (r *Runner) opens(session string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun == nil {
		r.begun = map[string]bool{}
	}
	first := !r.begun[session]
	r.begun[session] = true
	return first
}

// words is the request as the model gets it: as it was written, then what hooks added.
func (t *turn) words() string {
	parts := append([]string{t.in.Text}, t.added...)
	if strings.TrimSpace(t.in.Text) == "" {
		parts = parts[1:]
	}
	return strings.Join(parts, "\n\n")
}

// before asks the hooks about a call that is exposed, and takes over the arguments that
// they leave. A call that the gate refuses anyway is not theirs to mend: no hook runs. One
// that the gate would ask about is asked about whatever they make of it.
func (t *turn) before(p *pending) (word gate.HookWord) {
	if p.tool == nil || t.in.NoHooks || !t.r.d.Hooks.Has("PreToolUse") {
		return word
	}
	first := t.r.d.Gate.Explain(t.callOf(p, word))
	for rewrites := 0; ; rewrites++ {
		if t.r.d.Gate.Explain(t.callOf(p, word)).Verdict == gate.Deny {
			return word // the gate will say so, and record it
		}
		out := t.fire(command.HookInput{Event: "PreToolUse", Tool: p.call.Name, Input: p.call.Input})
		switch {
		case out.Verdict == command.Refuse:
			return gate.HookWord{Verdict: gate.Deny, Code: out.Code, Reason: out.Reason}
		case out.Verdict == command.Ask:
			word.Ask(out.Reason)
		}
		if sameJSON(p.call.Input, out.Input) {
			return word
		}
		if rewrites == maxRewrites {
			return gate.HookWord{Verdict: gate.Deny, Code: gate.CodeHookLoop, Reason: fmt.Sprintf("hooks changed the arguments of %s more than %d times", p.spec.Name, maxRewrites)}
		}
		if first.Verdict == gate.Ask {
			word.Ask("a hook changed the arguments of a call that is asked about")
		}
		p.call.Input = out.Input
		if n, ok := p.tool.(Normalizer); ok {
			p.call.Input = n.Normalize(p.call.Input)
		}
		if t.unready(p) {
			return word
		}
	}
}

// sameJSON reports whether two texts are the same value. What is no JSON is compared as
// text.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	value := func(text json.RawMessage) (v any, err error) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber() // two long numbers are not one
		err = d.Decode(&v)
		return v, err
	}
	x, err := value(a)
	y, also := value(b)
	return err == nil && also == nil && reflect.DeepEqual(x, y)
}

// permission asks the hooks before a person is asked. What they refuse is refused by the
// gate, so that it stands in its record.
func (t *turn) permission(p *pending, call gate.Call, d gate.Decision) gate.Decision {
	out := t.fire(command.HookInput{Event: "PermissionRequest", Tool: p.call.Name, Input: d.Args})
	if out.Verdict != command.Refuse {
		return d
	}
	t.r.d.Gate.Drop(t.s.ID())
	call.Hook = gate.HookWord{Verdict: gate.Deny, Code: out.Code, Reason: out.Reason}
	d = t.check(p.ctx, call)
	t.emit(Event{Type: GateDecided, Call: p.decided(d)})
	return d
}

// after lets the hooks add to the result of a call that ran.
func (t *turn) after(p *pending) {
	event := "PostToolUse"
	if p.result.IsError {
		event = "PostToolUseFailure"
	}
	if t.ctx.Err() != nil || !t.r.d.Hooks.Has(event) {
		return
	}
	p.added = t.fire(command.HookInput{Event: event, Tool: p.call.Name, Input: p.args, Result: p.result.Text}).Append
}

// onward asks the hooks whether the turn is done. What they add is one step more.
func (t *turn) onward() bool {
	out := t.fire(command.HookInput{Event: "TaskCompleted", Result: t.answer})
	if len(out.Append) == 0 || t.more == maxOnward || t.ctx.Err() != nil {
		return false
	}
	t.more++
	t.note(strings.Join(out.Append, "\n\n"))
	return true
}

// Leave ends a session: its hooks for that run, and tell hears of each. It runs once a
// session, and only where a turn has begun; Forget comes after it.
func (r *Runner) Leave(ctx context.Context, s *session.Session, tell func(Event)) {
	r.mu.Lock()
	begun := r.begun[s.ID()]
	delete(r.begun, s.ID())
	r.mu.Unlock()
	if !begun || !r.d.Hooks.Has("SessionEnd") {
		return
	}
	t := &turn{r: r, s: s, parent: ctx, started: r.d.Now(), in: r.lastOf(s.ID()), yield: func(e Event, _ error) bool {
		if tell != nil {
			tell(e)
		}
		return true
	}}
	t.trace = t.in.TraceID
	stop, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.ctx, t.cancel = stop, cancel
	t.fire(command.HookInput{Event: "SessionEnd"})
}

// runs notes on whose account a turn runs, for what comes after the last one.
func (r *Runner) runs(session string, in Input, trace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[string]Input{}
	}
	r.last[session] = Input{Origin: in.Origin, Principal: in.Principal, Ceiling: in.Ceiling, TraceID: trace}
}

func (r *Runner) lastOf(session string) Input {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[session]
}

// hookRunner takes the commands of hooks through the gate, as calls of the shell tool. No
// hook hears of them.
type hookRunner struct{ t *turn }

// Permit implements command.HookRunner.
func (h hookRunner) Permit(_ context.Context, hook command.Registered) error {
	t := h.t
	if t.r.d.HookCommand == nil {
		return errors.New("commands are not run here")
	}
	tool := t.r.shell()
	args, _ := json.Marshal(map[string]string{tool.Shell: shellcmd.Judged("", hook.Command)}) // texts: it cannot fail
	call := t.gateCall("hook:"+hook.ID, tool.Name, args)
	call.Via, call.Visible, call.Skills = "hook", nil, unlisted(call.Skills)
	d := t.check(t.ctx, call)
	p := &pending{call: model.Call{ID: call.ID, Name: tool.Name, Input: args}, tool: t.tools[tool.Name], spec: tool, of: hook.Skill}
	if d.Verdict == gate.Ask && t.turn != nil { // nobody is asked about what comes after the last turn
		call.Args = d.Args
		d = t.confirm(p, call, d)
	}
	if d.Verdict != gate.Allow {
		return fmt.Errorf("its command is refused: %s (%s)", d.Reason, d.Code)
	}
	return nil
}

// Run implements command.HookRunner.
func (h hookRunner) Run(ctx context.Context, hook command.Registered, stdin []byte) (command.Result, error) {
	return h.t.r.d.HookCommand(ctx, hook, stdin)
}

// unlisted takes the allow lists of skills away, which say what a model may call: a hook
// is no call of the model. What they deny stays denied.
func unlisted(list []gate.ActiveSkill) []gate.ActiveSkill {
	out := make([]gate.ActiveSkill, len(list))
	for i, s := range list {
		if s.Source != gate.HostSource {
			s.Allow = skill.ToolList{}
		}
		out[i] = s
	}
	return out
}
