package route

import (
	"slices"
	"strings"
	"sync"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// gate is what the conditions of all skills say in one environment. It is immutable.
type gate struct {
	closed []bool // by skill; nil when every skill may pass
	hidden []HiddenEntry
	count  int
}

// gateKey identifies an environment.
type gateKey struct {
	sets [6][32]byte
	os   string
}

// cachedGates is how many environments are remembered: a server switches between a
// few kinds of turns.
const cachedGates = 4

// gateCache remembers the last environments, newest first.
type gateCache struct {
	mu   sync.Mutex
	keys []gateKey
	vals []*gate
}

func (c *gateCache) get(k gateKey) *gate {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.keys, k)
	if i < 0 {
		return nil
	}
	v := c.vals[i]
	c.keys = slices.Insert(slices.Delete(c.keys, i, i+1), 0, k)
	c.vals = slices.Insert(slices.Delete(c.vals, i, i+1), 0, v)
	return v
}

func (c *gateCache) put(k gateKey, v *gate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.keys, k) {
		return
	}
	c.keys, c.vals = slices.Insert(c.keys, 0, k), slices.Insert(c.vals, 0, v)
	if len(c.keys) > cachedGates {
		c.keys, c.vals = c.keys[:cachedGates], c.vals[:cachedGates]
	}
}

// gate judges every skill that has conditions.
func (r *Router) gate(env skill.Environment) *gate {
	if len(r.guarded) == 0 {
		return &gate{}
	}
	key := digestOf(env)
	if g := r.gates.get(key); g != nil {
		return g
	}
	g := &gate{}
	env = remembered(env)
	for _, at := range r.guarded {
		s := &r.skills[at]
		reasons := r.unmet(s.rec, env)
		if len(reasons) == 0 {
			continue
		}
		if g.closed == nil {
			g.closed = make([]bool, len(r.skills))
		}
		g.closed[at] = true
		g.count++
		for _, why := range reasons {
			g.hidden = append(g.hidden, s.hidden(why[0], why[1]))
		}
	}
	slices.SortStableFunc(g.hidden, compareHidden)
	r.gates.put(key, g)
	return g
}

func (s *compiled) hidden(code, detail string) HiddenEntry {
	return HiddenEntry{Address: s.entry.Address, ID: s.entry.ID, Name: s.entry.Name, Code: code, Detail: detail}
}

// unmet lists the conditions of rec that do not hold, as code and detail. A record
// that arbitration found unmet stays hidden, whatever this environment says.
func (r *Router) unmet(rec *registry.Record, env skill.Environment) (out [][2]string) {
	if !r.opt.NoConditions {
		for _, u := range skill.FindUnmet(rec.Skill.Meta.Conditions, env) {
			out = append(out, [2]string{u.Code, strings.Join(u.Names, ", ")})
		}
	}
	if len(out) == 0 && rec.State == registry.Unmet {
		out = append(out, [2]string{"unmet", ""})
		if len(rec.Reasons) > 0 {
			out[0][1] = rec.Reasons[0].Message
		}
	}
	return out
}

// memory asks a host's set about each name once, however many skills name it: a host
// may look a program up on the disk for each answer.
type memory struct {
	skill.Names
	known map[string]bool
}

// remembered wraps the sets of env for one pass over the skills.
func remembered(env skill.Environment) skill.Environment {
	for _, n := range []*skill.Names{&env.Vars, &env.Tools, &env.Toolsets, &env.Bins, &env.Servers, &env.Skills} {
		if *n != nil {
			*n = memory{*n, map[string]bool{}}
		}
	}
	return env
}

// Has implements skill.Names.
func (m memory) Has(name string) bool {
	yes, ok := m.known[name]
	if !ok {
		yes = m.Names.Has(name)
		m.known[name] = yes
	}
	return yes
}

// Version implements skill.VersionNames; of a set that knows none nothing is known.
func (m memory) Version(name string) (string, bool) {
	v, ok := m.Names.(skill.VersionNames)
	if !ok {
		return "", false
	}
	return v.Version(name)
}

// HasPrefix implements skill.PrefixNames; a set that cannot say has nothing.
func (m memory) HasPrefix(prefix string) bool {
	p, ok := m.Names.(skill.PrefixNames)
	return ok && p.HasPrefix(prefix)
}
