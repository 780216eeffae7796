package deft

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

// Input is one request; see agent.Input. The zero Origin counts as autonomous: set
// gate.Interactive where a person asks.
type Input = agent.Input

// Event is one thing that happens in a turn; see agent.Event.
type Event = agent.Event

// Plan is a turn up to the first request to a model; see agent.Prepared.
type Plan = agent.Prepared

// Turn is a turn whose loop is the host's own; see agent.Turn.
type Turn = agent.Turn

// SessionOptions says what one conversation runs with. The zero value has no model,
// nobody to ask, and no identity but the skeleton.
type SessionOptions struct {
	ID     string                              // "" = drawn at random
	Model  model.Model                         // nil = Run ends with stop offline; Plan and Begin work
	Models func(id string) (model.Model, bool) // other models that a skill may ask for; nil = none
	// Confirm puts the gate's questions to a person; nil = every question is a refusal.
	Confirm agent.Confirmer
	Auto    gate.Tier // questions up to this tier are answered yes; at most gate.AlwaysConfirm
	Mode    gate.Mode // "" = gate.Default
	// ToolSources bounds the tools to those of some sources; zero = all.
	ToolSources agent.ToolSources
	// StrictStages bounds tools by the stages of each turn; see gate.Options.
	StrictStages bool
	// Placement is where the tools for files, shell and code run: local, sandbox or
	// remote:NAME; "" = Options.Preference, or local. See PlacementLocal.
	Placement string
	// Pending are lines about what waits for a person, for the end of each prompt; nil =
	// there are none.
	Pending func() []string
	// Identity is the first block of the prompt; "" = deft's own skeleton.
	Identity string
	// Project is the text of the project's AGENTS.md; see agent.ReadAgentsMD.
	Project string
	Base    session.Base // what holds before any skill: the host's policy, model, prompt
	// Agents are the kinds of sub-agents by which the host carries out forked skills: by
	// Options.SkillTools.Fork, or from what the tool that starts a skill gives back. nil =
	// with a Model, deft's own do it, see Engine.Agents; without one such skills run in
	// place.
	Agents []string
	// Agent has the session run as a kind of agent: within its tools, skills and ceiling, with
	// its prompt and its skills started; nil = as the person's own. See Engine.Agent.
	Agent *agent.Definition
	// Resume is the state of a former session that goes on; see Session.State and Resumed.
	Resume *session.State
	Kept   func(file skill.Digest) ([]byte, bool) // see session.Options
	// Keep keeps the conversation as it grows, for another process to go on with; nil = it is
	// not kept. The session does not close it.
	Keep agent.Keeper
	// Transcript is what a former process kept of the session, by agent.ReadTranscript: it
	// goes on, with the same next prompt while the skills are the same. Resume and Kept are
	// not read then.
	Transcript *agent.Transcript
	// Ended is told of the hooks that run when the session is closed, which belong to no
	// turn; nil = nobody is.
	Ended func(Event)
}

// Session is one conversation. Safe for concurrent use; one turn runs at a time, and
// another gets session.ErrBusy.
type Session struct {
	engine *Engine
	inner  *session.Session
	runner *agent.Runner
	work   *work
	shown  *shown

	o       SessionOptions
	kinds   []agent.Definition // of sub-agents that are deft's own
	up      *upper             // what bounds it; nil = nothing does
	access  session.Access
	blind   bool // of an agent that may not see what skills there are
	resumed session.ResumeReport
	hooks   *command.HookSet
	plugins pluginHooks
	filed   map[skill.Digest]bool // SKILL.md files in the transcript; of the turn that runs
}

// NewSession starts a conversation. Close it.
func (e *Engine) NewSession(ctx context.Context, o SessionOptions) (*Session, error) {
	if o.Agent != nil {
		return e.newSession(ctx, o, &upper{kind: *o.Agent})
	}
	return e.newSession(ctx, o, nil)
}

