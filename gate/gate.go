package gate

import (
	"context"
	"encoding/json"
	"time"

	"github.com/deftskills/deft/skill"
)

// Tier says how much consent a tool needs. The zero value counts as ManualOnly.
type Tier uint8

// The tiers, weakest first.
const (
	ReadOnly      Tier = 1 // never asked
	ConfirmOnce   Tier = 2 // asked at the first use of a key
	AlwaysConfirm Tier = 3 // asked at each call
	ManualOnly    Tier = 4 // asked at each call, by typed approval
)

// ParseTier reads a tier as String writes it. ok is false for any other text.
func ParseTier(s string) (t Tier, ok bool) {
	for t := ReadOnly; t <= ManualOnly; t++ {
		if t.String() == s {
			return t, true
		}
	}
	return ManualOnly, false
}

// known returns t, or ManualOnly where t is no tier.
func (t Tier) known() Tier {
	if t < ReadOnly || t > ManualOnly {
		return ManualOnly
	}
	return t
}

// String returns the tier as configuration, JSON and people spell it.
func (t Tier) String() string {
	switch t {
	case ReadOnly:
		return "READ_ONLY"
	case ConfirmOnce:
		return "CONFIRM_ONCE"
	case AlwaysConfirm:
		return "ALWAYS_CONFIRM"
	}
	return "MANUAL_ONLY"
}

// Origin says what started the root turn. Anything but Interactive is autonomous.
type Origin string

// The origins.
const (
	Interactive Origin = "interactive"
	Cron        Origin = "cron"
	Webhook     Origin = "webhook"
	Event       Origin = "event"
	Workflow    Origin = "workflow"
)

// Autonomous reports whether no person stands behind the turn. The empty and any
// unknown origin is autonomous.
func (o Origin) Autonomous() bool { return o != Interactive }

// Verdict is the gate's answer to one call.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// ListMode says what an active skill's allow list means.
type ListMode string

// The modes of a skill's tool list.
const (
	Restrict   ListMode = "restrict"   // tools outside the list are refused
	PreApprove ListMode = "preapprove" // tools inside need no question, if the skill is granted
	Keep       ListMode = "keep"       // kept and shown, nothing more
)

// ActiveSkill is what the gate has to know of one active skill.
type ActiveSkill struct {
	Name, Source string
	Dir          string       // absolute; "" for a skill without a directory
	Digest       skill.Digest // of SKILL.md and sidecars
	TreeDigest   skill.Digest // "" until code counts
	Granted      bool         // trusted by kind, or by a grant on the tree digest
	Allow        skill.ToolList
	Deny         []string
	Mode         ListMode
	// Still says whether Granted holds yet; nil = it does. It is asked before a rule of the
	// skill spares a question, and may look at its files.
	Still func() bool
}

// hash identifies the skill's bytes, as far as they are known.
func (s ActiveSkill) hash() skill.Digest {
	if s.TreeDigest == "" {
		return s.Digest
	}
	return s.TreeDigest
}

// Call is one tool call as it reaches the gate.
type Call struct {
	ID, Session, Turn, Trace string
	Tool                     string          // after unwrapping
	Via                      string          // "", "tool_invoke", "hook", "inline", "script"
	Args                     json.RawMessage // an object; empty counts as {} in Check, as "any" in Explain
	Visible                  []string        // tools that the caller can see; nil = all registered ones
	Origin                   Origin          // of the root turn
	Principal                string          // user, agent:<id>, job:<id>
	Stages                   []string
	Ceiling                  Tier // 0 = ManualOnly
	Skills                   []ActiveSkill
	Placement, Dir           string   // where it will run; Dir is absolute
	Env                      []string // names of the variables that it is given beside the usual ones
	Stdin                    string   // SHA-256 of what it reads, where that is known; "" = it is not, or nothing
	Hook                     HookWord
}

// Namer is a Gate that says whether one of the patterns of a tool list is about a call, in
// the sense of a deny list: one command of a line, or one form of a path, is enough, and a
// pattern that cannot be read is about every call. It decides nothing.
type Namer interface {
	Names(c Call, patterns []string) bool
}

// HookWord is what hooks said of a call before it came to the gate. Ask wants a person
// asked, Deny refuses; every other Verdict says nothing, Allow too: a hook only tightens.
type HookWord struct {
	Verdict Verdict
	Code    string // of a Deny: CodeHookDeny, CodeHookFailed or CodeHookLoop; "" = CodeHookDeny
	Reason  string // names the hook
}

// Ask adds a wish for a question; a refusal stays one.
func (w *HookWord) Ask(reason string) {
	if w.Verdict == Deny {
		return
	}
	if w.Verdict == Ask {
		reason = w.Reason + "; " + reason
	}
	w.Verdict, w.Reason = Ask, reason
}

// code is the code of a refusal.
func (w HookWord) code() string {
	if w.Code == CodeHookFailed || w.Code == CodeHookLoop {
		return w.Code
	}
	return CodeHookDeny
}

// Decision is the gate's answer with its reason. Code is stable text.
type Decision struct {
	Verdict      Verdict
	Code, Reason string
	Tier         Tier
	GrantID      string          // of an Allow: the grant that covers it, or that the answer made
	ConfirmID    string          // of an Ask: what Answer refers to
	CallHash     string          // what a person consents to
	Nonce        string          // of an Ask: proves that the answerer saw this question
	Replies      []Reply         // of an Ask: those that it takes
	Key          string          // of ConfirmOnce: what is remembered for the session
	Rule         string          // that denied, asked or covered the call; several are parted by " ; "
	Parts        []Part          // of a shell command: each simple command with what rules say of it
	PreApproved  string          // of an Allow: "rule" or "skill" where one covers the call, "" where none does
	Override     string          // how the configuration lowered the tool's tier, and why
	Secret       bool            // the arguments hold what no record may
	BypassedBy   string          // "flag_auto" when --auto answered
	Args         json.RawMessage // canonical form of the call's arguments: what was checked, and so what runs
	Suggestions  []string        // of an unknown tool: at most three close names
}

// Answer is a person's answer to an Ask.
type Answer struct {
	ConfirmID string
	Nonce     string // of the Decision that asked
	Session   string // the session whose person answers
	Reply     Reply
	Typed     string // for ManualOnly: the tool's name as the person typed it
	Message   string // with No: what to tell the model

	Expires time.Time // with Always and AlwaysForSkill: when it ends; zero = in 30 days
	Skill   string    // with AlwaysForSkill: which one; "" = the only one that is active
}

// Reply is the choice in an Answer.
type Reply string

// The replies. Which of them a question takes stands in its Decision: those that outlast
// the call are for ConfirmOnce alone.
const (
	Once           Reply = "once"
	ForSession     Reply = "session"
	AlwaysForSkill Reply = "always_for_skill" // a grant, as long as the skill's bytes stay the same
	Always         Reply = "always"           // a grant with a date
	No             Reply = "no"
)

// Gate is the one door every tool call passes.
type Gate interface {
	// Check decides, and writes the audit row before it returns Allow.
	Check(ctx context.Context, c Call) (Decision, error)
	// Answer turns a person's answer into a verdict. Single use: the first answer
	// counts. Only a channel that the host knows to be a person may call it.
	Answer(ctx context.Context, a Answer) (Decision, error)
	// Drop forgets every open question of a session: the person moved on, or the
	// turn was cancelled. What was remembered stays.
	Drop(session string)
	// Forget drops all that is kept of a session, remembered answers included.
	Forget(session string)
	// Explain gives the decision of Check without row, use or confirmation.
	Explain(c Call) Decision
}
