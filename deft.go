// Package deft is the skills runtime for AI agents: what an agent's author imports.
//
// A skill is a directory with a SKILL.md. An [Engine] finds skills in every place
// that agents keep them, decides which definition of a name wins, chooses which ones
// matter for a request, and renders the catalog that a model is shown. A [Session]
// holds what is active in one conversation; its turns load skills, confine what they
// may do, and run the loop against a model or leave the loop to you.
//
//	engine, err := deft.Open(ctx, deft.Options{Workspace: dir, Home: home})
//	session, err := engine.NewSession(ctx, deft.SessionOptions{Model: m})
//	for event, err := range session.Run(ctx, deft.Input{Text: "review my change"}) { … }
//
// Skills change while a program runs. Without more a turn looks at the folders when the
// last look is older than [Options].Cooldown, for the turns after it. A program that
// lives longer than one request calls [Engine.Watch], and hears of changes by
// [Engine.Subscribe]:
//
//	stop, err := engine.Watch(ctx, registry.WatchOptions{})
//	defer stop()
//	engine.Subscribe(func(c registry.Change) { … })
//
// A host with a loop of its own takes [Session.Begin] instead: it gets the prompt's
// blocks and the tools, calls its model, and hands each tool call to [Turn.Call],
// which passes the gate.
//
// What skills want to have run, commands in their texts, scripts and hooks, is run only in
// a sandbox that the host gives in [Options], and whose helper is this program started once
// more: see [Helper] and [Commands]. Without one nothing runs, and each place says so.
//
// The engine has no global state and prints nothing; it reads home, environment,
// clock and randomness from [Options]. Everything here is safe for concurrent use
// except where a method says otherwise; one turn runs at a time in a session.
//
// This package only wires: rules live in skill, source, registry, route, search,
// catalog, session, command, toolset, gate and agent, each of which can be imported alone. It
// imports no model adapter: give one to [SessionOptions].
package deft

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// Engine knows every skill of one workspace. Safe for concurrent use.
type Engine struct {
	o        Options
	env      skill.Environment
	skills   toolset.Options
	tools    []toolset.Tool // of a session that has read nothing: names, tiers and schemas
	registry *registry.Registry
	catalog  *catalog.Renderer
	index    *search.Index
	places   []source.Place
	judge    *judge
	schemas  gate.Schemas // of every session's tools
	vault    vault
	offers   offers

	routers routers

	mu sync.Mutex // guards what follows
	// indexed is the Snapshot that each scope of the index was brought up to.
	indexed map[string]*registry.Snapshot
}

// Open finds the skills of o and decides which win. Whatever is wrong with a skill or
// a place is a diagnostic of the Snapshot; the error is for options that make no
// sense and for the context's end.
func Open(ctx context.Context, o Options) (*Engine, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{o: o, catalog: catalog.New(catalog.Config{Counter: o.Counter}), indexed: map[string]*registry.Snapshot{}}
	e.skills = o.SkillTools
	e.skills.Dialect, e.skills.Style, e.skills.Searcher, e.skills.Tier = o.Dialect, o.Style, searcher{e, nil}, e.tierOf
	if e.skills.Scripts == nil && o.runsScripts() {
		e.skills.Scripts = toolset.NoSandbox{} // of a session's own; see newTools
	}
	e.tools = e.newTools(nil)
	e.env = o.environment(e.tools)
	env := o.sourceEnv()
	seeded := o.seed(ctx, env)
	fixed := env
	fixed.NoPlugins = true // they come and go: see arrivals
	sources, diags := o.sources(ctx, fixed)
	e.places = slices.Concat(o.Places, source.OffPlaces(env, sources), source.ClientPlaces(env, sources))
	e.judge = newJudge(o, env)
	e.judge.offers = &e.offers
	e.registry, err = registry.Open(ctx, registry.Config{
		Sources:     sources,
		Arrivals:    o.arrivals(env, sources),
		Diagnostics: append(append(diags, o.findings()...), seeded...),
		Dialect:     o.Dialect,
		Trust:       e.judge,
		Decider:     e.judge,
		Environment: e.env,
		Workspace:   o.Workspace,
		QuietCopies: o.QuietCopies,
		Filters:     o.filters(),
		Views:       e.views(env),
		Beta:        o.MiniMax.Beta,
		Now:         o.Clock,
		Cooldown:    o.Cooldown,
		Blocking:    o.Blocking,
		Report:      o.Report,
		Index:       o.indexDir(),
		Stamp:       buildStamp(),
	})
	if err != nil {
		return nil, fmt.Errorf("skills of %s: %w", o.Workspace, err)
	}
	if o.Search.Dialect == "" {
		o.Search.Dialect = o.Dialect
	}
	if dir := o.indexDir(); dir != "" && o.Search.Dir == "" {
		o.Search.Dir, o.Search.Stamp = o.searchDir(), buildStamp()
	}
	if e.index, err = search.Open(o.Search); err != nil {
		return nil, err
	}
	e.logSkills()
	return e, nil
}

// Snapshot returns what is known now: winners, losers and why. It never blocks.
func (e *Engine) Snapshot() *registry.Snapshot { return e.registry.Snapshot() }

// Environment is what the conditions of skills are judged against now, without what is
// there only in the turns of a session, such as tools of servers that were not asked.
func (e *Engine) Environment() skill.Environment { return e.ready(e.Snapshot()).env }

