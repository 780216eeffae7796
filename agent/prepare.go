package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/toolrule"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/session"
)

// prepare does everything up to the first request to the model.
func (t *turn) prepare() error {
	if err := t.opening(); err != nil {
		return err
	}
	preload, err := t.preload()
	if err != nil {
		return err
	}
	if err := t.opening(); err != nil {
		return err
	}
	return t.makePlan(preload)
}

func (t *turn) makePlan(preload []route.Preload) error {
	in := PlanInput{
		Snapshot: t.turn.Snapshot(), Text: t.in.Text, Active: t.s.Active(), Preload: preload, Signal: t.in.Signal, Stages: t.in.Stages,
	}
	if t.r.d.Model != nil {
		in.Window = t.r.d.Model.Info().Window
	}
	t.hear()
	in.Matched, in.Away = t.s.Reach(in.Snapshot)
	plan, err := t.r.d.Planner.Plan(t.ctx, in)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	t.plan = plan
	t.r.eyes.planned(t.ctx, plan)
	t.log(slog.LevelDebug, "skills were ranked", "skills/router", "routed", "hits", len(plan.Route.Hits), "fit", string(plan.Route.Fit))
	t.emit(Event{Type: Routed, Route: &t.plan.Route})
	t.recordBegin()
	t.emit(Event{Type: CatalogRendered, Catalog: &t.plan.Catalog})
	return nil
}

// starters is the order in which preloads start, and who they count as.
var starters = []struct {
	by    string
	actor session.Actor
}{
	{"user", session.ActorUser}, {"signal", session.ActorSignal}, {"scenario", session.ActorScenario}, {"host", session.ActorHost},
}

func starterOf(by string) int {
	return max(0, slices.IndexFunc(starters, func(s struct {
		by    string
		actor session.Actor
	}) bool {
		return s.by == by
	}))
}

// preload starts what the message's leading names and the input ask for. What cannot
// be started is told and noted for the model; it never ends the turn.
func (t *turn) preload() ([]route.Preload, error) {
	var list []Preload
	if t.in.task {
		return t.startAll(t.in.Skills)
	}
	if t.s.Reminds() {
		t.reminder = session.Reminder([]string{t.in.Text}, t.r.d.SkillTools.LoaderName(), t.named)
		return t.startAll(t.in.Skills)
	}
	names, args, unknown := t.s.Leading(t.in.Text, func(name string) bool { return knows(t.turn.Snapshot(), name) })
	for _, name := range names {
		list = append(list, Preload{Name: name, Args: args, By: "user"})
	}
	if unknown != "" {
		t.emit(Event{Type: Preloaded, Skill: &SkillEvent{
			Name: unknown, By: "user", Code: codeCommand,
			Message: fmt.Sprintf("/%s is no skill; the message is sent as it is%s", unknown, closeTo(t.turn.Snapshot(), unknown)),
		}})
	}
	return t.startAll(slices.Concat(list, t.in.Skills, t.signalSkills(), t.pickScenarios()))
}

// named returns the own name of the skill that a person means, however it is
// capitalised.
func (t *turn) named(name string) (string, bool) {
	for _, r := range t.turn.Snapshot().Winners {
		if r.ForModel() && strings.EqualFold(r.Address, name) {
			return r.Address, true
		}
	}
	return "", false
}

// startAll starts the skills of a list in the order of who asks for them.
func (t *turn) startAll(list []Preload) ([]route.Preload, error) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Preload) int { return cmp.Compare(starterOf(a.By), starterOf(b.By)) })
	var started []route.Preload
	for _, p := range list {
		loaded, err := t.start(p)
		if err != nil {
			return nil, err
		}
		if loaded != nil {
			started = append(started, route.Preload{Address: loaded.Address, By: starters[starterOf(p.By)].by})
		}
	}
	return started, nil
}

// codeCommand marks a leading "/word" that is no skill.
const codeCommand = "command_unknown"

// start starts one skill before the first request. The error is for an ended context.
func (t *turn) start(p Preload) (*session.Loaded, error) {
	by := starters[starterOf(p.By)]
	res, err := t.turn.Activate(t.ctx, session.Request{
		Names: []string{p.Name}, Args: p.Args, HasArgs: p.Args != "", Actor: by.actor, Preload: true,
		Tools: t.r.d.SkillTools.TextNames(nil),
	})
	event := SkillEvent{Name: p.Name, By: by.by}
	switch {
	case err != nil && t.ctx.Err() != nil:
		return nil, err
	case err != nil:
		event.Code, event.Message = cmp.Or(codeOf(err), "internal"), err.Error()
	case len(res.Refused) > 0:
		event.Code, event.Message, event.Commands = res.Refused[0].Code, res.Refused[0].Message, res.Refused[0].Commands
	case len(res.Loaded) > 0:
		event = skillEvent(res.Loaded[0].Activation, by.by)
	}
	t.emit(Event{Type: Preloaded, Skill: &event})
	if event.Code != "" || len(res.Loaded) == 0 {
		t.notes = append(t.notes, fmt.Sprintf("The skill %q was asked for and could not be started: %s", p.Name, event.Message))
		return nil, nil
	}
	if f := res.Loaded[0].Fork; f != nil {
		t.due = append(t.due, due{*f, res.Text, by.by})
		return nil, nil
	}
	t.loaded(res.Loaded[0].Activation, event)
	return &res.Loaded[0], nil
}

