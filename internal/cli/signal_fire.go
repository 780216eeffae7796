package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/jobs"
)

// signalFire are the flags of deft signal fire.
type signalFire struct {
	ask               askOptions
	job, prompt, tier string
	stages, skills    []string
}

// signalFireVerb stands below signal.
func signalFireVerb() verb {
	var o signalFire
	return verb{
		name: "fire", args: "FILE", min: 1, max: 1, effects: effects{reads: true, writes: true, network: true, runsCode: true},
		short: "run the turn of a signal here and now, with nobody to ask",
		long: "FILE is a signal, one JSON object; its source is what the turn counts as. The flags are what a job\n" +
			"says of its turns: without --stage and --tier only READ_ONLY tools run, and beyond that a call\n" +
			"needs a grant. What the signal itself says only narrows them. With --job the job says it instead.\n" +
			"Without a model the plan is shown.",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.job, "job", "", "what the job `ID` says of its turns, on its grants")
			f.StringVar(&o.prompt, "prompt", defaultPrompt, "what to do about it, as `TEXT`")
			f.StringArrayVar(&o.stages, "stage", nil, "discover, evaluate, decide or manage, as `S`; may be repeated")
			f.StringVar(&o.tier, "tier", "", "the highest `TIER` that may run, at most ALWAYS_CONFIRM")
			f.StringArrayVar(&o.skills, "skill", nil, "load the skill `NAME` first, beside those of the signal; may be repeated")
			f.StringVar(&o.ask.model, "model", "", "the model, as `PROVIDER/NAME` or scripted:FILE")
			f.BoolVar(&o.ask.offline, "offline", false, "no model and no network: the plan")
			f.IntVar(&o.ask.maxSteps, "max-steps", 0, "at most `N` requests to the model")
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.signalFire(ctx, o, args[0]) },
	}
}

// defaultPrompt is what a signal's turn is asked where nothing is said. It holds no word
// that shows a stage.
const defaultPrompt = "A signal came in. Do about it what the loaded skills say."

func (r *run) signalFire(ctx context.Context, o signalFire, file string) error {
	if r.writing.yes {
		return usage("--yes does not answer the gate").hinted("hint.signal")
	}
	if o.ask.maxSteps < 0 {
		return usage("--max-steps %d is below zero", o.ask.maxSteps)
	}
	in, err := r.fired(ctx, o, file)
	if err != nil {
		return err
	}
	if err := r.named(ctx, &in); err != nil {
		return err
	}
	m, err := r.chooseModel(ctx, o.ask)
	if err != nil {
		return err
	}
	return r.fire(ctx, m, in)
}

// fired is the turn that the flags and the file make. The person who fires a signal knows
// what it asks for: it may load its skills.
func (r *run) fired(ctx context.Context, o signalFire, file string) (agent.Input, error) {
	sig, err := r.readSignal(file)
	if err != nil {
		return agent.Input{}, err
	}
	if o.job != "" {
		if o.prompt != defaultPrompt || o.tier != "" || len(o.stages)+len(o.skills) > 0 {
			return agent.Input{}, usage("--job and --prompt, --tier, --stage or --skill exclude each other")
		}
		return r.firedAs(ctx, o, sig)
	}
	tier, err := tierOf(o.tier)
	if err != nil {
		return agent.Input{}, err
	}
	in := agent.Input{
		Text: o.prompt, Signal: sig, Principal: "user", Ceiling: tier, AllowPreload: sig.PreloadSkills,
		Budget: agent.Budget{Steps: o.ask.maxSteps},
	}
	for _, name := range o.stages {
		stage, ok := route.ParseStage(name)
		if !ok {
			return in, usage("stage %q is not known", name).hinted("hint.one_of", "discover, evaluate, decide, manage")
		}
		in.Stages |= route.Stages(stage)
	}
	for _, name := range o.skills {
		in.Skills = append(in.Skills, agent.Preload{Name: name, By: "signal"})
	}
	return in, nil
}

// firedAs is the turn of a job. A signal of another source than the job's is none of its.
func (r *run) firedAs(ctx context.Context, o signalFire, sig *route.Signal) (agent.Input, error) {
	var j jobs.Job
	err := r.withQueue(ctx, func(q *jobs.Queue) (err error) {
		if q == nil {
			return fmt.Errorf("job %q: %w", o.job, jobs.ErrNotFound)
		}
		j, err = q.Job(ctx, o.job)
		return err
	})
	if err != nil {
		return agent.Input{}, err
	}
	if sig.Source != string(j.Kind) {
		return agent.Input{}, usage("job %q is one of kind %s; a signal of source %s does not start it", j.ID, string(j.Kind), sig.Source)
	}
	raw, err := json.Marshal(sig)
	if err != nil {
		return agent.Input{}, err
	}
	in, err := inputOf(jobs.Turn{Row: jobs.Row{Signal: raw}, Definition: j})
	if err != nil {
		return in, err
	}
	in.Budget.Steps, r.place = o.ask.maxSteps, j.Placement
	if j.Agent != "" {
		e, err := r.open(ctx)
		if err != nil {
			return in, err
		}
		d, err := e.Agent(ctx, j.Agent)
		if err != nil {
			return in, err
		}
		r.agent = &d
	}
	return in, nil
}

// named decides under which trace the turn runs: one that another turn has is its parent's.
func (r *run) named(ctx context.Context, in *agent.Input) error {
	if in.Signal.TraceID == "" {
		return nil
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	in.TraceID, in.ParentTrace = in.Signal.Traces(func(trace string) bool {
		for _, failed := range s.Audit().Query(ctx, store.AuditQuery{Trace: trace}) {
			if failed != nil {
				err = failed
			}
			return true
		}
		return false
	})
	return err
}

// fire runs a turn behind which no person stands.
func (r *run) fire(ctx context.Context, m model.Model, in agent.Input) error {
	r.talking = m != nil
	s, err := r.session(ctx, m, gate.Tier(0))
	if err != nil {
		return err
	}
	defer s.Close()
	if m == nil {
		return r.askOffline(ctx, s, in)
	}
	return r.askOnline(ctx, s, m, in)
}
