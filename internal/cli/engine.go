package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/deftskills/deft/builtin"
	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

func (r *run) snapshot(ctx context.Context) (*registry.Snapshot, error) {
	if r.snap != nil {
		return r.snap, nil
	}
	g, c := r.globals, r.config
	env := source.Env{Workspace: r.cwd, Home: r.dirs.Home, DataDir: r.dirs.Data, Getenv: r.env, OS: r.proc.GOOS, External: c.External, NoWalkUp: !c.WalkUp, Clients: c.Clients}
	list, diags := source.Expand(ctx, g.sources, env)
	if !g.onlySources {
		roots, d := source.Roots(ctx, env)
		list, diags = append(list, roots...), append(diags, d...)
		list = append(list, source.FS(builtin.FS(), source.DirOptions{Info: source.Info{ID: "builtin", Kind: source.Builtin, Trust: source.Trusted}}))
	}
	reg, err := registry.Open(ctx, registry.Config{Sources: append(list, r.configured(ctx)...), Diagnostics: append(diags, r.diags...), Trust: registry.ProjectTrust(c.TrustProject), Workspace: r.cwd})
	if err != nil {
		return nil, err
	}
	r.snap = reg.Snapshot()
	return r.snap, nil
}

func (r *run) modelText(ctx context.Context, rec *registry.Record) (string, error) {
	data, err := fileOf(ctx, rec, "")
	if err != nil || !rec.Skill.Valid {
		return "", err
	}
	return strings.ReplaceAll(string(data[rec.Skill.Body.Start:rec.Skill.Body.End]), "\r\n", "\n"), nil
}

// configured makes the sources of the settings.
func (r *run) configured(ctx context.Context) []source.Source {
	if r.globals.onlySources {
		return nil
	}
	var out []source.Source
	for _, item := range r.config.Sources {
		if item.Off {
			continue
		}
		env := source.Env{
			Workspace: item.Base, Home: r.dirs.Home, DataDir: r.dirs.Data, Getenv: r.env, OS: r.proc.GOOS,
			Project: item.From.Level == config.Project, Now: r.proc.Now,
		}
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
			if item.Trust != "" {
				s = source.WithTrust(s, source.Trust(item.Trust))
			}
			out = append(out, s)
		}
	}
	return out
}

func (r *run) explanation(ctx context.Context, name string) (registry.Explanation, error) {
	snap, err := r.snapshot(ctx)
	if err != nil {
		return registry.Explanation{}, err
	}
	return snap.ExplainWith(ctx, name, func(ctx context.Context, name string, places []source.Place) []source.Skipped {
		return source.Look(ctx, name, places)
	}), nil
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

// recordFile is where the gate's decisions are kept.
func (r *run) recordFile() string { return filepath.Join(r.dirs.State, "gate.jsonl") }

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