func skillEvent(a session.Activation, by string) SkillEvent {
	return SkillEvent{
		Name: a.Name, Address: a.Address, Source: a.SourceID, By: by,
		Scope: string(a.Scope), Digest: string(a.Digest), Commands: a.Commands, Unrun: a.Unrun, Findings: a.Findings,
	}
}

// knows reports whether name finds a skill, be it one of several: the session then
// says which there are.
func knows(snap *registry.Snapshot, name string) bool {
	_, err := snap.Lookup(name)
	var several *registry.AmbiguousError
	return err == nil || errors.As(err, &several)
}

// closeTo returns names that resemble one that finds nothing.
func closeTo(snap *registry.Snapshot, name string) string {
	_, err := snap.Lookup(name)
	var unknown *registry.UnknownError
	if !errors.As(err, &unknown) || len(unknown.Suggestions) == 0 {
		return ""
	}
	return "; close names: /" + strings.Join(unknown.Suggestions, ", /")
}

// prompt lays out the blocks as they stand now.
func (t *turn) prompt() []Block {
	effective := t.s.Effective()
	shown := t.plan.Catalog
	if t.plan.CatalogInTool {
		shown = catalog.Catalog{}
	}
	return promptParts{
		identity: t.r.d.Identity, dir: t.r.d.Dir, project: t.r.d.Project,
		catalog: shown, active: t.s.Active(), turn: t.turn.Number(), prompt: effective.Prompt,
		scenario: playbooks(t.scenarios), signal: signalText(t.in.Signal, t.boundary), notes: slices.Concat(t.notes, t.waiting()), reminder: t.reminder, more: t.r.d.SkillTools.Announce(t.announced),
	}.blocks()
}

// Prepared is a turn up to the first request to a model.
type Prepared struct {
	Trace    string
	Snapshot *registry.Snapshot
	Plan     Plan
	Skills   []SkillEvent // each one that was asked for, started or not
	Active   []session.Activation
	Forks    []session.Fork // forked skills among them: a run would have sub-agents carry them out
	// Effective is what holds with these skills active.
	Effective session.Effective
	Blocks    []Block // with token counts
	Request   string  // as the model gets it: as it was written, then what hooks added
	Hooks     []command.HookRun
	Tools     []ToolAnswer
	Elapsed   time.Duration
}

// ToolAnswer is what the gate says to a tool that an active skill asks for, whatever
// the arguments would be.
type ToolAnswer struct {
	Name     string
	Skill    string
	Decision gate.Decision
}

// Prepare does what Run does up to the first request, calls no model, and ends the
// turn: the plan of a run without a model. Where the request starts no skill by name,
// the router's clear winner is started, if there is one.
func (r *Runner) Prepare(ctx context.Context, s *session.Session, in Input) (Prepared, error) {
	var p Prepared
	t := r.turn(ctx, s, in, func(e Event, _ error) bool {
		switch e.Type {
		case Preloaded:
			p.Skills = append(p.Skills, *e.Skill)
		case HookRan:
			p.Hooks = append(p.Hooks, *e.Hook)
		}
		return true
	})
	t.plans = true
	defer t.flush()
	defer t.release()
	if err := t.begin(); err != nil {
		return p, err
	}
	if err := t.prepare(); err != nil {
		return p, err
	}
	// A first word that is no skill asks for none by name; a name that could not be
	// started does, and then nothing else takes its place.
	named := slices.ContainsFunc(p.Skills, func(e SkillEvent) bool { return e.Code != codeCommand })
	if winner, ok := t.plan.Route.ClearWinner(); ok && !named && t.reminder == "" && !t.away(winner.Address) {
		handed := len(t.due)
		loaded, err := t.start(Preload{Name: winner.Address, By: "host"})
		if err != nil {
			return p, err
		}
		if loaded != nil || len(t.due) > handed {
			p.Skills[len(p.Skills)-1].By = "router"
		}
	}
	for _, d := range t.due {
		p.Forks = append(p.Forks, d.fork)
	}
	p.Trace, p.Snapshot, p.Plan, p.Request = t.trace, t.turn.Snapshot(), t.plan, t.words()
	p.Active, p.Effective, p.Blocks = s.Active(), s.Effective(), t.prompt()
	for i := range p.Blocks {
		p.Blocks[i].Tokens = r.d.Counter.Count(p.Blocks[i].Text)
	}
	p.Tools = t.toolAnswers(p.Active)
	p.Elapsed = r.d.Now().Sub(t.started)
	return p, nil
}

// away reports whether the skill waits for a file that nobody has touched.
func (t *turn) away(address string) bool {
	_, away := t.s.Reach(t.turn.Snapshot())
	return away[address]
}

// toolAnswers asks the gate about each tool that the active skills name.
func (t *turn) toolAnswers(active []session.Activation) []ToolAnswer {
	var out []ToolAnswer
	seen := map[string]bool{}
	for _, a := range active {
		wanted := slices.Clone(a.ToolNames)
		if a.Record != nil {
			wanted = append(wanted, a.Record.Skill.Meta.AllowedTools.Entries...)
		}
		for _, pattern := range wanted {
			name, _, _ := strings.Cut(pattern, "(")
			name = toolrule.Canonical(strings.TrimSpace(name))
			if name == "" || strings.Contains(name, "*") || seen[name] {
				continue
			}
			seen[name] = true
			out = append(out, ToolAnswer{Name: name, Skill: a.Name, Decision: t.r.d.Gate.Explain(t.gateCall("", name, nil))})
		}
	}
	return out
}
