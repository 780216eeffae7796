package session

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// finalFailures is how many failed loads or reads of one skill, or of unknown names
// together, make the answer final for the turn: a model that was told three times
// what exists will not find it by a fourth try.
const finalFailures = 3

// Turn is one user request or signal, from routing to the last tool result, however
// many model calls it takes. Its methods may be called by several goroutines; they
// run one by one.
type Turn struct {
	s      *Session
	snap   *registry.Snapshot
	number int
	text   string
	door   Door // for commands of texts; nil = nobody can be asked
	trace  string

	resumes bool // a former session's skills are made active again: nothing runs

	mu       sync.Mutex
	ended    bool
	recorded bool // the attempt that runs has its record
	failures map[string]int
	ready    map[string]bool // addresses that were started, be they kept or not
}

// Session returns the session of the turn.
func (t *Turn) Session() *Session { return t.s }

// Snapshot returns the Snapshot that the turn is pinned to.
func (t *Turn) Snapshot() *registry.Snapshot { return t.snap }

// Number counts the turns of the session from 1.
func (t *Turn) Number() int { return t.number }

// Apply applies a patch of the host or of a tool: a successful tool's, never a failed
// one's. Skills are started by Activate only. What is repaired comes back as
// diagnostics; over a limit nothing is applied and the error is an *Error.
func (t *Turn) Apply(p Patch, by Provenance) ([]skill.Diagnostic, error) {
	if p.Owner.Kind == OwnerSkill || p.Skill != nil {
		return nil, fmt.Errorf("patch of %s: a skill is started by Activate", p.Owner.ID)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil, ErrEnded
	}
	if p.Scope == "" {
		p.Scope = ScopeSession
	}
	diags := t.s.checkModel(p.Model)
	diags = append(diags, checkTools(p.Tools)...)
	env, bad := checkEnv(p.Env, false)
	p.Env, diags = env, append(diags, bad...)
	by.Turn = t.number
	if by.At.IsZero() {
		by.At = t.s.o.Clock()
	}
	next := t.s.Layers().With(Applied{Patch: p, Provenance: by, Seq: t.s.nextSeq()})
	if err := t.s.checkLimits(next); err != nil {
		return diags, err
	}
	if err := t.s.lay(next); err != nil {
		return diags, err
	}
	err := t.s.audit(context.Background(), Event{
		Action: "patch", Turn: t.number, Actor: by.Actor, Name: p.Owner.ID, Scope: p.Scope,
	}, t.s.Layers(), next)
	if err != nil {
		t.s.withdraw()
		return diags, err
	}
	t.s.swap(next)
	return diags, nil
}

// Deactivate ends the newest activation of name (a name or an address), the turn's
// before the session's, and everything it brought. It reports whether there was one.
func (t *Turn) Deactivate(name string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return false, ErrEnded
	}
	now := t.s.Layers()
	all := slices.Concat(now.session, now.turn)
	slices.Reverse(all)
	want := t.s.own.name(name)
	i := slices.IndexFunc(all, func(a Applied) bool { return a.Skill != nil && a.Skill.answersTo(want) })
	if i < 0 {
		return false, nil
	}
	gone := all[i]
	next := now.Without(func(a Applied) bool { return a.Owner == gone.Owner && (a.Scope == gone.Scope || a.hooksAlone()) })
	err := t.s.audit(context.Background(), Event{
		Action: "deactivate", Turn: t.number, Name: name, Address: gone.Owner.ID,
		Digest: gone.Skill.Digest, Scope: gone.Scope,
	}, now, next)
	if err != nil {
		return false, err
	}
	t.s.swap(next)
	return true, nil
}

// End drops the turn layer and lets the next turn begin. It is idempotent; the loop
// defers it, so that it also runs after an error, a cancel and a panic. An audit
// that fails does not keep the layer.
func (t *Turn) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	t.ended = true
	now := t.s.Layers()
	next := now.EndTurn()
	defer func() {
		t.s.mu.Lock()
		t.s.turn = nil
		t.s.mu.Unlock()
	}()
	t.s.swap(next)
	if len(now.turn) > 0 {
		_ = t.s.audit(context.Background(), Event{Action: "end_turn", Turn: t.number}, now, next)
	}
}

// Failed counts one failed load or read of the skill (its address; "" for all unknown
// names together) and reports whether the answer is final for this turn.
func (t *Turn) Failed(address string) (final bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed(address)
}

func (t *Turn) failed(address string) bool {
	t.failures[address]++
	return t.failures[address] >= finalFailures
}

// FinalText is what follows a refusal that will not change in this turn.
const FinalText = " Do not try again in this turn."

// audit fills in what the session knows and hands the event on.
func (s *Session) audit(ctx context.Context, e Event, before, after Layers) error {
	if s.o.Audit == nil {
		return nil
	}
	e.Session, e.At = s.id, s.o.Clock()
	e.ActiveBefore, e.ActiveAfter = before.addresses(), after.addresses()
	if err := s.write(ctx, e); err != nil {
		return &Error{Code: "audit_write", Message: "audit of " + e.Action, Err: err}
	}
	return nil
}

// write calls the host's Audit; a panic there is its failure.
func (s *Session) write(ctx context.Context, e Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.o.Audit(ctx, e)
}

func (l Layers) addresses() []string {
	var out []string
	l.each(func(a *Applied) {
		if a.active() != nil {
			out = append(out, a.Owner.ID)
		}
	})
	return out
}

// checkLimits holds layers against the limits of the session.
func (s *Session) checkLimits(l Layers) error {
	skills, prompt, found := 0, 0, map[string]bool{}
	l.each(func(a *Applied) {
		if a.active() != nil {
			skills++
		}
		if a.Prompt != nil {
			prompt += len(*a.Prompt)
		}
		if a.Discovery != nil {
			for _, tool := range a.Discovery.Discover {
				found[tool] = true
			}
		}
	})
	for _, c := range []struct {
		code, what   string
		value, limit int
	}{
		{"limit_active", "active skills", skills, s.o.Limits.Active},
		{"limit_patches", "patches", l.Len(), s.o.Limits.Patches},
		{"limit_prompt_bytes", "bytes of prompt", prompt, s.o.Limits.PromptBytes},
		{"limit_discovered", "discovered tools", len(found), s.o.Limits.Discovered},
	} {
		if c.value > c.limit {
			return &Error{Code: c.code, Message: fmt.Sprintf("%s: %d, limit %d", c.what, c.value, c.limit)}
		}
	}
	return nil
}
