package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/builtin"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/toolset"
)

// open finds the skills, once a run.
func (r *run) open(ctx context.Context) (*deft.Engine, error) {
	if r.engine != nil {
		return r.engine, nil
	}
	if r.globals.profile != "" {
		st, err := r.load(ctx)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return nil, err
		}
		if err := r.profileThere(st, r.globals.profile); err != nil {
			return nil, err
		}
	}
	o := r.options()
	if o.More = r.configured(ctx); r.only != nil {
		o.More, o.OnlySources, o.Sources, o.NoBuiltin = []source.Source{r.only}, true, nil, true
	}
	o.Diagnostics = r.diags
	ctx, done := r.watch(ctx, "skills")
	e, err := deft.Open(ctx, o)
	done()
	if err != nil {
		return nil, err
	}
	r.engine = e
	return e, r.follow(ctx)
}

// minimaxAgent is the agent whose list of skills counts where none is named.
const minimaxAgent = "default"

// options turns flags and settings into the engine's options.
func (r *run) options() deft.Options {
	g, c := r.globals, r.config
	o := deft.Options{
		Workspace: r.cwd, Home: r.dirs.Home, DataDir: r.dirs.Data, Environ: r.proc.Environ, OS: r.proc.GOOS,
		Dialect: skill.Dialect(g.dialect), Sources: g.sources, OnlySources: g.onlySources, Clients: c.Clients,
		NoExternal: !c.External, NoWalkUp: !c.WalkUp, QuietCopies: !c.DuplicateWarn, CacheDir: r.dirs.Cache,
		Cooldown: cooldown(c.Tuning.Refresh), Blocking: c.Tuning.Refresh.Blocking,
		Ceilings: r.paths(c.Tuning.Walk.Ceilings), Depth: c.Tuning.Walk.Depth, Ignore: c.Tuning.Walk.Ignore, NoBuiltin: !c.Tuning.Builtin.Enabled, Seed: c.Tuning.Builtin.Seed,
		Roots: map[string]source.Override{}, Project: registry.ProjectTrust(c.TrustProject), Clock: r.proc.Now,
		State: decisions{r}, Registered: r.registered, Places: r.offPlaces(), Commands: r.commands(), Secrets: &secrets{r: r},
	}
	o.Preference, o.Observe, o.Log = r.preference, r.observe(), r.logs
	o.Rules, o.Trees, o.Hooks, o.Providers = r.rules, r.keptTree, r.hooks, r.providers()
	o.PluginHooks, o.PluginStands = r.pluginHooks, r.pluginStands
	o.Scenarios = deft.ScenarioOptions{On: c.Scenarios.Enabled, Ask: c.Scenarios.Model, Dirs: []string{filepath.Join(r.dirs.Config, "scenarios")}}
	if o.Dialect == skill.MiniMax {
		o.MiniMax.Disabled = decisions{r}
	}
	o.Host = &builtin.Host{Profile: "cli", MiniMax: o.Dialect == skill.MiniMax, Region: c.Tuning.Builtin.Region}
	if list, ok := c.AgentSkills[minimaxAgent]; ok && o.Dialect == skill.MiniMax {
		// An error is of strict lists only.
		o.MiniMax.Selected, _ = builtin.Selection(list, false)
	}
	if r.verb.effects.runsCode && !r.writing.dryRun {
		o.Record, o.Grants, o.Confirms, o.History = ledger{r}, ledger{r}, ledger{r}, ledger{r}
		o.Uses = r.uses()
	}
	o.Web = &toolset.WebOptions{Private: c.Web.PrivateHosts}
	o.Memories, o.AgentTexts = notes{r}, r.keptAgents
	o.Search.Embedder = r.vectors
	if r.news != nil {
		o.Report = r.news.finding
	}
	for id, s := range c.Roots {
		o.Roots[id] = source.Override{Off: s.Enabled != nil && !*s.Enabled, Priority: s.Priority}
	}
	return o
}

// preference gives what the settings say of a key as they stand now.
func (r *run) preference(key string) string {
	c, _ := r.settingsFor(func(was bool) bool { return was })
	return map[string]string{"placement": c.Placement, "computer.backend": c.Computer}[key]
}

// cooldown is the pause between two checks; the engine takes nothing for its default.
func cooldown(c config.Refresh) time.Duration { return max(time.Duration(c.Cooldown), 1) }

// offPlaces are the sources that the settings turn off: explain says so of a skill
// that lies only there.
func (r *run) offPlaces() []source.Place {
	var out []source.Place
	for _, item := range r.config.Sources {
		path := item.Path
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(r.dirs.Home, rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(item.Base, path)
		}
		if item.Off {
			out = append(out, source.Place{Path: path, Code: "source_off", Client: item.Path})
		}
	}
	return out
}

// policyOf reads what the settings say of a source's commands and hooks.
var policyOf = map[string]source.Policy{"allow": source.PolicyAllow, "inherit": source.PolicyInherit, "deny": source.PolicyDeny}

