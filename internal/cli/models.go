package cli

import (
	"context"
	"net/http"
	"strings"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/anthropic"
	"github.com/deftskills/deft/agent/model/openai"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
)

// chooseModel returns the model of a turn, nil for none. Without --offline the probe
// of local servers is the only network before the first request.
func (r *run) chooseModel(ctx context.Context, o askOptions) (model.Model, error) {
	if o.offline || r.writing.dryRun {
		return nil, nil
	}
	client := &http.Client{Transport: &http.Transport{}} // no proxy: the probe is of this machine
	c, ok, err := model.Choose(ctx, o.model, r.config.Model, r.modelEnv, client)
	switch {
	case err != nil:
		return nil, usage("%s", err).hinted("hint.model")
	case !ok:
		return nil, nil
	}
	return r.build(c)
}

// modelEnv is the environment with what the settings say of providers laid below
// what is set.
func (r *run) modelEnv(name string) string {
	if v := r.env(name); v != "" {
		return v
	}
	for provider, p := range r.config.Models {
		prefix := strings.ToUpper(strings.ReplaceAll(provider, "-", "_"))
		switch {
		case name == prefix+"_BASE_URL":
			return p.BaseURL
		case name == prefix+"_API_KEY" && p.KeyEnv != "":
			return r.env(p.KeyEnv)
		}
	}
	return ""
}

// build makes the adapter for a choice. OpenAI itself is asked through Responses; at
// any other address a compatible server is likelier, and those have Chat Completions.
func (r *run) build(c model.Choice) (model.Model, error) {
	switch c.Provider {
	case "scripted":
		f, err := openRegular(r.abs(c.Name))
		if err != nil {
			return nil, usage("model %s: %s", "scripted:"+c.Name, err)
		}
		defer f.Close()
		src, err := readAllUpTo(f, nil, maxBuildFile)
		if err != nil {
			return nil, usage("model %s: %s", "scripted:"+c.Name, err)
		}
		script, err := scripted.Parse(c.Name, src)
		if err != nil {
			return nil, usage("model %s: %s", "scripted:"+c.Name, err)
		}
		return scripted.New(c.Name, script), nil
	case "anthropic":
		return anthropic.New(anthropic.Options{Name: c.Name, Key: c.Key, BaseURL: c.BaseURL}), nil
	}
	api := openai.API(r.config.Models[c.Provider].API)
	if api == "" && c.Provider == "openai" && (c.BaseURL == "" || strings.Contains(c.BaseURL, "//api.openai.com")) {
		api = openai.Responses
	}
	return openai.New(openai.Options{Provider: c.Provider, Name: c.Name, Key: c.Key, BaseURL: c.BaseURL, API: api}), nil
}

// session opens the conversation of one ask.
func (r *run) session(ctx context.Context, m model.Model, auto gate.Tier) (*deft.Session, error) {
	if m != nil && !r.writing.dryRun {
		if err := r.recordable(ctx); err != nil {
			return nil, err // before a provider is asked
		}
	}
	e, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	r.report(r.rules.Diagnostics()) // one of them may be why a call is refused
	_, bad := e.Scenarios(ctx)
	r.report(bad)
	o := deft.SessionOptions{Model: m, Auto: auto, StrictStages: r.config.Policy.StrictStages, Ended: r.ended, Agent: r.agent, Placement: r.place}
	if kinds := r.kinds(ctx, e); m == nil {
		o.Agents = kinds
	}
	if m != nil {
		if o.Project, err = agent.ReadAgentsMD(r.cwd); err != nil {
			r.hintf("%s", err)
		}
	}
	if r.proc.StdinTerminal {
		o.Confirm = terminal{r}
	}
	r.keeps(ctx, &o)
	s, err := e.NewSession(ctx, o)
	if err == nil && r.keeper != nil {
		r.keeper.id = s.ID()
	}
	return s, err
}
