package deft

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/session"
)

// Fresh is what a conversation's model needs that has nothing yet, or has lost all it
// had: the whole catalog and the active skills, each once.
type Fresh struct {
	Catalog catalog.Catalog
	session.Fresh
}

// Text joins all of it, the catalog first.
func (f Fresh) Text() string {
	parts := []string{f.Catalog.Prefix(), f.Catalog.Aside()}
	for _, s := range f.Skills {
		parts = append(parts, s.Text)
	}
	parts = append(parts, strings.Join(f.Omitted, "\n"))
	out := parts[:0]
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

// Fresh returns what belongs at the start of the conversation after it was shortened,
// from what is known now: changes that were told at the end of the prompt are part of
// the catalog, and the turns that follow go on from it. It may be called at any time
// and gives the same each time while nothing changes.
func (s *Session) Fresh(ctx context.Context, b session.FreshBudget) (Fresh, error) {
	out, err := s.fresh(ctx, b, s.work.view.Snapshot(), nil)
	if err == nil {
		s.inner.Shortened(out.Fresh)
	}
	return out, err
}

// renewed is Fresh for deft's own loop, whose prompt carries the skills: it has the
// session tell them anew.
func (s *Session) renewed(ctx context.Context, snap *registry.Snapshot, routed *route.Result) (agent.Fresh, error) {
	got, err := s.fresh(ctx, session.FreshBudget{}, snap, routed)
	if err != nil {
		return agent.Fresh{}, err
	}
	s.inner.Renew(got.Fresh)
	if s.blind {
		got.Catalog = catalog.Catalog{}
	}
	out := agent.Fresh{Catalog: got.Catalog, Skills: []string{}, Omitted: append([]string{}, got.Omitted...)}
	for _, k := range got.Skills {
		out.Skills = append(out.Skills, k.Name)
	}
	return out, nil
}

func (s *Session) fresh(ctx context.Context, b session.FreshBudget, snap *registry.Snapshot, routed *route.Result) (Fresh, error) {
	if b.Read == "" {
		b.Read = s.engine.toolNames().Read
	}
	out := Fresh{Fresh: s.inner.Fresh(b)}
	window := int(s.shown.window.Load())
	matched, _ := s.inner.Reach(snap)
	in := s.engine.catalogInput(snap, CatalogOptions{Window: window, View: catalog.View{Touched: matched}}, routed)
	in.ActiveTokens = out.Tokens
	for _, a := range slices.Backward(s.inner.Active()) { // used lately
		in.Rank.Recent = append(in.Rank.Recent, a.Address)
	}
	s.shown.thread.Fresh()
	var err error
	out.Catalog, err = s.shown.next(ctx, in, window)
	return out, err
}

// shown is what a session's model was shown of the skills.
type shown struct {
	thread *catalog.Thread
	window atomic.Int64 // the model's, as the last turn knew it
}

// next renders a turn.
func (s *shown) next(ctx context.Context, in catalog.Input, window int) (catalog.Catalog, error) {
	s.window.Store(int64(window))
	if s.thread.First() {
		in = begun(in)
	}
	return s.thread.Next(ctx, in)
}
