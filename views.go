package deft

import (
	"context"
	"fmt"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// views says how the views of this engine are made.
func (e *Engine) views(env source.Env) registry.Views {
	v := registry.Views{Env: env, Paths: e.o.Paths, FS: e.o.FS, Max: e.o.MaxViews}
	if e.o.FS != nil {
		v.Forms = e.o.Sources
	}
	v.Evicted = func(id string) {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.indexed, id)
		if e.index != nil {
			_ = e.index.Drop(id) // it has no error to tell
		}
	}
	v.Sources = func(ctx context.Context, s registry.Scope, env source.Env) ([]source.Source, []skill.Diagnostic) {
		o := e.o
		o.Workspace, o.Agent, o.Dialect = env.Workspace, env.Agent, s.Dialect
		if o.FS == nil {
			return o.sources(ctx, env)
		}
		only := o.OnlySources
		o.Sources, o.OnlySources = nil, true // forms are read from there, and nothing from the disk
		out, diags := o.sources(ctx, env)
		if !only {
			out = append(out, o.builtins(env)...)
		}
		return out, diags
	}
	return v
}

// View returns the skills of one scope: another workspace, agent or request. It must be
// closed. See registry.Registry.View.
func (e *Engine) View(ctx context.Context, s registry.Scope) (*registry.View, error) {
	return e.registry.View(ctx, s)
}

// SearchView is Search over the skills of one view: no other view's are looked at,
// counted or ranked. q.Scope is set here.
func (e *Engine) SearchView(ctx context.Context, v *registry.View, q search.Query) (search.Result, error) {
	q.Scope = v.ID()
	if _, err := e.index.Update(ctx, q.Scope, v.Snapshot()); err != nil {
		return search.Result{}, fmt.Errorf("search index: %w", err)
	}
	return e.index.Search(ctx, q)
}
