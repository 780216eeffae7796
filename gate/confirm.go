package gate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
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

// engine is the one Gate. What proves an answer lives in memory: a restart drops it, and
// the call is asked again.
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
	always   *Grant        // that "always" makes, without id and dates; nil = it is no reply here
	asking   []ActiveSkill // that "always for this skill" may be about
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
// this very call often enough. The question stands before its row is written, so that the
// sixteenth and the seventeenth cannot both be the last; it goes where that fails.
func (e *engine) ask(ctx context.Context, d Decision, f *facts) (Decision, error) {
	id, err := e.draw()
	if err != nil {
		return unavailable(d, err)
	}
	nonce, err := e.draw()
	if err != nil {
		return unavailable(d, err)
	}
	now := e.o.Now()
	if err := e.sweep(ctx, now); err != nil {
		return unavailable(d, err)
	}
	q := &question{call: f.call, decision: d, expires: now.Add(confirmFor), asking: f.asking()}
	q.decision.ConfirmID, q.decision.Nonce = "c_"+id, nonce
	q.decision.Replies, q.always = f.offers(d)
	e.mu.Lock()
	code, reason := e.barred(f.call, d.CallHash)
	if code == "" {
		d = q.decision
		e.pending[d.ConfirmID] = q
	}
	e.mu.Unlock()
	if code != "" {
		d.Verdict, d.Code, d.Reason = Deny, code, reason
		return e.record(ctx, f.call, d)
	}
	if err := e.o.Confirms.Open(ctx, e.confirmation(f.call, d, now), e.row(f.call, d)); err != nil {
		e.withdraw(d.ConfirmID)
		return unavailable(d, err)
	}
	return d, nil
}

// confirmation is a question as it is kept.
func (e *engine) confirmation(c Call, d Decision, now time.Time) Confirmation {
	sum := sha256.Sum256([]byte(d.Nonce))
	shown, _ := json.Marshal(map[string]any{ // texts and JSON that was parsed: it cannot fail
		"tool": c.Tool, "tier": d.Tier.String(), "reason": d.Reason, "args": c.Args, "dir": c.Dir,
		"placement": c.Placement, "skills": skillMarks(c), "parts": d.Parts,
	})
	shown, _ = e.o.Redact.JSON(shown)
	return Confirmation{
		ID: d.ConfirmID, Session: c.Session, Turn: c.Turn, Tool: c.Tool, Tier: d.Tier, CallHash: d.CallHash,
		NonceHash: hex.EncodeToString(sum[:]), Shown: shown, State: ConfirmOpen, Opened: now, Expires: now.Add(confirmFor),
	}
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

// sweep ends questions whose time is over.
func (e *engine) sweep(ctx context.Context, now time.Time) error {
	e.mu.Lock()
	had := len(e.pending)
	maps.DeleteFunc(e.pending, func(_ string, q *question) bool { return now.After(q.expires) })
	over := had > len(e.pending)
	e.mu.Unlock()
	if !over {
		return nil
	}
	return e.o.Confirms.Expire(ctx, now)
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
	mine := q != nil && a.Nonce == q.decision.Nonce && a.Session == q.call.Session
	if mine {
		delete(e.pending, a.ConfirmID)
	}
	e.mu.Unlock()
	switch {
	case q == nil:
		return e.record(ctx, Call{Session: a.Session}, Decision{Verdict: Deny, Code: CodeAnsweredTwice, Tier: ManualOnly,
			ConfirmID: a.ConfirmID, Reason: "the question was answered, dropped, or never put"})
	case !mine:
		return e.record(ctx, q.call, Decision{Verdict: Deny, Code: CodeBadAnswer, Tier: q.decision.Tier,
			ConfirmID: a.ConfirmID, Reason: "the answer is not from the one who was asked"})
	}
	now := e.o.Now()
	d, g, err := e.weigh(q, a, now)
	r := Resolution{ID: a.ConfirmID, State: stateOf(d), Reply: a.Reply, By: q.call.Principal, At: now, Row: e.row(q.call, d), Grant: g}
	if err = cmp.Or(err, ctx.Err()); err == nil {
		err = e.o.Confirms.Resolve(ctx, r)
	}
	if errors.Is(err, ErrNotOpen) {
		d.Verdict, d.Code, d.Reason = Deny, CodeAnsweredTwice, "the question was answered or dropped elsewhere"
		return e.record(ctx, q.call, d)
	}
	if err != nil {
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

// weigh is what an answer to q comes to, and the grant that it makes.
func (e *engine) weigh(q *question, a Answer, now time.Time) (Decision, *Grant, error) {
	d := q.judge(a, now)
	if d.Verdict != Allow {
		return d, nil, nil
	}
	g, why, err := e.lasting(q, a, now)
	if why != "" {
		d.Verdict, d.Code, d.Reason = Deny, CodeBadAnswer, why
	}
	if g != nil {
		d.GrantID = g.ID
	}
	return d, g, err
}

// stateOf is what a question becomes by an answer.
func stateOf(d Decision) ConfirmState {
	switch {
	case d.Verdict == Allow:
		return ConfirmAllowed
	case d.Code == CodeExpired:
		return ConfirmExpired
	}
	return ConfirmDenied
}

// judge reads an answer to q.
func (q *question) judge(a Answer, now time.Time) Decision {
	d := q.decision
	d.Nonce, d.Replies = "", nil
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
	case !slices.Contains(q.decision.Replies, a.Reply):
		return deny(CodeBadAnswer, fmt.Sprintf("%q is no reply to this question", clip(string(a.Reply))))
	case d.Tier == ManualOnly && a.Typed != q.call.Tool:
		return deny(CodeBadAnswer, "MANUAL_ONLY needs the tool's name, typed")
	}
	d.Verdict, d.Code, d.Reason = Allow, CodeAnswered, "the person said yes"
	return d
}

// Drop implements Gate.
func (e *engine) Drop(session string) {
	e.mu.Lock()
	had := len(e.pending)
	maps.DeleteFunc(e.pending, func(_ string, q *question) bool { return q.call.Session == session })
	dropped := had > len(e.pending)
	e.mu.Unlock()
	if dropped {
		// Where this fails nothing is lost: no nonce answers the question any more.
		_ = e.o.Confirms.Drop(context.Background(), session, e.o.Now())
	}
}

// Forget implements Gate.
func (e *engine) Forget(session string) {
	e.Drop(session)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, session)
}
