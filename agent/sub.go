package agent

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
)

// maxSubs is how many sub-agents of one request run at once, those of sub-agents counted:
// more of them wait for the same provider and the same person.
const maxSubs = 8

// Spawn is what a sub-agent is made of. Parent.Child gives the options of its session.
type Spawn struct {
	Parent   *session.Session
	Snapshot *registry.Snapshot // that the parent's turn is pinned to
	Fork     session.Fork
	// Confirmer asks whom the parent asks, in the name of the sub-agent; nil = nobody.
	Confirmer Confirmer
}

// Child is a sub-agent that is ready to run. Its Runner and Session are its own.
type Child struct {
	Runner  *Runner
	Session *session.Session
	Skills  []Preload // are started before its first request, manual-only ones too
	Ceiling gate.Tier // the highest tier that may run; 0 = the parent's
	Close   func()    // called once, after its turn
}

// SubEvent tells of a sub-agent: that it starts, what it does, how it ended.
type SubEvent struct {
	ID      string       `json:"id"` // within the turn
	Agent   string       `json:"agent"`
	Skill   string       `json:"skill"` // address; "" = it has a task of its own
	Depth   int          `json:"depth"`
	Event   *Event       `json:"event,omitempty"` // of subagent_event: one of its own
	Stop    Stop         `json:"stop,omitempty"`  // of subagent_finished, as the next three
	Answer  string       `json:"answer,omitempty"`
	Code    string       `json:"code,omitempty"`
	Message string       `json:"message,omitempty"`
	Usage   *model.Usage `json:"usage,omitempty"`
	Missing []SkillEvent `json:"missing,omitempty"` // skills of its definition that did not start
}

// sub is one sub-agent of a turn. But for done it belongs to the loop's goroutine.
type sub struct {
	id      string
	fork    session.Fork
	missing []SkillEvent
	end     *End
	err     error
	over    bool          // it has ended and was told
	told    bool          // the model has its answer
	done    chan struct{} // closed after over was posted
}

// family counts the sub-agents of a request, whoever started them.
type family struct{ running atomic.Int32 }

// carries reports whether the loop itself has forked skills carried out.
func (t *turn) carries() bool { return t.r.d.Spawn != nil && t.r.d.SkillTools.Fork == nil }

