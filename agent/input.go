package agent

import (
	"encoding/base32"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/route"
)

// Input starts a turn.
type Input struct {
	// Text is the request, verbatim. Leading "/name" words start skills; the text
	// reaches the model as it is. At most MaxInput bytes.
	Text string
	// Skills are started before the first model call, after those that Text names.
	Skills []Preload
	// Origin says what started the turn; "" counts as autonomous.
	Origin gate.Origin
	// Principal is on whose account the turn runs: user, agent:<id>, job:<id>.
	Principal string
	// TraceID names the turn in every record; "" = a new one.
	TraceID string
	// Ceiling is the highest tier that may run; 0 = no ceiling.
	Ceiling gate.Tier
	// Signal is the event that started the turn, nil where a person did. It sets Origin, and
	// without a Ceiling only reading runs. Text is then the prompt of its definition, which
	// may be empty; nothing of the signal starts skills by its words or shows stages.
	Signal *route.Signal
	// AllowPreload names the skills that Signal may ask for beside those of Skills; nil =
	// none.
	AllowPreload []string
	// Stages are those that the definition of a signal's turn gives to the gate, where the
	// signal's own only take away; empty = only reading runs. Of another turn they are the
	// stages, empty = inferred from Text.
	Stages route.StageSet
	// ParentTrace is the trace id that the sender of Signal named and that this turn does
	// not run under; "" = none. With TraceID set, or with this, the host has decided.
	ParentTrace string
	// NoHooks runs no hook, for a look at what a turn would be.
	NoHooks bool
	// Budget bounds the turn; zero fields are the defaults of its origin.
	Budget Budget

	// shorten says that the turn shortens the conversation and does nothing else.
	shorten bool
	// task says that Text is what a skill has a sub-agent do: no person wrote it, so it
	// starts nothing by name and consents to nothing. stages, family and pool are its parent's.
	task   bool
	stages []string
	family *family
	pool   *pool
}

// Preload asks for a skill before the first model call.
type Preload struct {
	Name string // any name that finds a skill
	Args string
	By   string // "user", "signal", "scenario", "host"; "" = user. They start in this order.
}

// MaxInput bounds the text of a request, in bytes: 256 KiB are more than a person
// writes; larger things are files.
const MaxInput = 256 << 10

func (in Input) check() error {
	if len(in.Text) > MaxInput {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrInputTooLarge, len(in.Text), MaxInput)
	}
	if strings.TrimSpace(in.Text) == "" && len(in.Skills) == 0 && in.Signal == nil {
		return ErrNoInput
	}
	return nil
}

// newTrace draws an id of 130 random bits.
func newTrace(random io.Reader) (string, error) {
	var b [17]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("trace id: %w", err)
	}
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])
	return "t_" + strings.ToLower(text[:26]), nil
}

// Budget bounds one turn. Zero fields mean the defaults of DefaultBudget; a host may
// lower them for anyone, and raise them only where the person at the keyboard says so.
type Budget struct {
	Steps        int // requests to the model
	Calls        int // tool calls
	InputTokens  int
	OutputTokens int
	Time         time.Duration
}

// DefaultBudget returns the bounds of a turn of that origin. They stop a run away
// turn before it costs much; an ordinary turn uses a tenth of them.
func DefaultBudget(o gate.Origin) Budget {
	b := Budget{Steps: 50, Calls: 200, InputTokens: 1_000_000, OutputTokens: 64_000, Time: 30 * time.Minute}
	if o.Autonomous() {
		b.Time = 10 * time.Minute
	}
	return b
}

func (b Budget) withDefaults(o gate.Origin) Budget {
	d := DefaultBudget(o)
	or := func(n, d int) int {
		if n == 0 {
			return d
		}
		return n
	}
	d.Steps, d.Calls = or(b.Steps, d.Steps), or(b.Calls, d.Calls)
	d.InputTokens, d.OutputTokens = or(b.InputTokens, d.InputTokens), or(b.OutputTokens, d.OutputTokens)
	if b.Time != 0 {
		d.Time = b.Time
	}
	return d
}
