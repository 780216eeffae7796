package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/shellcmd"
	"github.com/deftskills/deft/toolset"
)

// shellTool is the tool that a command of a text is a call of where a turn has none for
// shell commands, and shellArg its argument.
const shellTool, shellArg = "bash", "command"

// shell returns the turn's tool for shell commands.
func (r *Runner) shell() toolset.Spec {
	if i := slices.IndexFunc(r.specs, func(s toolset.Spec) bool { return s.Shell != "" }); i >= 0 {
		return r.specs[i]
	}
	return toolset.Spec{Name: shellTool, Shell: shellArg, Runs: true}
}

const textSchema = `{"type":"object","properties":{"command":{"type":"string","minLength":1}},"required":["command"],"additionalProperties":false}`

// textDoor is the session's Door for the texts that are loaded in a turn: each command is
// a call of the shell tool, and a person is asked once about all that need it. It tells no
// events, since a skill may be started by a tool, beside the turn's own goroutine.
type textDoor struct{ t *turn }

// Decide implements session.Door.
func (d textDoor) Decide(ctx context.Context, loading gate.ActiveSkill, calls []command.Call) ([]command.Decision, error) {
	t := d.t
	out := make([]command.Decision, len(calls))
	var open []Question
	var places []int
	for i, c := range calls {
		q := Question{Call: t.textCall(loading, c), Tool: t.r.shell(), Active: t.behalf(), For: c.Skill, Line: c.Line}
		got, err := t.r.d.Gate.Check(ctx, q.Call)
		t.r.eyes.decided(ctx, got)
		if err != nil {
			t.log(slog.LevelError, "a call could not be judged", "gate", "unavailable", "err", err)
		}
		out[i] = commandDecision(got)
		if got.Verdict == gate.Ask && !c.Unasked {
			q.Decision, q.Call.Args = got, got.Args
			open, places = append(open, q), append(places, i)
		}
	}
	if len(open) > 0 && t.r.d.Confirmer != nil && ctx.Err() == nil {
		for k, got := range d.ask(ctx, open) {
			out[places[k]] = got
		}
	}
	t.r.d.Gate.Drop(t.s.ID())
	return out, ctx.Err()
}

// ask puts one question for all commands, and takes the answer to each to the gate.
func (d textDoor) ask(ctx context.Context, open []Question) []command.Decision {
	t := d.t
	out := make([]command.Decision, len(open))
	all := open[0]
	for _, q := range open {
		all.Decision.Tier = max(all.Decision.Tier, q.Decision.Tier)
	}
	if len(open) > 1 {
		all.Together = open
	}
	answer, err := t.r.d.Confirmer.Confirm(ctx, all)
	for k, q := range open {
		out[k] = commandDecision(q.Decision)
		if err != nil || ctx.Err() != nil {
			continue
		}
		one := answer
		if one.Reply == gate.ForSession && q.Decision.Tier != gate.ConfirmOnce {
			one.Reply = gate.Once
		}
		one.ConfirmID, one.Nonce, one.Session = q.Decision.ConfirmID, q.Decision.Nonce, t.s.ID()
		got, err := t.r.d.Gate.Answer(ctx, one)
		if err != nil {
			t.log(slog.LevelError, "a call could not be judged", "gate", "unavailable", "err", err)
		}
		if out[k] = commandDecision(got); got.CallHash != q.Decision.CallHash {
			out[k].Verdict = command.Refuse
		}
	}
	return out
}

// commandDecision is the gate's answer in the words of a text. That nobody can be asked is
// told apart from a refusal: a person can allow the one.
func commandDecision(d gate.Decision) command.Decision {
	out := command.Decision{Verdict: command.Refuse, Rule: cmp.Or(d.Rule, d.Code), Reason: d.Reason}
	switch {
	case d.Verdict == gate.Allow:
		out.Verdict = command.Permit
	case d.Verdict == gate.Ask, d.Code == gate.CodeNoAnswerer, d.Code == gate.CodeDontAsk:
		out.Verdict = command.Ask
	}
	return out
}

// textCall is a command of a text as the gate judges it. Of the skill that is loaded no
// earlier activation counts: it has no say in what its own text may run.
func (t *turn) textCall(loading gate.ActiveSkill, c command.Call) gate.Call {
	tool := t.r.shell()
	line := c.Command
	if len(c.Argv) == 0 {
		line = shellcmd.Judged(c.Shell, line)
	}
	args, err := json.Marshal(map[string]string{tool.Shell: line})
	if err != nil {
		args = nil // a text that JSON cannot hold: the empty call is refused by its schema
	}
	call := t.gateCall(fmt.Sprintf("text:%s:%d", c.Skill.Address, c.Line), tool.Name, args)
	call.Via, call.Visible, call.Dir = "inline", nil, c.Dir
	call.Skills = append(slices.DeleteFunc(call.Skills, func(s gate.ActiveSkill) bool {
		return s.Name == loading.Name && s.Source == loading.Source
	}), loading)
	return call
}