// newSession makes a session; up is what a sub-agent's has from the one above it, else nil.
func (e *Engine) newSession(ctx context.Context, o SessionOptions, up *upper) (_ *Session, err error) {
	w, err := e.newWork(up)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = w.close() // the error that there is tells more
		}
	}()
	s := &Session{engine: e, work: w, o: o, up: up, blind: !up.sees(), shown: &shown{thread: e.catalog.Thread()}, hooks: e.o.newHooks(up)}
	w.place = e.placeOf(o, w)
	agents := s.forks(ctx, up)
	w.kinds, w.depth = s.kinds, up.depth()
	tools := up.tools(w.place.tools(e.newTools(w)), e.skills)
	table, err := agent.GateTableOf(&e.schemas, tools)
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	door, err := e.door(o, w, table)
	if err != nil {
		return nil, err
	}
	of := session.Options{
		ID: o.ID, Access: access{}, Kept: o.Kept, Agents: agents, Snapshots: w, Dialect: e.o.Dialect, Base: o.Base, ProjectDir: e.o.Workspace,
		Clock: e.o.Clock, Rand: e.o.Rand, Idle: e.idle(), Models: o.known(), Commands: w.runs.texts(),
		Hooks: registrar{s.hooks}, HookCommands: e.o.Commands.Hooks,
		// A skill is started inside a turn; what it may do is asked without one.
		Granted: func(r *registry.Record) bool { return e.granted(context.WithoutCancel(ctx), r) },
		Drift:   func(r *registry.Record) []string { return e.Drift(context.WithoutCancel(ctx), r) },
	}
	journal := e.journal(&of)
	of = up.inherit(of, w.view.Snapshot)
	s.access = of.Access
	if s.inner, s.resumed, err = e.openSession(ctx, o, of); err != nil {
		return nil, err
	}
	w.inner = s.inner
	deps := agent.Deps{
		Model: o.Model, Models: o.Models, Tools: tools, Gate: door, Planner: planner{e, w.view, s.shown, s.blind}, Confirmer: o.Confirm,
		SkillTools: e.skills, MaxTools: e.o.MaxTools, Sources: o.ToolSources, Spill: w.spill.keep, Redact: e.vault.Hide,
		Hooks: s.hooks, HookCommand: w.runs.runHook, Fresh: s.renewed, Keeper: o.Keep, Aside: s.aside, Record: e.o.History, Journal: journal, Uses: e.o.Uses, Kind: up.id(),
		Placement: w.place.name, Placed: w.place.able, Pending: s.pending, Scenarios: e.newScenarios(ctx, o, up),
		Identity: o.Identity, Project: o.Project, Dir: e.o.Workspace, Counter: e.o.Counter, Now: e.o.Clock, Rand: e.o.Rand,
		Log: e.o.log(), Observe: e.o.Observe,
	}
	if s.kinds != nil {
		deps.Spawn = s.spawn
	}
	deps.More = e.more(s, table, tools, up)
	if s.runner, err = agent.New(deps); err != nil {
		return nil, err
	}
	return s, s.goOn()
}

// door is the gate of one session.
func (e *Engine) door(o SessionOptions, w *work, table *gate.Table) (gate.Gate, error) {
	paths := e.paths()
	paths.Readable = append(paths.Readable, w.spill.dir)
	return gate.New(gate.Options{
		Tools: table, Audit: e.o.record(), Answerable: o.Confirm != nil, Mode: o.Mode, Auto: o.Auto, StrictStages: o.StrictStages, Dialect: e.o.Dialect, Paths: paths,
		Rules: e.o.Rules, Now: e.o.Clock, Rand: e.o.Rand,
		Grants: e.o.Grants, Confirms: e.o.Confirms, Redact: gate.Redactor{Values: e.vault.Hide},
	})
}

