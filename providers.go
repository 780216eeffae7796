package deft

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

// offers counts how often what the providers have changed in a way that skills may ask
// for, so that the next turn judges their conditions anew. Safe for concurrent use.
type offers struct{ changes atomic.Int64 }

// version is "" while nothing has changed: an engine without providers never has one.
func (o *offers) version() string {
	if n := o.changes.Load(); n > 0 {
		return "+" + strconv.FormatInt(n, 10)
	}
	return ""
}

// asks reports whether a skill's conditions may depend on what providers have.
func asks(c *skill.Conditions) bool {
	if c == nil {
		return false
	}
	return len(c.RequiresMCP) > 0 || len(c.RequiresTools) > 0 || len(c.RequiresToolsets) > 0 ||
		len(c.FallbackForTools) > 0 || len(c.FallbackForToolsets) > 0 || c.Dependencies != nil
}

// more returns what brings the tools of the providers to the turns of one session, and
// tells its gate of them; nil = there are no providers. A turn whose providers have what
// they had costs no more than asking them.
func (e *Engine) more(s *Session, table *gate.Table, fixed []toolset.Tool, up *upper) func(context.Context) ([]toolset.Tool, []string, error) {
	if len(e.o.Providers) == 0 {
		return nil
	}
	var one sync.Mutex // a turn that will find the session busy asks too
	last := ""
	return func(ctx context.Context) (tools []toolset.Tool, away []string, err error) {
		one.Lock()
		defer one.Unlock()
		taken := map[string]bool{}
		for _, t := range fixed {
			taken[t.Spec().Name] = true
		}
		var state strings.Builder
		for i, p := range e.o.provide(ctx) {
			fmt.Fprintf(&state, "%d %q\n", i, p.Away)
			if p.Away != "" {
				away = append(away, p.Away)
			}
			for _, t := range up.tools(slices.Clone(p.Tools), e.skills) {
				spec := t.Spec()
				if taken[spec.Name] {
					away = append(away, fmt.Sprintf("The tool %q of %s is left out: another tool has the name.", spec.Name, e.o.Providers[i].Name()))
					continue
				}
				taken[spec.Name] = true
				tools = append(tools, t)
				fmt.Fprintf(&state, "%q %q %d\n", spec.Name, spec.Mark, spec.Tier)
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if state.String() == last {
			return tools, away, nil
		}
		now, err := agent.GateTableOf(&e.schemas, slices.Concat(fixed, tools))
		if err != nil {
			return nil, nil, fmt.Errorf("tools: %w", err)
		}
		table.Become(now)
		last = state.String()
		if slices.ContainsFunc(s.Snapshot().All, func(r *registry.Record) bool { return asks(r.Skill.Meta.Conditions) }) {
			e.offers.changes.Add(1)
		}
		return tools, away, nil
	}
}

// provide asks all providers at once and keeps their order.
func (o Options) provide(ctx context.Context) []toolset.Provided {
	out := make([]toolset.Provided, len(o.Providers))
	var all sync.WaitGroup
	for i, p := range o.Providers {
		all.Go(func() { out[i] = p.Provide(ctx) })
	}
	all.Wait()
	return out
}

// provided are names that are there and those that a provider has.
func (o Options) provided(fixed []string, has func(p toolset.Provider, name string) bool) skill.Names {
	if len(o.Providers) == 0 {
		if fixed == nil {
			return nil
		}
		return skill.NewNameSet(fixed...)
	}
	return providedNames{skill.NewNameSet(fixed...), o.Providers, has}
}

// isSetOf reports whether a provider is there whose tools make up the toolset.
func isSetOf(p toolset.Provider, set string) bool {
	name, ok := strings.CutPrefix(set, "mcp__")
	return ok && isNamed(p, name)
}

// isNamed reports whether a provider of that name is there.
func isNamed(p toolset.Provider, name string) bool { return p.Name() == name && !p.Lost() }

// providedNames follow what the providers have.
type providedNames struct {
	fixed *skill.NameSet
	from  []toolset.Provider
	has   func(p toolset.Provider, name string) bool
}

// Has implements skill.Names.
func (n providedNames) Has(name string) bool {
	return n.fixed.Has(name) || slices.ContainsFunc(n.from, func(p toolset.Provider) bool { return n.has(p, name) })
}

// HasPrefix implements skill.PrefixNames.
func (n providedNames) HasPrefix(prefix string) bool {
	return n.fixed.HasPrefix(prefix) || n.Has(prefix+"*")
}

// Digest implements skill.Names.
func (n providedNames) Digest() [32]byte {
	h := sha256.New()
	fixed := n.fixed.Digest()
	h.Write(fixed[:])
	for _, p := range n.from {
		fmt.Fprintf(h, "%q %s\n", p.Name(), p.State())
	}
	return [32]byte(h.Sum(nil))
}
