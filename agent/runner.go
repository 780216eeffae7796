package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// Deps is what a Runner works with. Gate and Planner are required; Run needs Model.
type Deps struct {
	Model   model.Model
	Models  func(id string) (model.Model, bool) // another model that a skill asks for; nil = none is known
	Tools   []toolset.Tool                      // all registered ones; the gate's table holds the same, see GateTable
	Gate    gate.Gate
	Planner Planner

	// More brings tools that come and go, beside Tools. It is asked when a turn begins
	// that is no mere plan; the gate has to know them by then. away are sentences
	// for the model about tools that could not be had. nil = there are none.
	More func(ctx context.Context) (tools []toolset.Tool, away []string, err error)

	// MaxTools is how many tools a model is shown by themselves, those for skills not
	// counted; the rest is found with tool_search where that is among Tools. 0 = 40,
	// more than models tell apart well.
	MaxTools int
	// Sources bounds the tools to those of some sources; zero = all.
	Sources ToolSources
	// SkillTools is what the tools for skills among Tools were made of, for texts that name
	// them; zero = deft's own.
	SkillTools toolset.Options

	// Spawn makes the sub-agent that carries out a forked skill, on the caller's goroutine;
	// nil = there are none, and SkillTools.Fork or the host answers. See session.Options.
	Spawn func(ctx context.Context, s Spawn) (Child, error)

	// Fresh gives what a conversation goes on with that was shortened, and has the session
	// tell its skills anew; nil = conversations are not shortened.
	Fresh func(ctx context.Context, snap *registry.Snapshot, routed *route.Result) (Fresh, error)

	// Keeper keeps the transcript of the one session that this Runner then serves; nil = it
	// is not kept. Aside gives what the host adds, before each state entry: of each kind the
	// last one counts, of EntryFile all.
	Keeper Keeper
	Aside  func(ctx context.Context) []Entry

	// Record keeps what becomes of the turns, with what the session notes in Journal; nil =
	// nothing is kept. Both are of one session.
	Record  Recorder
	Journal *Journal
	// Uses is told once, after each turn, what it made of the skills; nil = nobody counts.
	// Kind is the kind of agent that the turns are of; "" = the conversation itself.
	Uses func(ctx context.Context, uses []Use) error
	Kind string

	// Confirmer puts the gate's questions to a person; nil = nobody is there, and
	// every question is a refusal.
	Confirmer Confirmer

	// Hooks are the hooks of the one session that this Runner then serves; nil = there are
	// none. HookCommand runs the command of a hook that the gate has allowed, confined; nil =
	// none is run.
	Hooks       *command.HookSet
	HookCommand func(ctx context.Context, h command.Registered, stdin []byte) (command.Result, error)

	Identity  string // block 1; "" = the skeleton
	Project   string // text of the project's AGENTS.md, see ReadAgentsMD; "" = none
	Dir       string // working directory of the tools, absolute
	Placement string // where tools run, for the record; "" = local
	// Placed says why a tool that runs at Placement cannot run there now, asked before each
	// call; nil = every one can. What cannot run there runs nowhere.
	Placed func(ctx context.Context, s toolset.Spec) error
	// Scenarios says which scenarios a request shows, at most one of them primary, once a
	// turn; nil = none.
	Scenarios func(ctx context.Context, text string) []route.Scenario
	// Pending are lines for the model about what waits for a person and what is to be done,
	// asked before each step; nil = there are none.
	Pending func() []string

	// Spill keeps a tool's output that is too long for the model and returns a path
	// under which the model can read it; nil = the middle of it is lost.
	Spill func(ctx context.Context, tool, output string) (path string, err error)
	// Redact takes out of a tool's output what nobody may see of it; nil = nothing.
	Redact  func(text string) string
	Counter tokens.Counter   // for Prepare's counts; nil = an estimate
	Now     func() time.Time // nil = time.Now
	Jitter  func() float64   // in [0, 1), for the wait before a retry; nil = random
	Rand    io.Reader        // for trace ids; nil = crypto/rand
	Log     *slog.Logger     // nil = nothing is logged
	Observe Observe          // zero = nobody looks
}

// Planner says which skills matter for a request and what the model is shown of them.
// It is called once a turn, after the skills that were asked for by name have started.
type Planner interface {
	Plan(ctx context.Context, in PlanInput) (Plan, error)
}

// PlanInput is what a plan depends on.
type PlanInput struct {
	Snapshot *registry.Snapshot
	Text     string // the request
	Active   []session.Activation
	Preload  []route.Preload // of this turn
	Signal   *route.Signal   // that started the turn; nil = a person did
	Stages   route.StageSet  // given for the turn; empty = inferred from Text
	Window   int             // tokens of the model; 0 = unknown
	// Matched and Away are the addresses of skills with path conditions; see session.Reach.
	Matched, Away map[string]bool
}

// Plan is the router's order and the catalog, and the tools that are not shown in
// this turn though they are registered.
type Plan struct {
	Route   route.Result
	Catalog catalog.Catalog
	Hidden  []string
	// Shape returns what the model is shown of a tool in this turn; nil = the tool's own
	// description and schema.
	Shape func(toolset.Spec) toolset.Spec
	// Began, Routed and Rendered are when the planner began, had the order and had the
	// catalog, for whoever looks at turns; zero = it does not say.
	Began, Routed, Rendered time.Time
	// CatalogInTool says that a tool's description holds the catalog: the prompt has none.
	CatalogInTool bool
}