func (e *Engine) openSession(ctx context.Context, so SessionOptions, o session.Options) (*session.Session, session.ResumeReport, error) {
	st := so.Resume
	if t := so.Transcript; t != nil {
		st, o.Kept = t.State, keptFiles(t.Files)
	}
	if st == nil {
		s, err := session.New(ctx, o)
		return s, session.ResumeReport{}, err
	}
	s, report, err := session.Resume(ctx, *st, o)
	if err == nil && so.Transcript == nil { // no conversation holds the texts of what a model started
		s.Renew(s.Fresh(session.FreshBudget{Read: e.toolNames().Read}))
	}
	return s, report, err
}

// known tells whether a model is there; nil = the host does not say.
func (o SessionOptions) known() func(id string) bool {
	if o.Models == nil {
		return nil
	}
	return func(id string) bool {
		_, ok := o.Models(id)
		return ok
	}
}

// idle is how long what was loaded on demand outlives its last turn.
func (e *Engine) idle() time.Duration {
	if e.skills.OnDemand == "" {
		return 0
	}
	return toolset.OnDemandIdle
}

// runs runs what skills of the session want to have run.
func (s *Session) runs() *runs { return s.work.runs }

// ID returns the session's id.
func (s *Session) ID() string { return s.inner.ID() }

// Run runs one turn with the session's model and tells what happens; see
// agent.Runner.Run. The last event is turn_finished.
func (s *Session) Run(ctx context.Context, in Input) iter.Seq2[Event, error] {
	s.work.named(in.Text)
	s.heedPlugins(ctx)
	in, err := s.as(in)
	if err != nil {
		return func(yield func(Event, error) bool) {
			yield(Event{Type: agent.TurnFinished, Session: s.ID(), End: &agent.End{Stop: agent.StopRefused, Code: "agent_trigger", Message: err.Error()}}, err)
		}
	}
	return s.runner.Run(ctx, s.inner, in)
}

// Compact shortens the conversation now; see agent.Runner.Compact.
func (s *Session) Compact(ctx context.Context, in Input) iter.Seq2[Event, error] {
	return s.runner.Compact(ctx, s.inner, in)
}

// Plan does everything of a turn that needs no model, and ends it: what is found and
// ranked, what is started, the prompt, and what the gate says to the tools that the
// started skills ask for. Skills of session scope stay active.
func (s *Session) Plan(ctx context.Context, in Input) (Plan, error) {
	s.work.named(in.Text)
	s.heedPlugins(ctx)
	in, err := s.as(in)
	if err != nil {
		return Plan{}, err
	}
	return s.runner.Prepare(ctx, s.inner, in)
}

// Begin starts a turn for a host that has a loop of its own: it takes the prompt's
// blocks and the tools from the Turn, calls its model, and hands every tool call back
// to Turn.Call. End the Turn whatever happens.
func (s *Session) Begin(ctx context.Context, in Input) (*Turn, error) {
	s.work.named(in.Text)
	s.heedPlugins(ctx)
	in, err := s.as(in)
	if err != nil {
		return nil, err
	}
	return s.runner.Begin(ctx, s.inner, in)
}

// State returns what SessionOptions.Resume needs to go on in another process.
func (s *Session) State() session.State { return s.inner.State() }

// Resumed says what became of the state that the session was opened with.
func (s *Session) Resumed() session.ResumeReport { return s.resumed }

// Active returns the active skills: the session's, then the turn's.
func (s *Session) Active() []session.Activation { return s.inner.Active() }

// Clear ends everything that is active, as if the conversation began anew.
func (s *Session) Clear() { s.inner.Clear() }

// Effective returns what holds now: tools, model, prompt.
func (s *Session) Effective() session.Effective { return s.inner.Effective() }

// Close runs the hooks for the session's end, where a turn has begun, then drops what is
// active and what is kept of the conversation. It is idempotent.
func (s *Session) Close() error {
	s.runner.Leave(context.Background(), s.inner, s.o.Ended)
	s.runner.Forget(s.inner.ID())
	return errors.Join(s.inner.Close(), s.work.close())
}

