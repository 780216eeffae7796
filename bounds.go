package deft

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// upper is what bounds a session that runs as a kind of agent: its kind, and for a
// sub-agent the session above it. nil = of a session that nothing bounds.
type upper struct {
	of    *Session // nil = of a session of its own, see SessionOptions.Agent
	spawn agent.Spawn
	kind  agent.Definition
}

// nested reports whether the session is a sub-agent's.
func (u *upper) nested() bool { return u != nil && u.of != nil }

// id is that of the kind; "" where there is none.
func (u *upper) id() string {
	if u == nil {
		return ""
	}
	return u.kind.ID
}

// depth is how many sub-agents the session lies below.
func (u *upper) depth() int {
	if !u.nested() {
		return 0
	}
	return 1 + u.of.up.depth()
}

// spawn opens the session of a sub-agent: the same engine and the same skills as its
// caller's turn, tools and gate of its own.
func (s *Session) spawn(ctx context.Context, p agent.Spawn) (agent.Child, error) {
	i := slices.IndexFunc(s.kinds, func(d agent.Definition) bool { return d.ID == p.Fork.Agent })
	if i < 0 {
		return agent.Child{}, fmt.Errorf("no kind of sub-agent is named %q", p.Fork.Agent)
	}
	up := &upper{s, p, s.kinds[i]}
	o := s.o
	o.ID, o.Resume, o.Kept, o.Confirm, o.Agent = "", nil, nil, p.Confirmer, nil
	o.Keep, o.Transcript, o.Placement = nil, nil, s.Placement() // the conversation is its caller's
	child, err := s.engine.newSession(ctx, o, up)
	if err != nil {
		return agent.Child{}, err
	}
	out := agent.Child{Runner: child.runner, Session: child.inner, Ceiling: up.kind.Ceiling, Close: func() { _ = child.Close() }}
	out.Skills = up.skills()
	return out, nil
}

// skills are those that the kind starts before a request.
func (u *upper) skills() []agent.Preload {
	var out []agent.Preload
	for _, name := range u.kind.Skills {
		out = append(out, agent.Preload{Name: name, By: "host"})
	}
	return out
}

// inherit turns the options of a session into those of one that is bounded. now is what
// its skills are looked up in.
func (u *upper) inherit(o session.Options, now func() *registry.Snapshot) session.Options {
	if u == nil {
		return o
	}
	prompt := u.kind.Prompt
	if u.nested() {
		from := u.of.inner.Child(u.spawn.Fork)
		o.Base, o.Chain = from.Base, from.Chain
		prompt = u.kind.SystemPrompt()
		o.Snapshots, o.Access = pinned{u.spawn.Snapshot}, u.of.access
		now = pinned{u.spawn.Snapshot}.Snapshot
	}
	o.Base.Prompt = prompt
	if u.spawn.Fork.Model == "" && u.kind.Model != "" {
		o.Base.Model = u.kind.Model
	}
	if u.kind.Discovery != agent.DiscoverSearch {
		o.Access = limited{next: o.Access, now: now, names: u.kind.Skills, own: u.spawn.Fork.Skill}
	}
	return o
}

// sees reports whether the session has the catalog: its kind, and every one above it.
func (u *upper) sees() bool {
	return u == nil || u.kind.Discovery == agent.DiscoverSearch && (u.of == nil || !u.of.blind)
}

// has reports whether a tool is within the limits of the kind, and of every one above it.
func (u *upper) has(s toolset.Spec) bool {
	return u == nil || u.kind.HasTool(s) && (u.of == nil || u.of.up.has(s))
}

// tools are those within the limits.
func (u *upper) tools(all []toolset.Tool, o toolset.Options) []toolset.Tool {
	if u == nil {
		return all
	}
	return slices.DeleteFunc(all, func(t toolset.Tool) bool {
		spec := t.Spec()
		if spec.Name == o.SearchName() {
			return !u.sees()
		}
		return !spec.Steers && !u.has(spec)
	})
}

// as makes an input one of the session's agent: within its ceiling, with its skills.
func (s *Session) as(in Input) (Input, error) {
	d := s.o.Agent
	if d == nil {
		return in, nil
	}
	in, err := d.Admit(in)
	if err != nil {
		return in, err
	}
	active := map[string]bool{}
	for _, a := range s.Active() {
		active[a.Address] = true
	}
	for _, p := range s.up.skills() {
		if rec, err := s.Snapshot().Lookup(p.Name); err != nil || !active[rec.Address] {
			in.Skills = append(in.Skills, p)
		}
	}
	return in, nil
}

// pinned is one Snapshot for a whole session.
type pinned struct{ now *registry.Snapshot }

func (p pinned) Snapshot() *registry.Snapshot { return p.now }

// limited keeps a session to the skills of its kind, and to the one that it carries out.
type limited struct {
	next  session.Access // nil = no rules
	now   func() *registry.Snapshot
	names []string
	own   string // address; "" = none
}

var errOutside = errors.New("it is not among the skills of this agent")

// Check implements session.Access.
func (l limited) Check(ctx context.Context, actor session.Actor, r *registry.Record) error {
	among := func(name string) bool {
		rec, err := l.now().Lookup(name)
		return err == nil && rec.Address == r.Address
	}
	if (l.own == "" || r.Address != l.own) && !slices.ContainsFunc(l.names, among) {
		return errOutside
	}
	if l.next == nil {
		return nil
	}
	return l.next.Check(ctx, actor, r)
}
