package deft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// The folders of kinds of sub-agents, below the workspace and below the home; the first
// definition of a name counts.
var agentFolders = [...]string{".deft/agents", ".claude/agents"}

// Bounds of such a folder: what a person writes by hand stays far below them.
const (
	maxAgents    = 100
	maxAgentFile = 64 << 10
)

// Agents returns the kinds of sub-agents that carry out forked skills here: the built-in
// ones, and those that files define in .deft/agents and .claude/agents of the workspace,
// where its folder is trusted, and of the home. A file that cannot be read, or that takes
// the name of a kind before it, is a finding and no kind.
func (e *Engine) Agents(ctx context.Context) ([]agent.Definition, []skill.Diagnostic) {
	all := agent.BuiltinDefinitions()
	var diags []skill.Diagnostic
	for _, base := range e.agentBases(ctx) {
		for _, folder := range agentFolders {
			list, bad := readAgents(base, folder)
			diags = append(diags, bad...)
			for _, d := range list {
				if i := slices.IndexFunc(all, func(o agent.Definition) bool { return o.Name == d.Name }); i >= 0 {
					by := all[i].Path
					if by == "" {
						by = "a built-in kind"
					}
					diags = append(diags, skill.Finding("agent_invalid", d.Path, "agent %q: the name is taken by %s", d.Name, by))
					continue
				}
				all = append(all, d)
			}
		}
	}
	return all, diags
}

// explainFork adds to an explanation that no kind of sub-agent carries the skill out.
func (e *Engine) explainFork(ctx context.Context, x *registry.Explanation) {
	if x.Winner == nil || !session.Forks(x.Winner.Skill, e.o.Dialect) {
		return
	}
	kinds, _ := e.Agents(ctx)
	names := AgentNames(kinds)
	if kind := session.ForkKind(x.Winner.Skill); !slices.Contains(names, kind) {
		list := strings.Join(names, ", ")
		x.Add(registry.Reason{
			Code: "fork_agent", Path: x.Winner.Path(), By: kind,
			Message: fmt.Sprintf("%s asks for a sub-agent of kind %q; there are: %s", x.Winner.Path(), kind, list),
			Fix:     "name one of them, or define it in .deft/agents",
		})
	}
}

// agentBases are the directories whose definitions count.
func (e *Engine) agentBases(ctx context.Context) []string {
	var out []string
	if e.o.OnlySources {
		return nil
	}
	trust, _ := e.judge.Trust(ctx, source.Info{Kind: source.Project, Path: e.o.Workspace, Trust: source.Pending}, nil)
	if trust == source.Workspace || trust == source.Trusted {
		out = append(out, e.o.Workspace)
	}
	if e.o.Home != "" && e.o.Home != e.o.Workspace {
		out = append(out, e.o.Home)
	}
	return out
}

// readAgents reads the definitions of one folder, by name. No link leads out of base.
func readAgents(base, folder string) (list []agent.Definition, diags []skill.Diagnostic) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, nil // nothing is defined there
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return nil, nil
	}
	for i, entry := range entries {
		name := folder + "/" + entry.Name()
		shown := filepath.Join(base, filepath.FromSlash(name))
		if !strings.EqualFold(filepath.Ext(name), ".md") {
			continue
		}
		if i >= maxAgents {
			return list, append(diags, skill.Finding("agent_invalid", shown, "more than %d files in %s; the rest is left out", maxAgents, folder))
		}
		d, err := readAgent(root, name)
		if err != nil {
			diags = append(diags, skill.Finding("agent_invalid", shown, "agent %s: %v", entry.Name(), err))
			continue
		}
		d.Path = shown
		list = append(list, d)
	}
	return list, diags
}

func readAgent(root *os.Root, name string) (agent.Definition, error) {
	info, err := root.Stat(name)
	if err != nil {
		return agent.Definition{}, errors.New("it cannot be read")
	}
	if !info.Mode().IsRegular() || info.Size() > maxAgentFile {
		return agent.Definition{}, fmt.Errorf("it is no plain file of at most %d bytes", maxAgentFile)
	}
	f, err := root.Open(name)
	if err != nil {
		return agent.Definition{}, errors.New("it cannot be read")
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxAgentFile))
	if err != nil {
		return agent.Definition{}, errors.New("it cannot be read")
	}
	return agent.ReadDefinition(src)
}