// Tools describes every tool that a session has, whatever a turn shows of them.
func (e *Engine) Tools() []toolset.Spec {
	out := make([]toolset.Spec, 0, len(e.tools))
	for _, t := range e.tools {
		out = append(out, t.Spec())
	}
	return out
}

// newTools makes the tools of one session, w; nil = for their descriptions. Those for
// skills search what the session sees, those for files remember what it has read.
func (e *Engine) newTools(w *work) []toolset.Tool {
	skills, files := e.skills, toolset.FileOptions{Workspace: e.o.Workspace, Denied: e.o.Rules.ReadDenied(e.paths())}
	if w != nil {
		files.Outputs, files.Todo = w.spill.dir, w.todo
		if e.o.SkillTools.Scripts == nil && skills.Scripts != nil {
			skills.Scripts = scripts{e, w}
		}
		skills.Searcher = searcher{e, w}
		files.Touched = func(file string) { w.touch(file); w.inner.Touch(file) }
	}
	tools := toolset.Skills(skills)
	if !e.o.NoFiles {
		tools = append(tools, toolset.Files(files)...)
	}
	tools = append(append(tools, e.shell(w)...), e.ownTools(w)...)
	return append(tools, e.o.Tools...)
}

func (e *Engine) tierOf(tool string) (gate.Tier, bool) {
	for _, t := range e.tools {
		if spec := t.Spec(); spec.Name == tool {
			return spec.Tier, true
		}
	}
	return 0, false
}

func (e *Engine) toolNames() catalog.ToolNames {
	return catalog.ToolNames{Skill: e.skills.LoaderName(), Read: e.skills.Name(toolset.NameSkillRead), Search: e.skills.SearchName()}
}

// paths says which files are whose. A skill's own files are read with skill_read,
// which needs no file permission.
func (e *Engine) paths() gate.PathPolicy {
	p := gate.PathPolicy{Workspace: e.o.Workspace, Home: e.o.Home, Confined: !e.o.NoFiles}
	if e.o.DataDir != "" {
		p.State = append(p.State, filepath.Clean(e.o.DataDir))
	}
	return p
}

func (o Options) record() gate.Sink {
	if o.Record == nil {
		return unrecorded{}
	}
	return o.Record
}

// journal has a session note what becomes of its skills, where there is a history for it.
func (e *Engine) journal(of *session.Options) *agent.Journal {
	if e.o.History == nil {
		return nil
	}
	j := &agent.Journal{}
	of.Audit = j.Note
	return j
}

// unrecorded keeps nothing.
type unrecorded struct{}

func (unrecorded) Record(context.Context, gate.Row) error { return nil }

// planner gives the loop the router's order and the catalog.
type planner struct {
	e     *Engine
	view  *registry.View
	shown *shown
	blind bool // of a sub-agent that may not see what skills there are
}

// Plan implements agent.Planner.
func (p planner) Plan(ctx context.Context, in agent.PlanInput) (agent.Plan, error) {
	e := p.e
	if p.blind {
		return agent.Plan{Route: route.Result{Fit: route.FitNone}, Hidden: e.hidden(in, catalog.Catalog{})}, nil
	}
	plan := agent.Plan{Began: e.o.Clock(), CatalogInTool: e.skills.ListInTool()}
	r := Request{Text: in.Text, Preload: in.Preload, Signal: in.Signal, Stages: in.Stages}
	for _, a := range in.Active {
		r.Loaded = append(r.Loaded, a.Address)
	}
	context, err := e.routing(ctx, in.Snapshot, p.view.ID(), r, in.Away)
	if err != nil {
		return agent.Plan{}, err
	}
	routed, err := e.ready(in.Snapshot).router.Route(ctx, context)
	if err != nil {
		return agent.Plan{}, err
	}
	plan.Route, plan.Routed = routed, e.o.Clock()
	asked := e.catalogInput(in.Snapshot, CatalogOptions{Window: in.Window, View: catalog.View{Touched: in.Matched}}, &routed)
	for _, a := range in.Active {
		asked.ActiveTokens += a.Tokens
	}
	shown, err := p.shown.next(ctx, asked, in.Window)
	if err != nil {
		return agent.Plan{}, err
	}
	all := shown.Report.Mode == catalog.ModeStable && shown.Report.Omitted == 0
	plan.Catalog, plan.Rendered, plan.Hidden = shown, e.o.Clock(), e.hidden(in, shown)
	plan.Shape = func(s toolset.Spec) toolset.Spec { return e.skills.Dress(s, in.Snapshot, shown.Stable.Text, all) }
	return plan, nil
}

