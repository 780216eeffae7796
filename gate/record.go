package gate

import (
	"context"
	"time"
)

// Row is the record of one decision. It holds no argument values: CallHash says
// which call it was to whoever has the call.
type Row struct {
	Time       time.Time `json:"ts"`
	Trace      string    `json:"trace_id"`
	Session    string    `json:"session"`
	Turn       string    `json:"turn"`
	Call       string    `json:"call"`
	Origin     Origin    `json:"origin"`
	Principal  string    `json:"principal"`
	Tool       string    `json:"tool"`
	Via        string    `json:"via,omitempty"`
	Tier       Tier      `json:"tier"`
	Stages     []string  `json:"stages"`
	Ceiling    Tier      `json:"ceiling"`
	Verdict    Verdict   `json:"verdict"`
	Code       string    `json:"code"`
	Rule       string    `json:"rule,omitempty"`     // that decided
	GrantID    string    `json:"grant_id,omitempty"` // whose use was counted, or that the answer made
	ConfirmID  string    `json:"confirm_id,omitempty"`
	CallHash   string    `json:"call_hash,omitempty"`
	Skills     []string  `json:"skills"` // name@source#digest
	BypassedBy string    `json:"bypassed_by,omitempty"`
	Override   string    `json:"tier_override,omitempty"` // how the configuration lowered the tool's tier, and why
	// Secret says that the arguments hold what no record may. Who keeps the row keeps the hash
	// of the call under a key: a short secret could be guessed from the hash itself.
	Secret bool `json:"-"`
}

// Sink keeps rows. Record returns only when the row is safe; an error denies the
// call that the row is of. Implementations are safe for concurrent use.
type Sink interface {
	Record(ctx context.Context, r Row) error
}
