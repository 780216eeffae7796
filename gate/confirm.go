package gate

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"time"
)

const (
	confirmFor  = 10 * time.Minute // a question's life: long enough to read it, too short to be found later
	maxPending  = 16               // open questions a session
	maxRefusals = 2                // of one call in one turn, then it is refused unasked
	nonceBytes  = 16
)

// engine is the one Gate. Questions live in memory: a restart drops them, and the
// call is asked again.
type engine struct {
	o     Options
	rules RuleSet // those that count, strongest layer first

	mu       sync.Mutex
	pending  map[string]*question // by ConfirmID
	sessions map[string]*memory
}

// question is an Ask that waits for its answer.
type question struct {
	call     Call
	decision Decision
	expires  time.Time
}

// memory is what is kept of a session.
type memory struct {
	remembered map[string]bool
	turn       string         // that refused counts for
	refused    map[string]int // by call hash
}

func (e *engine) memory(session string) *memory {
	m := e.sessions[session]
	if m == nil {
		m = &memory{remembered: map[string]bool{}, refused: map[string]int{}}
		e.sessions[session] = m
	}
	return m
}

func (m *memory) inTurn(turn string) *memory {
	if m.turn != turn {
		m.turn, m.refused = turn, map[string]int{}
	}
	return m
}

func (e *engine) isRemembered(session, key string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.sessions[session]
	return m != nil && m.remembered[key]
}

// ask opens a question, unless the session has too many or the person has refused
// this very call often enough.
func (e *engine) ask(d Decision, f *facts) (Decision, error) {
	id, err := e.draw()
	if err != nil {
		return d, err
	}
	nonce, err := e.draw()
	if err != nil {
		return d, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sweep()
	if code, reason := e.barred(f.call, d.CallHash); code != "" {
		d.Verdict, d.Code, d.Reason = Deny, code, reason
		return d, nil
	}
	d.ConfirmID, d.Nonce = "c_"+id, nonce
	e.pending[d.ConfirmID] = &question{call: f.call, decision: d, expires: e.o.Now().Add(confirmFor)}
	return d, nil
}

// barred says why no question may be put about a call: the person has refused this
// very call often enough, or too many are open. The caller holds the lock.
func (e *engine) barred(c Call, hash string) (code, reason string) {
	if m := e.sessions[c.Session]; m != nil && m.turn == c.Turn && m.refused[hash] >= maxRefusals {
		return CodeRefused, "the person refused this very call twice in this turn"
	}
	open, now := 0, e.o.Now()
	for _, q := range e.pending {
		if q.call.Session == c.Session && !now.After(q.expires) {
			open++
		}
	}
	if open >= maxPending {
		return CodeTooMany, fmt.Sprintf("%d questions are open, at most %d", open, maxPending)
	}
	return "", ""
}

// sweep drops questions whose time is over. The caller holds the lock.
func (e *engine) sweep() {
	now := e.o.Now()
	maps.DeleteFunc(e.pending, func(_ string, q *question) bool { return now.After(q.expires) })
}

func (e *engine) draw() (string, error) {
	var b [nonceBytes]byte
	if _, err := io.ReadFull(e.o.Rand, b[:]); err != nil {
		return "", fmt.Errorf("nonce: %w", err)
	}
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])), nil
}

func (e *engine) withdraw(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.pending, id)
}

// Answer implements Gate. The first answer takes the question away, whatever it
// says; a wrong nonce or session leaves the question for the one who was asked.
func (e *engine) Answer(ctx context.Context, a Answer) (Decision, error) {
	e.mu.Lock()
	q := e.pending[a.ConfirmID]
	if q == nil {
		e.mu.Unlock()
		return Decision{Verdict: Deny, Code: CodeAnsweredTwice, Tier: ManualOnly, ConfirmID: a.ConfirmID,
			Reason: "the question was answered, dropped, or never put"}, nil
	}
	if a.Nonce != q.decision.Nonce || a.Session != q.call.Session {
		e.mu.Unlock()
		return Decision{Verdict: Deny, Code: CodeBadAnswer, Tier: q.decision.Tier, ConfirmID: a.ConfirmID,
			Reason: "the answer is not from the one who was asked"}, nil
	}
	delete(e.pending, a.ConfirmID)
	e.mu.Unlock()

	d := q.judge(a, e.o.Now())
	if err := errors.Join(ctx.Err(), e.o.Audit.Record(ctx, e.row(q.call, d))); err != nil {
		return unavailable(d, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.memory(q.call.Session)
	switch {
	case d.Code == CodeRefused:
		m.inTurn(q.call.Turn).refused[d.CallHash]++
	case d.Verdict == Allow && a.Reply == ForSession:
		m.remembered[q.decision.Key] = true
	}
	return d, nil
}

// judge reads an answer to q.
func (q *question) judge(a Answer, now time.Time) Decision {
	d := q.decision
	d.Nonce = ""
	deny := func(code, reason string) Decision {
		d.Verdict, d.Code, d.Reason = Deny, code, reason
		return d
	}
	switch {
	case now.After(q.expires):
		return deny(CodeExpired, fmt.Sprintf("the answer came more than %s after the question", confirmFor))
	case a.Reply == No && a.Message != "":
		return deny(CodeRefused, "the person refused: "+a.Message)
	case a.Reply == No:
		return deny(CodeRefused, "the person refused")
	case a.Reply == ForSession && d.Tier != ConfirmOnce:
		return deny(CodeBadAnswer, "only CONFIRM_ONCE is remembered for a session")
	case a.Reply != Once && a.Reply != ForSession:
		return deny(CodeBadAnswer, fmt.Sprintf("%q is no reply", a.Reply))
	case d.Tier == ManualOnly && a.Typed != q.call.Tool:
		return deny(CodeBadAnswer, "MANUAL_ONLY needs the tool's name, typed")
	}
	d.Verdict, d.Code, d.Reason = Allow, CodeAnswered, "the person said yes"
	return d
}

// Drop implements Gate.
func (e *engine) Drop(session string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, q := range e.pending {
		if q.call.Session == session {
			delete(e.pending, id)
		}
	}
}

// Forget implements Gate.
func (e *engine) Forget(session string) {
	e.Drop(session)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, session)
}