// hidden names the skill tools that this turn does not show.
func (e *Engine) hidden(in agent.PlanInput, shown catalog.Catalog) []string {
	exposed := toolset.Exposed(e.skills, toolset.View{
		Snapshot: in.Snapshot, Active: len(in.Active), CatalogMentions: shown.NeedsSearch(e.toolNames()),
	})
	show := map[string]bool{}
	for _, name := range exposed {
		show[name] = true
	}
	var out []string
	for _, t := range toolset.Skills(e.skills) {
		_, passing := t.(toolset.Passing) // says itself when it is there
		if name := t.Spec().Name; !show[name] && !passing {
			out = append(out, name)
		}
	}
	return out
}

// searcher lends the index to skill_search; without work it finds the engine's skills.
type searcher struct {
	e    *Engine
	work *work
}

// Search implements toolset.Searcher.
func (s searcher) Search(ctx context.Context, snap *registry.Snapshot, query string, names []string, topK int) (toolset.Found, error) {
	scope, view := "", s.e.ready(snap).view
	if s.work != nil {
		_, away := s.work.inner.Reach(snap)
		scope, view = s.work.view.ID(), within(view, away)
	}
	if err := s.e.updateIndex(ctx, scope, snap); err != nil {
		return toolset.Found{}, err
	}
	if len(names) > 0 {
		wanted := skill.NewNameSet(names...)
		all := view
		view = search.NewView(func(address string) bool { return wanted.Has(address) && all.Has(address) })
	}
	res, err := s.e.index.Search(ctx, search.Query{Text: query, TopK: topK, View: view, Scope: scope})
	if err != nil {
		return toolset.Found{}, err
	}
	out := toolset.Found{Searched: res.Searched, Degraded: res.Degraded}
	for _, h := range res.Hits {
		hit := toolset.Hit{Address: h.Address, Description: h.Description, Score: h.Score, Strength: string(h.Strength)}
		if len(h.Matches) > 0 {
			m := h.Matches[0]
			hit.File, hit.StartLine, hit.EndLine, hit.Snippet = m.File, m.StartLine, m.EndLine, m.Snippet
		}
		out.Hits = append(out.Hits, hit)
	}
	return out, nil
}

// within is view without the skills that are away; nil = none is.
func within(view *search.View, away map[string]bool) *search.View {
	if len(away) == 0 {
		return view
	}
	return search.NewView(func(address string) bool { return !away[address] && view.Has(address) })
}

// pending are the lines that end a prompt: what waits for a person, and what is left of
// the list of things to do.
func (s *Session) pending() (lines []string) {
	if s.o.Pending != nil {
		lines = s.o.Pending()
	}
	open := slices.DeleteFunc(s.work.todo.Items(), func(i toolset.Item) bool { return i.Status == toolset.Done })
	for n, item := range open {
		if n == 0 {
			lines = append(lines, "To do, as you noted it:")
		}
		lines = append(lines, fmt.Sprintf("- [%s] %s", item.Status, item.Text))
	}
	return lines
}