// Sources returns the places that are searched, in order.
func (e *Engine) Sources() []source.Source { return e.registry.Sources() }

// Refresh looks at every place again, reads what changed, and returns the new
// Snapshot. On an error the former one stays.
func (e *Engine) Refresh(ctx context.Context) (*registry.Snapshot, error) {
	e.mu.Lock()
	for scope := range e.indexed {
		e.index.Recheck(scope) // references change without their skill
	}
	e.mu.Unlock()
	return e.registry.Refresh(ctx, registry.RefreshOptions{})
}

// Explain says why a name is there or isn't, and what to do about it. It may look, by
// names only and for a fifth of a second, at places that are no sources.
func (e *Engine) Explain(ctx context.Context, name string) registry.Explanation {
	x := e.Snapshot().ExplainWith(ctx, name, func(ctx context.Context, name string, places []source.Place) []source.Skipped {
		return source.Look(ctx, name, append(places, e.places...))
	})
	e.explainBudget(ctx, &x)
	e.explainFork(ctx, &x)
	return x
}

// Watch notices changes of the folders as they happen, until stop or Close; turns then
// need no look of their own. A program that lives longer than one request turns it on
// once, after Open. A turn keeps the skills that it began with; the next one has the new
// ones. See registry.Registry.Watch.
func (e *Engine) Watch(ctx context.Context, o registry.WatchOptions) (stop func(), err error) {
	return e.registry.Watch(ctx, o)
}

// WatchStatus says how changes are noticed now.
func (e *Engine) WatchStatus() registry.WatchStatus { return e.registry.WatchStatus() }

// Subscribe calls fn after each Snapshot whose usable skills differ from the one before.
// See registry.Registry.Subscribe.
func (e *Engine) Subscribe(fn func(registry.Change)) (cancel func()) { return e.registry.Subscribe(fn) }

// Close stops watching and frees the index. Sessions must be closed before.
func (e *Engine) Close() error { return errors.Join(e.registry.Close(), e.index.Close()) }

// Search looks inside the skills. A zero q.View is the person's: every skill that is
// not withheld; search.ModelView is a model's. The first search reads every skill.
func (e *Engine) Search(ctx context.Context, q search.Query) (search.Result, error) {
	if err := e.updateIndex(ctx, "", e.Snapshot()); err != nil {
		return search.Result{}, err
	}
	return e.index.Search(ctx, q)
}

// Warm reads every skill for the search, and gets its vectors where there is an
// embedder, whose error it returns; the first search need not then.
func (e *Engine) Warm(ctx context.Context) error {
	if err := e.updateIndex(ctx, "", e.Snapshot()); err != nil {
		return err
	}
	return e.index.Warm(ctx, "")
}

func (e *Engine) updateIndex(ctx context.Context, scope string, snap *registry.Snapshot) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.indexed[scope] == snap {
		return nil
	}
	if e.indexed[scope] == nil && scope != "" {
		e.index.Fork("", scope) // a session's: little differs
	}
	if _, err := e.index.Update(ctx, scope, snap); err != nil {
		return fmt.Errorf("search index: %w", err)
	}
	e.indexed[scope] = snap
	return nil
}

// Request is what routing depends on beside the skills.
type Request struct {
	Text    string
	Stages  route.StageSet // zero = inferred from Text
	Assets  []route.Asset
	Signal  *route.Signal
	Preload []route.Preload
	Loaded  []string // addresses of active skills
}

// retrieved is how many hits of the search the router is given.
const retrieved = 50

// Route ranks the skills that a model may see for one request: by their conditions,
// keywords and stages, and by what the search finds in their texts.
func (e *Engine) Route(ctx context.Context, r Request) (route.Result, error) {
	snap := e.Snapshot()
	in, err := e.routing(ctx, snap, "", r, nil)
	if err != nil {
		return route.Result{}, err
	}
	return e.ready(snap).router.Route(ctx, in)
}

// ExplainRoute says how one skill fares for a request, rule by rule.
func (e *Engine) ExplainRoute(ctx context.Context, r Request, name string) (route.Explanation, error) {
	snap := e.Snapshot()
	in, err := e.routing(ctx, snap, "", r, nil)
	if err != nil {
		return route.Explanation{}, err
	}
	return e.ready(snap).router.Explain(in, name), nil
}

func (e *Engine) routing(ctx context.Context, snap *registry.Snapshot, scope string, r Request, away map[string]bool) (route.TurnRoutingContext, error) {
	now := e.ready(snap)
	in := route.TurnRoutingContext{
		Message: r.Text, Stages: r.Stages, Assets: r.Assets, Signal: r.Signal,
		Preload: r.Preload, Loaded: r.Loaded, Env: now.env,
	}
	if !now.router.Retrieves() {
		return in, nil // no need to read every skill
	}
	if err := e.updateIndex(ctx, scope, snap); err != nil {
		return in, err
	}
	found, err := e.index.Search(ctx, search.Query{Text: r.Text, Plain: true, Bare: true, TopK: retrieved, View: within(now.view, away), Scope: scope})
	if err != nil {
		return in, fmt.Errorf("search for the request: %w", err)
	}
	for _, h := range found.Hits {
		in.Retrieved = append(in.Retrieved, route.Retrieved{
			Address: h.Address, Score: h.Score, Coverage: h.Coverage, Share: h.Share, Evidence: h.Evidence,
		})
	}
	return in, nil
}
