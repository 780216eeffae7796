package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// lastWordsTime is how long the closing summary of a turn that ran out may take.
const lastWordsTime = 30 * time.Second

// loop goes from step to step until the model is done or a budget ends the turn.
func (t *turn) loop() (Stop, error) {
	defer t.keep()
	t.write(EntryRequest, t.r.d.Redact(t.words()))
	t.writeState()
	for {
		t.deliver()
		if t.ctx.Err() != nil {
			return t.ended()
		}
		if spent, stop, out := t.account.exhausted(); out {
			if t.await() {
				continue // what was lent to them is back
			}
			t.lastWords(spent.String())
			return stop, nil
		}
		step, err := t.stepWithin()
		if t.ctx.Err() != nil {
			return t.ended()
		}
		if err != nil {
			return t.stopFor(err)
		}
		if step.Stop == model.StopRefused {
			step.Calls = nil
		}
		t.identify(step.Calls)
		t.say(model.Message{Role: model.Assistant, Text: step.Text, Calls: sendable(step.Calls)})
		t.answer = step.Text
		t.hear()
		if len(step.Calls) == 0 {
			stop := endOf(step.Stop)
			if stop == StopEnd && t.await() {
				continue // the model hears the answers of its sub-agents
			}
			if t.ctx.Err() != nil {
				return t.ended()
			}
			if stop == StopEnd && t.onward() {
				continue
			}
			return stop, nil
		}
		results, looping := t.calls(step.Calls)
		t.say(model.Message{Role: model.ToolRole, Results: results})
		t.writeState()
		if looping {
			return StopLoop, nil
		}
		t.warn()
	}
}

// identify gives a call an id of its own where the server gave it none, or one that
// the conversation has already: providers refuse a conversation with such calls.
func (t *turn) identify(calls []model.Call) {
	taken := map[string]bool{}
	for _, list := range [][]model.Message{t.r.history(t.s.ID()), t.messages} {
		for _, m := range list {
			for _, c := range m.Calls {
				taken[c.ID] = true
			}
		}
	}
	for i := range calls {
		c := &calls[i]
		if c.ID == "" || taken[c.ID] {
			c.ID = fmt.Sprintf("call_%d_%d_%d", t.turn.Number(), t.account.steps, i+1)
		}
		taken[c.ID] = true
	}
}

// longestName is what providers take as a tool's name.
const longestName = 64

// sendable returns the calls with names that a provider takes back: one that a model
// made up may hold anything.
func sendable(calls []model.Call) []model.Call {
	out := slices.Clone(calls)
	for i := range out {
		name := strings.Map(func(r rune) rune {
			if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return '_'
		}, out[i].Name)
		out[i].Name = cmp.Or(name[:min(len(name), longestName)], "_")
	}
	return out
}

// ended is the end of a turn whose context has ended.
func (t *turn) ended() (Stop, error) {
	stop, err := t.stopFor(t.ctx.Err())
	if stop == StopTime {
		t.lastWords("the time of the turn")
	}
	return stop, err
}

func endOf(s model.Stop) Stop {
	switch s {
	case model.StopLength:
		return StopTokens
	case model.StopRefused:
		return StopRefused
	}
	return StopEnd
}

// warn tells person and model once that a budget comes to its end.
func (t *turn) warn() {
	if spent, yes := t.account.warning(t.r.d.Now().Sub(t.started)); yes {
		t.emit(Event{Type: BudgetWarned, Budget: &spent})
		t.note(fmt.Sprintf("Note: this turn has used %s. Come to an end.", spent))
	}
}

// note adds a message of the runtime to the conversation.
func (t *turn) note(text string) {
	t.say(model.Message{Role: model.User, Text: text})
}

// lastWords asks once, without tools, for a summary. It has time of its own, so that
// a turn that ran out of time can still say where it stands. What goes wrong here is
// not told: the turn has its reason to end.
func (t *turn) lastWords(what string) {
	if t.parent.Err() != nil || t.gone {
		return
	}
	t.note(fmt.Sprintf("The turn ends here: %s used up. No tool can be called. Say in a few sentences what is done, what is not, and what comes next.", what))
	ctx, cancel := context.WithTimeout(t.parent, lastWordsTime)
	defer cancel()
	req := t.request(true)
	if step, err := t.ask(ctx, t.model(), req); err == nil {
		t.count(req, step)
		t.say(model.Message{Role: model.Assistant, Text: step.Text})
		t.answer = step.Text
	}
}

