package toolset

import (
	"context"
	"encoding/json"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
)

// Mode says how a tool runs beside other calls of one model step.
type Mode string

// The modes.
const (
	Parallel Mode = "parallel" // may run beside other read-only calls
	Alone    Mode = "alone"    // runs first; calls above READ_ONLY beside it are not run
)

// Spec describes a tool to the model and to the gate.
type Spec struct {
	Name, Description, Toolset string
	Input                      json.RawMessage // JSON Schema 2020-12
	Tier                       gate.Tier       // zero counts as ManualOnly
	Mode                       Mode
	ReadOnly, Deferred         bool

	// Always keeps the tool in the model's list, however many tools there are.
	Always bool

	// Source is where the tool comes from and Trust how far that is trusted, for hosts that
	// show the tools of some sources only; see agent.ToolSources. "" = "builtin", "trusted".
	Source, Trust string

	// Mark tells this tool from another of the same name, such as the digest of what a server
	// says of it: a person's answer about one is none about another.
	Mark string

	// Steers says that a model leaves or reads with it what limits it: no skill's list takes
	// it away. The host's lists may.
	Steers bool

	// Shell is the argument that holds a command line, of which the gate judges what it
	// would start; "" = there is none.
	Shell string

	// Runs says that it starts programs: a question about it names the sandbox.
	Runs bool

	// Requires are names of skills that must be active before the tool is shown or runs.
	Requires []string
}

// Call is one call of a tool that has passed the gate.
type Call struct {
	ID       string
	Input    json.RawMessage
	Turn     *session.Turn
	Snapshot *registry.Snapshot
	Step     Step

	// Registered are the tools that this session may call, whether the model is shown
	// them or not; only tool_search looks at it.
	Registered []Spec

	// Fork has a sub-agent of the loop carry a forked skill out and returns its answer, or
	// what it is called until the answer comes; nil = the loop has none.
	Fork func(ctx context.Context, f session.Fork) (string, error)

	// Shown reports whether a tool is declared to the model in this step, so that no
	// text sends it to one that is not; nil = every tool is.
	Shown func(tool string) bool
}

// Step numbers a call within its turn.
type Step struct{ Model, Index int }

// Retry tells the model whether trying again makes sense.
type Retry string

// The retries.
const (
	RetryNone      Retry = ""
	RetryCorrected Retry = "corrected"
	RetryFinal     Retry = "final"
)

// Result is what a tool answers. Code is stable; IsError marks what the model can
// repair. Structured is the same content for hosts.
type Result struct {
	Text       string
	Structured any
	Code       string
	IsError    bool
	Retry      Retry
	Meta       Meta

	// Patch is what the tool changes of the session; nil = nothing. The loop applies it once
	// the call has succeeded, before the next one. Its owner is the tool.
	Patch *session.Patch
}

// Meta says what happened on the way.
type Meta struct {
	Truncated bool
	Activated []string // names of skills that this call activated
	Wrote     []string // files that this call wrote, as the call named them
	ReadOf    string   // address of the skill of which this call read a file; "" = none
	Read      string   // that file, relative to the skill
	Confirmed bool     // the model claimed consent, which counts for nothing and belongs in a log
}

// Tool is something the model can call. Call returns a Go error only for a
// cancelled context or a broken invariant; what the model can repair is a Result.
type Tool interface {
	Spec() Spec
	Call(ctx context.Context, c Call) (Result, error)
}

// Stateful is a Tool with a state that belongs to the session and outlives its process.
type Stateful interface {
	State() json.RawMessage              // on one line; nil = nothing to keep
	Restore(state json.RawMessage) error // what State gave in a former process
}

// Previewer is a Tool that shows before it acts: a call without "confirm": true in its
// arguments goes to Preview, one with it to Call, and only where the same arguments were
// shown in an earlier turn. The gate is asked about either call, as about any other.
type Previewer interface {
	// Preview returns what Call would do and changes nothing.
	Preview(ctx context.Context, c Call) (Result, error)
}
