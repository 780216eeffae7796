package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/internal/safetext"
)

// actAs has the run's session be one of an agent, by its id; "" = the person's own. The
// model is then the agent's, where no flag says otherwise and it can be had.
func (r *run) actAs(ctx context.Context, o *askOptions) error {
	if o.agent == "" {
		return nil
	}
	e, err := r.open(ctx)
	if err != nil {
		return err
	}
	d, err := e.Agent(ctx, o.agent)
	var unknown *deft.UnknownAgentError
	if errors.As(err, &unknown) {
		f := usage("agent %q is not known", o.agent)
		if near := closest(o.agent, unknown.Known, 3); len(near) > 0 {
			return f.hinted("hint.closest", strings.Join(near, ", "))
		}
		return f.hinted("hint.one_of", strings.Join(unknown.Known, ", "))
	}
	if err != nil {
		return err
	}
	r.agent = &d
	if o.model == "" && d.Model != "" {
		if _, _, err := model.Choose(ctx, d.Model, "", r.modelEnv, nil); err == nil {
			o.model = d.Model
		} else {
			r.hintf("%s", r.words.Say("agents.model", d.ID, safetext.Line(d.Model)))
		}
	}
	return nil
}

// principal is on whose account a turn runs.
func (r *run) principal() string {
	if r.agent != nil {
		return "agent:" + r.agent.ID
	}
	return "user"
}

// keptAgents are the kinds of agents of the database.
func (r *run) keptAgents(ctx context.Context) ([]deft.AgentText, error) {
	s, err := r.openStore(ctx)
	if err != nil {
		return nil, nil // what is wrong with the state is said where it is read for skills
	}
	list, err := s.Agents(ctx)
	if err != nil {
		return nil, nil
	}
	var out []deft.AgentText
	for _, a := range list {
		out = append(out, deft.AgentText{ID: a.ID, Text: a.Body})
	}
	return out, nil
}

// agentLines are the kinds of agents as a person sees them.
func agentLines(kinds []agent.Definition) [][2]string {
	var out [][2]string
	for _, d := range kinds {
		about := d.Description
		if d.Name != d.ID {
			about = d.Name + ": " + about
		}
		if d.Path != "" {
			about += " (" + d.Path + ")"
		}
		out = append(out, [2]string{d.ID, about})
	}
	return out
}