// registered says which versions of plugins the settings name, as they stand now.
func (r *run) registered(context.Context) []source.RegisteredPlugin {
	c, _ := r.settingsFor(func(was bool) bool { return was })
	var out []source.RegisteredPlugin
	for _, p := range c.Plugins {
		if rest, ok := strings.CutPrefix(p.Project, "~"); ok {
			p.Project = filepath.Join(r.dirs.Home, rest)
		}
		out = append(out, source.RegisteredPlugin{Name: p.Name, Market: p.Market, Version: p.Version, Project: p.Project, Off: p.Off})
	}
	if lock, err := r.pluginLock(); err == nil { // what is wrong with it is said where it says what is installed
		out = append(out, lock.Registered()...)
	}
	return out
}

// configured makes the sources of the settings.
func (r *run) configured(ctx context.Context) []source.Source {
	if r.globals.onlySources {
		return nil
	}
	var out []source.Source
	if r.config.Install.Published {
		out = append(out, install.Offered(r.published(), source.Info{}, source.Format{Dialect: skill.Dialect(r.globals.dialect)}))
	}
	for _, item := range r.config.Sources {
		if item.Off {
			continue
		}
		env := source.Env{
			Workspace: item.Base, Home: r.dirs.Home, DataDir: r.dirs.Data, Getenv: r.env, OS: r.proc.GOOS,
			Project: item.From.Level == config.Project, Now: r.proc.Now, Ignore: r.config.Tuning.Walk.Ignore,
			Format: source.Format{Dialect: skill.Dialect(r.globals.dialect)},
		}
		env.Limits.Depth = r.config.Tuning.Walk.Depth
		form := item.Path
		if item.Kind != "" {
			form = item.Kind + "=" + form
		}
		list, diags := source.Expand(ctx, []string{form}, env)
		r.diags = append(r.diags, diags...)
		for _, s := range list {
			if item.Priority != nil {
				s = source.WithPriority(s, *item.Priority)
			}
			if item.Namespace != "" {
				s = source.Namespaced(s, item.Namespace)
			}
			s = source.WithPolicies(s, policyOf[item.Shell], policyOf[item.Hooks])
			if item.Trust != "" {
				s = source.WithTrust(s, source.Trust(item.Trust))
			}
			out = append(out, s)
		}
	}
	return out
}

// snapshot returns what is known of the skills.
func (r *run) snapshot(ctx context.Context) (*registry.Snapshot, error) {
	e, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	return e.Snapshot(), nil
}

func (r *run) explanation(ctx context.Context, name string) (registry.Explanation, error) {
	e, err := r.open(ctx)
	if err != nil {
		return registry.Explanation{}, err
	}
	return e.Explain(ctx, name), nil
}

// countTokens counts the catalog line and the body of each record.
func (r *run) countTokens(ctx context.Context, records []*registry.Record) (map[*registry.Record]tokensJSON, error) {
	counter := tokens.O200k()
	out := map[*registry.Record]tokensJSON{}
	for _, rec := range records {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := counter.Count("- " + rec.Skill.Name + ": " + rec.Skill.Description + "\n")
		t := tokensJSON{Catalog: &n}
		if data, err := fileOf(ctx, rec, ""); err == nil && rec.Skill.Valid {
			if s := rec.Skill.Body; s.Start <= s.End && s.End <= int64(len(data)) {
				n := counter.Count(string(data[s.Start:s.End]))
				t.Body = &n
			}
		}
		out[rec] = t
	}
	return out, nil
}

// modelText is what a model gets when it starts the skill, without arguments.
func (r *run) modelText(ctx context.Context, rec *registry.Record) (string, error) {
	e, err := r.open(ctx)
	if err != nil {
		return "", err
	}
	s, err := e.NewSession(ctx, deft.SessionOptions{})
	if err != nil {
		return "", err
	}
	defer s.Close()
	p, err := s.Plan(ctx, deft.Input{
		Text: "show", Origin: gate.Interactive, Principal: "user", NoHooks: true, Skills: []agent.Preload{{Name: rec.Address, By: "user"}},
	})
	if err != nil {
		return "", err
	}
	for _, e := range p.Skills {
		if e.Code != "" {
			return "", fail(Refused, e.Code, "skill %q: %s", rec.Skill.Name, e.Message).hinted("hint.explain", rec.Address)
		}
	}
	var texts []string
	for _, a := range p.Active {
		texts = append(texts, a.Text)
	}
	return strings.Join(texts, "\n\n") + "\n", nil
}

// completeNames offers the names of skills to a shell.
func (a *app) completeNames(ctx context.Context, part string) []string {
	r := &run{app: a, verb: &verb{}}
	if r.prepare() != nil {
		return nil
	}
	snap, err := r.snapshot(ctx)
	if err != nil {
		return nil
	}
	return nameMatches(snap, part)
}