// carryOut is what the tool that starts skills calls: a handle where the answer may come
// later, else the answer. It runs beside the loop.
func (t *turn) carryOut(ctx context.Context, f session.Fork) (string, error) {
	type launched struct {
		s   *sub
		err error
	}
	reply := make(chan launched, 1)
	t.inbox.post(func() {
		s, err := t.launch(f, string(session.ActorModel))
		reply <- launched{s, err}
	})
	var l launched
	select {
	case l = <-reply:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if l.err != nil {
		return "", l.err
	}
	if f.Background && !t.own {
		return fmt.Sprintf("\nIt is %s. Its answer comes as a message before this turn ends; go on with what does not need it, or end your step.", l.s.id), nil
	}
	select {
	case <-l.s.done:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	text := make(chan string, 1)
	t.inbox.post(func() { text <- l.s.answer() })
	select {
	case answer := <-text:
		return "\n" + answer, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// launch starts a sub-agent in the name of who asked for the skill. It gets half of what is left of the turn's budget.
func (t *turn) launch(f session.Fork, by string) (*sub, error) {
	if !t.carries() {
		return nil, fmt.Errorf("no sub-agent can be started here")
	}
	budget, ok := t.account.pool.half(t.r.d.Now().Sub(t.started))
	if !ok {
		return nil, fmt.Errorf("too little is left of the budget of this turn")
	}
	if t.family.running.Add(1) > maxSubs {
		t.family.running.Add(-1)
		return nil, fmt.Errorf("%d sub-agents run already; wait for one of them", maxSubs)
	}
	s := &sub{id: fmt.Sprintf("sub_%d", len(t.subs)+1), fork: f, done: make(chan struct{})}
	t.subs = append(t.subs, s)
	e := Event{Type: SubagentStarted, Sub: s.event()}
	if f.Skill != "" {
		skill := skillEvent(f.Identity(), by)
		e.Skill = &skill
		t.usedLoad(f.Identity(), by, f.Task)
	}
	t.emit(e)
	in := Input{
		Text: f.Task, task: true, stages: t.stages(), family: t.family, pool: t.account.pool,
		Origin: t.in.Origin, Principal: t.in.Principal, TraceID: t.trace, Ceiling: t.in.Ceiling, Budget: budget,
	}
	p := Spawn{Parent: t.s, Snapshot: t.turn.Snapshot(), Fork: f}
	if t.r.d.Confirmer != nil {
		p.Confirmer = relay{t, s}
	}
	go t.work(s, p, in)
	return s, nil
}

// work is the life of a sub-agent, on a goroutine of its own.
func (t *turn) work(s *sub, p Spawn, in Input) {
	var end *End
	err := errPanic
	defer func() {
		if p := recover(); p != nil {
			t.log(slog.LevelError, "panic of a sub-agent", "agent/loop", "panic", "panic", p, "stack", string(debug.Stack()))
		}
		t.inbox.post(func() { t.finished(s, end, err) })
		close(s.done)
	}()
	end, err = t.workOn(s, p, in)
}

func (t *turn) workOn(s *sub, p Spawn, in Input) (end *End, err error) {
	child, err := t.r.d.Spawn(t.ctx, p)
	if err != nil {
		return nil, err
	}
	defer child.Close()
	in.Skills = child.Skills
	if child.Ceiling != 0 && (in.Ceiling == 0 || child.Ceiling < in.Ceiling) {
		in.Ceiling = child.Ceiling
	}
	for e, failed := range child.Runner.Run(t.ctx, child.Session, in) {
		if e.Type == TurnFinished {
			end, err = e.End, failed
		}
		t.inbox.post(func() { t.nested(s, e) })
	}
	return end, err
}

// nested tells one event of a sub-agent.
func (t *turn) nested(s *sub, e Event) {
	if e.Type == Preloaded && e.Skill.Code != "" {
		s.missing = append(s.missing, *e.Skill)
	}
	told := s.event()
	told.Event = &e
	t.emit(Event{Type: SubagentEvent, Sub: told})
}

// finished tells the end of a sub-agent.
func (t *turn) finished(s *sub, end *End, err error) {
	t.family.running.Add(-1)
	if end == nil {
		end = &End{Stop: StopError}
		if err != nil {
			end.Code, end.Message = codeOf(err), err.Error()
		}
	}
	s.end, s.err, s.over = end, err, true
	told := s.event()
	told.Stop, told.Answer, told.Usage, told.Code, told.Message, told.Missing = end.Stop, end.Answer, &end.Usage, end.Code, end.Message, s.missing
	t.emit(Event{Type: SubagentFinished, Sub: told})
}

func (s *sub) event() *SubEvent {
	return &SubEvent{ID: s.id, Agent: s.fork.Agent, Skill: s.fork.Skill, Depth: s.fork.Depth}
}

// answer is what the one that started the sub-agent is told: its last text, why it ended
// if it did not come to its end, and what of its definition was not there.
func (s *sub) answer() string {
	s.told = true
	var b strings.Builder
	for _, m := range s.missing {
		fmt.Fprintf(&b, "[its skill %q did not start: %s]\n", m.Name, m.Message)
	}
	switch {
	case s.end.Stop == StopEnd:
	case s.end.Message != "":
		fmt.Fprintf(&b, "[it did not come to its end: %s: %s]\n", s.end.Stop, s.end.Message)
	default:
		fmt.Fprintf(&b, "[it did not come to its end: %s]\n", s.end.Stop)
	}
	b.WriteString(s.end.Answer)
	answer := s.fork.Answer(b.String())
	if s.fork.Skill == "" {
		u := s.end.Usage
		answer += fmt.Sprintf("\n[%s: %d steps, %d tool calls, %d input and %d output tokens]", s.id, s.end.Steps, s.end.Calls, u.Input, u.Output)
	}
	return answer
}

// work is what the sub-agent was started for, in words.
func (s *sub) work() string {
	if s.fork.Skill == "" {
		return "a task"
	}
	return fmt.Sprintf("the skill %q", s.fork.Skill)
}

// accompanied reports whether sub-agents run.
func (t *turn) accompanied() bool {
	return slices.ContainsFunc(t.subs, func(s *sub) bool { return !s.over })
}

// deliver gives the model the answers that have come, as messages.
func (t *turn) deliver() (any bool) {
	t.inbox.serve()
	for _, s := range t.subs {
		if s.over && !s.told && s.fork.Background && !t.own {
			t.note(fmt.Sprintf("The sub-agent %s has ended; it carried out %s. Its answer:\n%s", s.id, s.work(), s.answer()))
			any = true
		}
	}
	return any
}

// await waits for every sub-agent whose answer the model does not have, and gives it.
func (t *turn) await() (any bool) {
	for _, s := range t.subs {
		if !s.over && !t.inbox.until(s.done, t.ctx.Done()) {
			return false
		}
	}
	return t.deliver()
}

// dismiss ends every sub-agent and waits until they are gone. The context has ended.
func (t *turn) dismiss() {
	for _, s := range t.subs {
		t.inbox.until(s.done, nil)
	}
}

// due are forked skills that a request asks for by name: they are carried out before
// its first request to the model.
type due struct {
	fork session.Fork
	text string
	by   string
}

// carryOutDue has the skills carried out that the input asks for, side by side, and tells
// the model their answers. The error is for an ended context.
func (t *turn) carryOutDue() error {
	started := make([]*sub, len(t.due))
	for i, d := range t.due {
		if !t.carries() {
			if err := t.handOut(d); err != nil {
				return err
			}
			continue
		}
		s, err := t.launch(d.fork, d.by)
		if err != nil {
			t.inform(fmt.Sprintf("%s It could not be started: %v.", d.text, err))
		}
		started[i] = s
	}
	for i, s := range started {
		if s == nil {
			continue
		}
		if !t.inbox.until(s.done, t.ctx.Done()) {
			return t.ctx.Err()
		}
		t.inform(t.due[i].text + " Its answer:\n" + s.answer())
	}
	return nil
}

// handOut has a skill carried out by the host's own means.
func (t *turn) handOut(d due) error {
	answer, err := t.r.d.SkillTools.Forked(t.ctx, t.s, d.fork)
	if t.ctx.Err() != nil {
		return t.ctx.Err()
	}
	if err != nil {
		answer = fmt.Sprintf(" It failed: %v", err)
	}
	t.inform(d.text + answer)
	return nil
}

// inform gives the model a text before its first request, one that stays in the
// conversation where that is ours.
func (t *turn) inform(text string) {
	if t.own {
		t.notes = append(t.notes, text)
		return
	}
	t.note(text)
}

// stages are those that bound the tools of a sub-agent: the request's, not what its task
// is about, since a skill wrote that.
func (t *turn) stages() []string {
	if t.in.task {
		return t.in.stages
	}
	return t.trusted().Names()
}

// behalf are the skills that a call may be for: the active ones, and in a sub-agent the
// one that it carries out.
func (t *turn) behalf() []session.Activation {
	active := t.s.Active()
	if now := t.s.Effective().Current; t.in.task && now != nil && len(active) == 0 {
		active = append(active, *now)
	}
	return active
}

// relay puts a sub-agent's questions to whom its parent asks, on the parent's goroutine,
// so that a person gets one question at a time.
type relay struct {
	t *turn
	s *sub
}

// Confirm implements Confirmer.
func (r relay) Confirm(ctx context.Context, q Question) (gate.Answer, error) {
	type answer struct {
		gate.Answer
		err error
	}
	reply := make(chan answer, 1)
	name := r.s.fork.Agent
	if r.s.fork.Skill != "" {
		name = fmt.Sprintf("%s (%s)", r.s.fork.Skill, r.s.fork.Agent)
	}
	q.Agents = append([]string{name}, q.Agents...)
	r.t.inbox.post(func() {
		if ctx.Err() != nil {
			reply <- answer{err: ctx.Err()}
			return
		}
		a, err := r.t.r.d.Confirmer.Confirm(ctx, q)
		reply <- answer{a, err}
	})
	select {
	case a := <-reply:
		return a.Answer, a.err
	case <-ctx.Done():
		return gate.Answer{}, ctx.Err()
	}
}
