package session

import (
	"context"
	"io"
	"time"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// Actor is who starts a skill.
type Actor string

// The actors. A person and the host may start manual-only skills.
const (
	ActorModel  Actor = "model"
	ActorUser   Actor = "user"
	ActorSignal Actor = "signal"
	ActorHost   Actor = "host"

	ActorScenario Actor = "scenario"
)

// chooses reports whether the actor may start what models do not see.
func (a Actor) chooses() bool { return a == ActorUser || a == ActorHost }

// Pin says when a session takes a new Snapshot.
type Pin string

// The pins.
const (
	PinTurn    Pin = "turn"    // at each Begin; the default
	PinSession Pin = "session" // once, at New
)

// Snapshots gives the newest Snapshot; it must not return nil and is asked by one
// goroutine at a time.
type Snapshots interface{ Snapshot() *registry.Snapshot }

// Access judges by the rules of user and host whether actor may start a skill. It is
// asked before any text is read. The error's text is shown to a person, never to a model.
type Access interface {
	Check(ctx context.Context, actor Actor, r *registry.Record) error
}

// Options configures a session. Snapshots is required; the rest may be zero.
type Options struct {
	ID         string // "" = 128 random bits, base32, lower case
	Snapshots  Snapshots
	Pin        Pin // "" = PinTurn
	Dialect    skill.Dialect
	Base       Base
	Access     Access                                 // nil = no rules
	Bodies     Bodies                                 // nil = through the source of each record
	Unmet      func(*skill.Skill) []string            // names of conditions that do not hold; nil = those the Snapshot found
	Models     func(id string) bool                   // is this model configured; nil = every id is accepted
	Granted    func(r *registry.Record) bool          // does code of this skill count; nil = by kind of source
	Drift      func(r *registry.Record) []string      // how a skill differs from what was granted; nil = nobody can tell
	Kept       func(file skill.Digest) ([]byte, bool) // the bytes that a SKILL.md had, for Resume; nil = none are kept
	Agents     []string                               // kinds of sub-agents that carry out forked skills; nil = the host has none, and they run in place
	Chain      []string                               // addresses of the forked skills that this session carries out, the outermost first; see Child
	Idle       time.Duration                          // without a turn for longer, what is active is dropped; 0 = never
	ProjectDir string                                 // absolute; value of ${PROJECT_DIR}; "" = unset
	Clock      func() time.Time                       // nil = time.Now
	Rand       io.Reader                              // boundaries and ids; nil = crypto/rand
	Audit      func(context.Context, Event) error     // one call an attempt; an error fails an activation
	Commands   Commands                               // of texts, run while they are loaded
	Hooks      HookRegistrar                          // puts hooks of skills, tools and host in force; nil = there are none
	Limits     limits.Session

	HookCommands bool // hooks of skills may be commands
}

// TurnInput starts a turn.
type TurnInput struct {
	// Text is what a person wrote; "" when no person did. A skill that it names by a
	// hyphenated word, or quoted beside the word skill, counts as wanted by the user.
	Text string
	// Door decides on the commands of texts that are loaded in this turn; nil = each would
	// have to be asked about, and so none runs.
	Door Door
	// Trace is the trace id of the turn, for the record of commands; "" = none.
	Trace string
}