// Confirmer asks a person. Confirm blocks until there is an answer or ctx ends; an
// error means that no answer can be had. Only Reply, Typed and Message of the Answer
// count: the Runner knows which question it put.
type Confirmer interface {
	Confirm(ctx context.Context, q Question) (gate.Answer, error)
}

// oneByOne puts one question at a time to a person: a text that is loaded and a sub-agent
// may have one at once.
type oneByOne struct {
	of   Confirmer
	busy chan struct{}
}

// Confirm implements Confirmer.
func (o oneByOne) Confirm(ctx context.Context, q Question) (gate.Answer, error) {
	select {
	case o.busy <- struct{}{}:
	case <-ctx.Done():
		return gate.Answer{}, ctx.Err()
	}
	defer func() { <-o.busy }()
	return o.of.Confirm(ctx, q)
}

// Question is what a person has to see to answer. Call.Args is what will run.
type Question struct {
	Call     gate.Call
	Decision gate.Decision
	Tool     toolset.Spec
	Active   []session.Activation // on whose behalf it may be
	Diff     string               // of a call that changes a file: what it would change; "" = not known
	Agents   []string             // the sub-agents that ask, the outermost first: skill and kind; nil = the turn itself

	// For is the skill whose text wants the command run while it is loaded, at Line of its
	// file; zero for a call of a model.
	For  command.SkillRef
	Line int
	// Together are all calls that the one answer is about, this one among them; nil = it
	// is alone. Decision.Tier is the highest of them.
	Together []Question
}

// Runner runs turns. It is safe for concurrent use; one session runs one turn at a
// time. It keeps each session's conversation until Forget.
type Runner struct {
	d     Deps
	tools map[string]toolset.Tool
	specs []toolset.Spec // in the order of Deps.Tools
	eyes  *eyes          // nil = nobody looks

	mu    sync.Mutex
	talks map[string][]model.Message // by session id
	begun map[string]bool            // sessions whose first turn has begun
	kept  keeping                    // belongs to the turn that runs
	last  map[string]Input           // whose account the newest turn of a session runs on

	previews map[string]map[string]int // by session id: what was shown before it is done, and in which turn
}

// New returns a Runner. It fails for missing parts and for two tools of one name.
func New(d Deps) (*Runner, error) {
	if d.Gate == nil || d.Planner == nil {
		return nil, errors.New("agent: a gate and a planner are required")
	}
	if d.Placement == "" {
		d.Placement = "local"
	}
	if d.Redact == nil {
		d.Redact = func(text string) string { return text }
	}
	if d.Counter == nil {
		d.Counter = tokens.Estimate()
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Jitter == nil {
		d.Jitter = mathrand.Float64
	}
	if d.Rand == nil {
		d.Rand = rand.Reader
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Confirmer != nil {
		d.Confirmer = oneByOne{d.Confirmer, make(chan struct{}, 1)}
	}
	r := &Runner{d: d, talks: map[string][]model.Message{}}
	var err error
	if r.eyes, err = d.Observe.eyes(); err != nil {
		return nil, err
	}
	r.tools, r.specs, err = d.register(d.Tools)
	return r, err
}

// register names the tools and says which of them the model has to find first.
func (d *Deps) register(tools []toolset.Tool) (map[string]toolset.Tool, []toolset.Spec, error) {
	byName, specs := make(map[string]toolset.Tool, len(tools)), make([]toolset.Spec, 0, len(tools))
	for _, t := range tools {
		spec := t.Spec()
		if _, twice := byName[spec.Name]; twice {
			return nil, nil, fmt.Errorf("agent: two tools named %q", spec.Name)
		}
		byName[spec.Name] = t
		specs = append(specs, spec)
	}
	return byName, deferred(specs, byName, cmp.Or(d.MaxTools, maxTools)), nil
}

// Run runs one turn. The turn starts when the sequence is read and is over when it
// ends. The last event is turn_finished; it comes with an error where the turn could
// not start or was ended by a fault, and then says the same in End. A consumer that
// stops reading cancels the turn and gets no further event.
func (r *Runner) Run(ctx context.Context, s *session.Session, in Input) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		t := r.turn(ctx, s, in, yield)
		t.run()
	}
}

func (r *Runner) turn(ctx context.Context, s *session.Session, in Input, yield func(Event, error) bool) *turn {
	t := &turn{r: r, s: s, in: in, parent: ctx, yield: yield, started: r.d.Now(), inbox: newInbox(), family: in.family, tools: r.tools, specs: r.specs}
	if t.family == nil {
		t.family = &family{}
	}
	return t
}

// Forget drops what is kept of a session: its conversation, open questions and
// remembered answers.
func (r *Runner) Forget(session string) {
	r.mu.Lock()
	delete(r.talks, session)
	delete(r.begun, session)
	delete(r.last, session)
	delete(r.previews, session)
	r.mu.Unlock()
	r.d.Gate.Forget(session)
}

func (r *Runner) history(session string) []model.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.talks[session]
}

func (r *Runner) remember(session string, turn []model.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	talk := r.talks[session]
	// The old slice may be in use by a request that is being sent: never append in place.
	r.talks[session] = append(talk[:len(talk):len(talk)], turn...)
}
