package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/store/jobs"
)

// turns makes turns of firings: one session each, behind which no person stands.
type turns struct {
	r       *run
	engine  *deft.Engine
	choice  model.Choice
	none    bool // there is no model
	project string
	log     *slog.Logger
}

func (r *run) newTurns(ctx context.Context, o askOptions, log *slog.Logger) (*turns, error) {
	t := &turns{r: r, log: log, none: true}
	if !o.offline {
		client := &http.Client{Transport: &http.Transport{}} // no proxy: the probe is of this machine
		c, ok, err := model.Choose(ctx, o.model, r.config.Model, r.modelEnv, client)
		if err != nil {
			return nil, usage("%s", err).hinted("hint.model")
		}
		t.choice, t.none = c, !ok
	}
	if t.none {
		log.Warn(r.docWords().Say("serve.model_none"), "category", "serve", "event", "no_model")
	} else if _, err := r.build(t.choice); err != nil {
		return nil, err // better now than at the first firing
	}
	if err := r.recordable(ctx); err != nil {
		return nil, err
	}
	e, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	t.engine = e
	if t.project, err = agent.ReadAgentsMD(r.cwd); err != nil {
		log.Warn("the project's AGENTS.md is not read", "category", "serve", "event", "project", "error", err.Error())
	}
	return t, nil
}

// ready reports whether there are skills to work with.
func (t *turns) ready() error {
	if t.engine.Snapshot() == nil {
		return errors.New("no snapshot")
	}
	return nil
}

// prepare readies the turn of a firing: everything that can fail without a request.
func (t *turns) prepare(ctx context.Context, turn jobs.Turn) (jobs.Prepared, error) {
	in, err := inputOf(turn)
	if err != nil {
		return jobs.Prepared{}, err
	}
	o := deft.SessionOptions{StrictStages: t.r.config.Policy.StrictStages, Project: t.project, Placement: turn.Definition.Placement}
	if id := turn.Definition.Agent; id != "" {
		d, err := t.engine.Agent(ctx, id)
		if err != nil {
			return jobs.Prepared{}, err
		}
		o.Agent = &d
	}
	if !t.none {
		if o.Model, err = t.r.build(t.choice); err != nil {
			return jobs.Prepared{}, err
		}
	}
	k := t.keeper(ctx, turn.Definition)
	o.Keep = k
	s, err := t.engine.NewSession(context.WithoutCancel(ctx), o)
	if err != nil {
		return jobs.Prepared{}, err
	}
	k.id = s.ID()
	return jobs.Prepared{
		Run: func(ctx context.Context) jobs.Outcome { return t.run(ctx, s, in) },
		Close: func() {
			s.Close()
			k.close()
		},
	}, nil
}

// keeper keeps the conversation of a job's turn, for a person who looks at it later.
func (t *turns) keeper(ctx context.Context, j jobs.Job) *keeper {
	k := t.r.newKeeper(ctx)
	k.row.Origin, k.row.Surface, k.row.Principal, k.row.Ceiling = string(j.Kind), surfaceJob, j.Principal, j.RiskTierMax
	return k
}

func (t *turns) run(ctx context.Context, s *deft.Session, in agent.Input) jobs.Outcome {
	out := jobs.Outcome{Session: s.ID()}
	var end *agent.End
	for e, err := range s.Run(ctx, in) {
		if err != nil {
			out.Err = err
		}
		switch e.Type {
		case agent.Preloaded:
			if e.Skill.Code != "" {
				t.log.Warn("a skill is not loaded", "category", "signals", "event", "preload", "trace_id", e.Trace, "skill", e.Skill.Name, "code", e.Skill.Code)
			}
		case agent.GateDecided:
			if e.Call.Verdict == gate.Deny {
				t.log.Info("a call is refused", "category", "gate", "event", "denied", "trace_id", e.Trace, "tool", e.Call.Tool, "code", e.Call.Code)
			}
		case agent.TurnFinished:
			end = e.End
		}
	}
	if end == nil {
		out.Err = errors.Join(out.Err, errors.New("the turn has no end"))
		return out
	}
	out.Stop = string(end.Stop)
	if out.Err == nil && (end.Stop == agent.StopModel || end.Stop == agent.StopRefused) {
		out.Err = fmt.Errorf("%s: %s", orElse(end.Code, out.Stop), end.Message)
	}
	return out
}

// inputOf is the turn that a firing asks for. Stages and ceiling are the definition's:
// the signal can only narrow them.
func inputOf(t jobs.Turn) (agent.Input, error) {
	j := t.Definition
	in := agent.Input{
		Text: j.Prompt, Origin: gate.Origin(j.Kind), Principal: j.Principal, TraceID: t.TraceID, ParentTrace: t.ParentTraceID,
		Ceiling: gate.Tier(j.RiskTierMax), AllowPreload: j.AllowPreload, Budget: agent.Budget{Time: j.Timeout},
		Signal: &route.Signal{Source: string(j.Kind), Severity: "info"},
	}
	if len(t.Signal) > 0 && string(t.Signal) != "null" {
		sig, err := route.ParseSignal(t.Signal)
		if err != nil {
			return in, err
		}
		in.Signal = &sig
	}
	for _, name := range j.Stages {
		if s, ok := route.ParseStage(name); ok {
			in.Stages |= route.Stages(s)
		}
	}
	for _, name := range j.PreloadSkills {
		in.Skills = append(in.Skills, agent.Preload{Name: name, By: "signal"})
	}
	return in, nil
}