// keep hands the turn's conversation on to the next turn: the request as the model got
// it, without the prompt's tail, and every step that came to its end.
func (t *turn) keep() {
	words := t.words()
	talk := append([]model.Message{{Role: model.User, Text: words}}, t.messages...)
	if words == "" {
		talk = talk[1:]
	}
	t.r.remember(t.s.ID(), talk)
}

func (t *turn) request(noTools bool) model.Request {
	blocks := t.prompt()
	t.blocks = blocks
	req := model.Request{System: system(blocks), NoTools: noTools, Effort: t.s.Effective().Effort}
	history := t.r.history(t.s.ID())
	req.Messages = append(history[:len(history):len(history)], model.Message{Role: model.User, Text: tail(blocks, t.words())})
	req.Messages = append(req.Messages, t.messages...)
	for _, spec := range t.exposed() {
		req.Tools = append(req.Tools, model.Tool{Name: spec.Name, Description: spec.Description, Schema: spec.Input})
	}
	return req
}

// hear tells the session what was said so far, for the dialects that take the files of
// a conversation from it.
func (t *turn) hear() {
	if !t.s.Hears() {
		return
	}
	said := []session.Said{}
	for _, list := range [][]model.Message{t.r.history(t.s.ID()), {{Role: model.User, Text: t.in.Text}}, t.messages} {
		for _, m := range list {
			if m.Role != model.ToolRole {
				said = append(said, session.Said{Text: m.Text})
			}
		}
	}
	t.s.Hear(append(said, session.Said{Wrote: t.wrote}))
}

// exposed returns the tools that the model is shown in this step.
func (t *turn) exposed() []toolset.Spec {
	effective := t.s.Effective()
	out := slices.DeleteFunc(slices.Clone(t.specs), func(s toolset.Spec) bool { return t.withheld(effective, s) != "" })
	if t.plan.Shape != nil {
		for i := range out {
			out[i] = t.plan.Shape(out[i])
		}
	}
	return out
}

// now is what tools that come and go depend on.
func (t *turn) now() toolset.Now {
	return toolset.Now{Active: t.s.Active(), Deferred: slices.ContainsFunc(t.specs, func(s toolset.Spec) bool { return s.Deferred })}
}

// shown tells tools which others the model is shown in this step.
func (t *turn) shown() func(string) bool {
	names := map[string]bool{}
	for _, s := range t.exposed() {
		names[s.Name] = true
	}
	return func(name string) bool { return names[name] }
}

// visible reports whether the tool exists in this turn. What a skill's lists take
// away stays visible here: the gate refuses it and says which skill it is.
func (t *turn) visible(name string) bool {
	if p, ok := t.tools[name].(toolset.Passing); ok && !p.Present(t.now()) {
		return false
	}
	if tool := t.tools[name]; tool != nil && !t.r.d.Sources.admits(tool.Spec()) {
		return false
	}
	return !slices.Contains(t.plan.Hidden, name)
}

// model returns the model of the next step: the one that an active skill asks for,
// if it is known.
func (t *turn) model() model.Model {
	if id := t.s.Effective().Model; id != "" && t.r.d.Models != nil {
		if m, ok := t.r.d.Models(id); ok {
			return m
		}
	}
	return t.r.d.Model
}

// count books a step. A server that tells no usage is estimated, so that a budget
// holds there too.
func (t *turn) count(req model.Request, step model.Step) {
	usage := step.Usage
	if usage == (model.Usage{}) {
		usage = estimate(req, step)
	}
	t.account.spend(End{Steps: 1, Usage: usage})
	t.r.eyes.used(t.ctx, usage)
	t.emit(Event{Type: UsageCounted, Step: t.account.steps, Usage: &usage})
}

func estimate(req model.Request, step model.Step) model.Usage {
	count := tokens.Estimate().Count
	u := model.Usage{Output: count(step.Text), Input: countInput(req, tokens.Estimate())}
	for _, c := range step.Calls {
		u.Output += count(c.Name) + count(string(c.Input))
	}
	return u
}

// countInput counts the tokens of a request.
func countInput(req model.Request, counter tokens.Counter) int {
	n, count := 0, counter.Count
	for _, b := range req.System {
		n += count(b.Text)
	}
	for _, m := range req.Messages {
		n += count(m.Text)
		for _, c := range m.Calls {
			n += count(string(c.Input))
		}
		for _, r := range m.Results {
			n += count(r.Text)
		}
	}
	for _, tool := range req.Tools {
		n += count(tool.Description) + count(string(tool.Schema))
	}
	return n
}