// forks returns the kinds of sub-agents that a session's forked skills may name, and keeps
// those that are deft's own.
func (s *Session) forks(ctx context.Context, up *upper) []string {
	switch {
	case up != nil:
		s.kinds = up.of.kinds
	case s.o.Agents != nil || s.o.Model == nil || s.engine.skills.Fork != nil:
		return s.o.Agents
	default:
		s.kinds, _ = s.engine.Agents(ctx)
	}
	return AgentNames(s.kinds)
}

// AgentNames are the names of kinds of sub-agents, as SessionOptions.Agents takes them.
func AgentNames(kinds []agent.Definition) []string {
	out := make([]string, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k.Name)
	}
	return out
}

// upper is what a session that carries out a forked skill has from the one above it.
type upper struct {
	of    *Session
	spawn agent.Spawn
	kind  agent.Definition
}

// spawn opens the session of a sub-agent: the same engine and the same skills as its
// caller's turn, tools and gate of its own.
func (s *Session) spawn(ctx context.Context, p agent.Spawn) (agent.Child, error) {
	i := slices.IndexFunc(s.kinds, func(d agent.Definition) bool { return d.Name == p.Fork.Agent })
	if i < 0 {
		return agent.Child{}, fmt.Errorf("no kind of sub-agent is named %q", p.Fork.Agent)
	}
	up := &upper{s, p, s.kinds[i]}
	o := s.o
	o.ID, o.Resume, o.Kept, o.Confirm = "", nil, nil, p.Confirmer
	o.Keep, o.Transcript = nil, nil
	o.Placement = s.Placement()
	child, err := s.engine.newSession(ctx, o, up)
	if err != nil {
		return agent.Child{}, err
	}
	out := agent.Child{Runner: child.runner, Session: child.inner, Ceiling: up.kind.Ceiling, Close: func() { _ = child.Close() }}
	for _, name := range up.kind.Skills {
		out.Skills = append(out.Skills, agent.Preload{Name: name, By: "host"})
	}
	return out, nil
}

// inherit turns the options of a session into those of a sub-agent's.
func (u *upper) inherit(o session.Options) session.Options {
	from := u.of.inner.Child(u.spawn.Fork)
	o.Base, o.Chain = from.Base, from.Chain
	o.Base.Prompt = u.kind.SystemPrompt()
	if u.spawn.Fork.Model == "" && u.kind.Model != "" {
		o.Base.Model = u.kind.Model
	}
	o.Snapshots = pinned{u.spawn.Snapshot}
	if !u.sees() {
		o.Access = u.access(o.Access)
	}
	return o
}

// sees reports whether the sub-agent has the catalog.
func (u *upper) sees() bool { return u == nil || u.kind.Discovery == agent.DiscoverSearch }

// tools are those within the limits of the kind.
func (u *upper) tools(all []toolset.Tool, o toolset.Options) []toolset.Tool {
	if u == nil {
		return all
	}
	return slices.DeleteFunc(all, func(t toolset.Tool) bool {
		spec := t.Spec()
		if spec.Name == o.SearchName() {
			return !u.sees()
		}
		return !spec.Steers && !u.kind.HasTool(spec.Name)
	})
}

// pinned is one Snapshot for a whole session.
type pinned struct{ now *registry.Snapshot }

func (p pinned) Snapshot() *registry.Snapshot { return p.now }

// access keeps a sub-agent to the skills of its definition and to the one that it carries
// out.
func (u *upper) access(next session.Access) session.Access {
	a := limited{next: next, addresses: map[string]bool{u.spawn.Fork.Skill: true}}
	for _, name := range u.kind.Skills {
		if rec, err := u.spawn.Snapshot.Lookup(name); err == nil {
			a.addresses[rec.Address] = true
		}
	}
	return a
}

type limited struct {
	next      session.Access // nil = no rules
	addresses map[string]bool
}

var errOutside = errors.New("it is not among the skills of this agent")

// Check implements session.Access.
func (l limited) Check(ctx context.Context, actor session.Actor, r *registry.Record) error {
	if !l.addresses[r.Address] {
		return errOutside
	}
	if l.next == nil {
		return nil
	}
	return l.next.Check(ctx, actor, r)
}
