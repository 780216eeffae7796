package deft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
)

// agentFolders are the folders of kinds of agents, below the workspace and below the home;
// the first definition of an id counts. Those of other programs are read and never written.
var agentFolders = [...]struct {
	path   string
	vendor bool
}{
	{".deft/agents", false}, {".agents/agents", true}, {".claude/agents", true}, {".cursor/agents", true}, {".gemini/agents", true},
	{".opencode/agents", true}, {".opencode/agent", true}, {".config/opencode/agents", true}, {".config/opencode/agent", true}, {".github/agents", true},
}

// AgentText is a definition that a host keeps in a place of its own, such as a database; see
// agent.ReadDefinition.
type AgentText struct{ ID, Text string }

// Agents returns the kinds of agents: the built-in ones, those that Options.AgentTexts
// gives, and those that files define in .deft/agents and in the folders of other programs,
// of the workspace where its folder is trusted, and of the home. A file that cannot be read,
// or that takes the id of a kind before it, is a finding and no kind.
func (e *Engine) Agents(ctx context.Context) ([]agent.Definition, []skill.Diagnostic) {
	all := agents{list: agent.BuiltinDefinitions()}
	if e.o.AgentTexts != nil {
		texts, err := e.o.AgentTexts(ctx)
		if err != nil {
			all.diags = append(all.diags, skill.Finding("agent_invalid", "", "kept agents cannot be read: %v", err))
		}
		for _, t := range texts {
			d, err := agent.ReadDefinition([]byte(t.Text), t.ID)
			d.ID = t.ID
			all.add(d, "kept:"+t.ID, err)
		}
	}
	for _, base := range e.agentBases(ctx) {
		for _, folder := range agentFolders {
			if !folder.vendor || !e.o.NoExternal {
				all.read(base, folder.path)
			}
		}
	}
	return all.list, all.diags
}

// UnknownAgentError is an id that no kind of agent has.
type UnknownAgentError struct {
	ID    string
	Known []string // the ids that there are
}

func (e *UnknownAgentError) Error() string {
	return fmt.Sprintf("no agent has the id %q; there are: %s", e.ID, strings.Join(e.Known, ", "))
}

// Agent returns the kind of agent with an id, for SessionOptions.Agent: of a person's word,
// of a job, of a request. The error is an *UnknownAgentError.
func (e *Engine) Agent(ctx context.Context, id string) (agent.Definition, error) {
	kinds, _ := e.Agents(ctx)
	if i := slices.IndexFunc(kinds, func(d agent.Definition) bool { return d.ID == id }); i >= 0 {
		return kinds[i], nil
	}
	return agent.Definition{}, &UnknownAgentError{id, AgentNames(kinds)}
}

// agents gathers kinds.
type agents struct {
	list  []agent.Definition
	diags []skill.Diagnostic
}

// add takes one definition, or what is wrong with it.
func (a *agents) add(d agent.Definition, path string, err error) {
	if err != nil {
		f := skill.Finding("agent_invalid", path, "agent %s: %v", filepath.Base(path), err)
		var at *agent.DefinitionError
		if errors.As(err, &at) {
			f.Line, f.Column, f.Fix = at.Line, at.Column, at.Fix
		}
		a.diags = append(a.diags, f)
		return
	}
	d.Path = path
	i := slices.IndexFunc(a.list, func(o agent.Definition) bool { return o.ID == d.ID })
	if i < 0 {
		a.list = append(a.list, d)
		return
	}
	if was := a.list[i]; was.Path != "" {
		if was.Path = d.Path; reflect.DeepEqual(was, d) {
			return // a copy in another program's folder
		}
	}
	a.diags = append(a.diags, skill.Finding("agent_invalid", path, "agent %q: the id is taken by %s", d.ID, cmp.Or(a.list[i].Path, "a built-in kind")))
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
	if e.trustsWorkspace(ctx) {
		out = append(out, e.o.Workspace)
	}
	if e.o.Home != "" && e.o.Home != e.o.Workspace {
		out = append(out, e.o.Home)
	}
	return out
}

// read takes the definitions of one folder, by name.
func (a *agents) read(base, folder string) {
	more := definitions(base, folder, "agent_invalid", isAgent, func(path string, src []byte, err error) {
		var d agent.Definition
		if err == nil {
			stem := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
			d, err = agent.ReadDefinition(src, strings.TrimSuffix(stem, ".agent"))
		}
		a.add(d, path, err)
	})
	a.diags = append(a.diags, more...)
}

func isAgent(file string) bool {
	return strings.EqualFold(filepath.Ext(file), ".md") && !strings.EqualFold(file, "README.md")
}

// forks returns the kinds of sub-agents that a session's forked skills may name, and keeps
// those that are deft's own.
func (s *Session) forks(ctx context.Context, up *upper) []string {
	switch {
	case up.nested():
		s.kinds = up.of.kinds
	case s.o.Agents != nil || s.o.Model == nil || s.engine.skills.Fork != nil:
		return s.o.Agents
	default:
		s.kinds, _ = s.engine.Agents(ctx)
	}
	return AgentNames(s.kinds)
}

// AgentNames are the ids of kinds of agents, as SessionOptions.Agents takes them.
func AgentNames(kinds []agent.Definition) []string {
	out := make([]string, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k.ID)
	}
	return out
}
