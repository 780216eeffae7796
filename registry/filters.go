package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Filters is what hides winners from models beside their own headers. A dialect that
// names its filters judges them after arbitration, so that a hidden winner hides its
// name; the others know Gate alone. The zero value hides nothing.
type Filters struct {
	Agent     string      // skills in folders of other agents are hidden; "" = none are
	Selected  []string    // the agent's list of skills; nil = all, an empty list is none
	Extension []string    // the extension's list, which spares built-in skills; nil = all
	Gate      Gate        // of skills that came with the program; nil = all may be shown
	Disabled  Deactivator // nil = nothing is switched off by location
	// Servers are the MCP servers that are configured, whether they answer or not.
	Servers []string
}

// served returns the configured MCP server whose tools make a skill stale, by its name:
// mcp-SERVER; "" = none does.
func (f *Filters) served(r *Record, env skill.Environment) string {
	server, ok := strings.CutPrefix(fold.Key(r.Skill.Name), "mcp-")
	if ok && (slices.Contains(f.Servers, server) || env.Servers != nil && env.Servers.Has(server)) {
		return server
	}
	return ""
}

// Gate says what keeps a shipped skill from this host: "region" or "gate" and what it
// would need. code "" lets it through, unknown names included.
type Gate interface {
	Blocks(name string) (code, need string)
}

// Deactivator holds the locations of skills that a person switched off one by one. It
// is asked at every refresh and must be safe for concurrent use.
type Deactivator interface {
	DisabledLocations(ctx context.Context) []string
}

// disabled returns the locations that are off, sorted.
func (f *Filters) disabled(ctx context.Context) []string {
	if f.Disabled == nil {
		return nil
	}
	list := slices.Clone(f.Disabled.DisabledLocations(ctx))
	slices.Sort(list)
	return slices.Compact(list)
}

// filter is one reason to hide a winner; hides returns the reason, or one without code.
type filter struct {
	name  string
	state State
	hides func(a *arbiter, env skill.Environment, r *Record) Reason
}

// filterTable holds every filter that a policy may name.
var filterTable = [...]filter{
	{"region", Hidden, func(a *arbiter, _ skill.Environment, r *Record) Reason {
		return a.gated(r, "region", "region", "it is not offered in this region")
	}},
	{"scope", Hidden, func(a *arbiter, _ skill.Environment, r *Record) Reason {
		if own := a.r.c.Filters.Agent; own == "" || r.Source.Agent == "" || r.Source.Agent == own {
			return Reason{}
		}
		return Reason{Code: "agent_scope", Message: fmt.Sprintf("it belongs to the agent %q", r.Source.Agent), Fix: "work as that agent"}
	}},
	{"ambiguous", Hidden, func(a *arbiter, _ skill.Environment, r *Record) Reason {
		e := a.out.lookup.ambiguous[r.Skill.Name]
		if e == nil || !slices.Contains(e.Candidates, r.Location) {
			return Reason{}
		}
		return Reason{Code: "ambiguous", Message: "several folders have this name: " + strings.Join(e.Candidates, ", "), Fix: "keep one of them"}
	}},
	{"listed", Hidden, func(_ *arbiter, _ skill.Environment, r *Record) Reason {
		if r.Skill.Meta.Listed {
			return Reason{}
		}
		return Reason{Code: "unlisted", Message: "listed is false", Fix: "remove the key"}
	}},
	{"mcp", Hidden, func(a *arbiter, env skill.Environment, r *Record) Reason {
		server := a.r.c.Filters.served(r, env)
		if server == "" {
			return Reason{}
		}
		return Reason{Code: "mcp_duplicate", Message: fmt.Sprintf("the MCP server %q is configured and does the same", server), Fix: "use the tools of the server"}
	}},
	{"agent", Hidden, func(a *arbiter, _ skill.Environment, r *Record) Reason {
		return selected(r, a.r.c.Filters.Selected, "the agent's list of skills")
	}},
	{"extension", Hidden, func(a *arbiter, _ skill.Environment, r *Record) Reason {
		if r.Source.Kind == source.Builtin {
			return Reason{}
		}
		return selected(r, a.r.c.Filters.Extension, "the extension's list of skills")
	}},
	{"gate", Unmet, func(a *arbiter, _ skill.Environment, r *Record) Reason {
		return a.gated(r, "gate", "unmet", "a tool or feature is missing")
	}},
	{"beta", Hidden, func(a *arbiter, _ skill.Environment, r *Record) Reason {
		flag := r.Skill.Meta.RequiresBeta
		if flag == "" || a.r.c.Beta != nil && a.r.c.Beta(flag) {
			return Reason{}
		}
		return Reason{Code: "beta", Message: fmt.Sprintf("needs the beta flag %q", flag), Fix: "turn the flag on"}
	}},
	{"disabled", Disabled, func(a *arbiter, _ skill.Environment, r *Record) Reason {
		if _, off := slices.BinarySearch(a.r.disabled, r.Location); !off {
			return Reason{}
		}
		return Reason{Code: "off", Message: place(r) + " is switched off", Fix: "enable " + r.Skill.Name}
	}},
}

func knownFilter(name string) bool {
	return slices.ContainsFunc(filterTable[:], func(f filter) bool { return f.name == name })
}

// gated asks the gate about a shipped skill. Copies that a person or a project keeps
// are theirs and exempt; one in an agent's folder is not.
func (a *arbiter) gated(r *Record, code, reason, message string) Reason {
	gate := a.r.c.Filters.Gate
	if gate == nil || r.Source.Kind != source.Builtin && r.Source.Kind != source.Agent {
		return Reason{}
	}
	got, need := gate.Blocks(r.Skill.Name)
	if got != code {
		return Reason{}
	}
	return Reason{Code: reason, Message: message + ": " + need, Fix: "provide " + need}
}

// selected hides what a list does not name. Names compare folded, blanks around them
// left out.
func selected(r *Record, list []string, whose string) Reason {
	if list == nil || slices.ContainsFunc(list, func(s string) bool {
		return fold.Key(strings.TrimSpace(s)) == fold.Key(strings.TrimSpace(r.Skill.Name))
	}) {
		return Reason{}
	}
	return Reason{Code: "allow_only", Message: "it is not in " + whose, Fix: "add it there"}
}

// filters applies those that the policy names to every winner: the first that hides
// it is the reason. false when the policy names none.
func (a *arbiter) filters(env skill.Environment) bool {
	names := a.r.policy.Filters
	if len(names) == 0 && a.r.c.Filters.Gate != nil {
		names = []string{"region", "gate"} // the only ones that headers do not speak of
	}
	var list []filter
	for _, name := range names {
		list = append(list, filterTable[slices.IndexFunc(filterTable[:], func(f filter) bool { return f.name == name })])
	}
	for _, r := range a.out.Winners {
		if r.Source.Namespace != "" {
			continue // skills of plugins join after filtering: their plugin is switched as a whole
		}
		for _, f := range list {
			if why := f.hides(a, env, r); why.Code != "" {
				r.State = f.state
				why.Path, why.By = place(r), cmp.Or(why.By, why.Message)
				r.Reasons = append(r.Reasons, why)
				break
			}
		}
	}
	return len(a.r.policy.Filters) > 0
}
