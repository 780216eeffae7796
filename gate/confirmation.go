package gate

import (
	"context"
	"encoding/json"
	"time"
)

// ConfirmState says what became of a question.
type ConfirmState string

// The states. All but ConfirmOpen are final.
const (
	ConfirmOpen    ConfirmState = "open"
	ConfirmAllowed ConfirmState = "allowed"
	ConfirmDenied  ConfirmState = "denied"
	ConfirmExpired ConfirmState = "expired"
	ConfirmDropped ConfirmState = "dropped"
)

// Confirmation is one question to a person, as it is put and kept; what became of it is a
// Resolution. It is bound to one call by CallHash.
type Confirmation struct {
	ID, Session, Turn, Tool string
	Tier                    Tier
	CallHash                string
	NonceHash               string          // SHA-256 in hex; the nonce itself is never kept, so a restart asks again
	Shown                   json.RawMessage // what the person saw, arguments included: redacted before it is written
	State                   ConfirmState
	Opened, Expires         time.Time
}

// Resolution is the answer to a question, with all that is written for it.
type Resolution struct {
	ID    string
	State ConfirmState // what it becomes
	Reply Reply
	By    string
	At    time.Time
	Row   Row    // of the decision
	Grant *Grant // of an answer that holds for longer; nil = none
}

// ConfirmStore keeps questions. Implementations are safe for concurrent use. Any error
// refuses the call.
type ConfirmStore interface {
	// Open keeps a new question and the row of the decision that asks, in one transaction.
	Open(ctx context.Context, c Confirmation, row Row) error
	// Resolve is one transaction: where the question is still ConfirmOpen it takes the
	// state, the row and the grant; where not it is ErrNotOpen. With any error nothing is
	// written, the grant least of all.
	Resolve(ctx context.Context, r Resolution) error
	// Drop ends the open questions of a session as ConfirmDropped.
	Drop(ctx context.Context, session string, now time.Time) error
	// Expire ends every open question whose time is over at now as ConfirmExpired.
	Expire(ctx context.Context, now time.Time) error
}
