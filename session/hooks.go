package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// HookRegistrar puts hooks in force for a session. Register returns an id for each hook;
// registering the same owner and scope again takes the place of what was there. Both are
// called by one goroutine at a time.
type HookRegistrar interface {
	Register(owner string, scope Scope, hooks []command.Hook) ([]string, error)
	Unregister(ids ...string)
}

// hookKey is what hooks are registered under.
type hookKey struct {
	owner Owner
	scope Scope
}

// registered is what is in force for one key.
type registered struct {
	seq int // of the patch that brought them
	ids []string
}

// hookKeeper follows which hooks of the layers are registered.
type hookKeeper struct {
	mu  sync.Mutex
	now map[hookKey]registered
}

// syncHooks makes the hooks of l those in force: what is gone is unregistered, what is new
// is registered. A hook that ran once stays gone until its skill is started again.
func (s *Session) syncHooks(l Layers) error {
	if s.o.Hooks == nil {
		return nil
	}
	return s.inForce(func(take func(*Applied)) {
		if task := s.o.Base.task; task != nil {
			take(task)
		}
		l.each(take)
	})
}

// inForce makes the hooks of the patches that each gives those in force.
func (s *Session) inForce(each func(func(*Applied))) error {
	wanted := map[hookKey]*Applied{}
	var order []hookKey
	each(func(a *Applied) {
		if len(a.Hooks) == 0 {
			return
		}
		key := hookKey{a.Owner, orScope(a.HookScope, a.Scope)}
		if wanted[key] == nil {
			order = append(order, key)
		}
		wanted[key] = a
	})
	k := &s.hooks
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, had := range k.now {
		if wanted[key] == nil {
			delete(k.now, key)
			s.unregister(had.ids)
		}
	}
	var failed error
	for _, key := range order {
		a := wanted[key]
		had, is := k.now[key]
		if is && had.seq == a.Seq {
			continue
		}
		ids, err := s.register(key, a.Hooks)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if k.now == nil {
			k.now = map[hookKey]registered{}
		}
		k.now[key] = registered{a.Seq, ids}
		s.unregister(slices.DeleteFunc(slices.Clone(had.ids), func(id string) bool { return slices.Contains(ids, id) }))
	}
	return failed
}

// register calls the registrar; a panic there is its failure.
func (s *Session) register(key hookKey, hooks []command.Hook) (ids []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("hooks of %s: panic", key.owner.ID)
		}
	}()
	return s.o.Hooks.Register(string(key.owner.Kind)+":"+key.owner.ID, key.scope, hooks)
}

// unregister takes hooks out of force one by one: a panic at one of them is noted, and the
// others go all the same.
func (s *Session) unregister(ids []string) {
	for _, id := range ids {
		func() {
			defer func() {
				if recover() != nil && s.o.Audit != nil {
					_ = s.o.Audit(context.Background(), Event{Action: "unregister_hook", Session: s.id, At: s.o.Clock(), Name: id, Code: "panic"})
				}
			}()
			s.o.Hooks.Unregister(id)
		}()
	}
}

func orScope(a, b Scope) Scope {
	switch {
	case a != "":
		return a
	case b != "":
		return b
	}
	return ScopeSession
}

// lay puts l in force. Where its hooks cannot be registered nothing changes.
func (s *Session) lay(l Layers) error {
	if err := s.syncHooks(l); err != nil {
		s.withdraw()
		return &Error{Code: "hooks", Message: "hooks could not be registered", Err: err}
	}
	return nil
}

// withdraw takes back what lay registered for layers that are not to be.
func (s *Session) withdraw() { _ = s.syncHooks(s.Layers()) }

// hooksOf reads the hooks of a skill as far as its source, its trust and the host let it
// have any.
func (t *Turn) hooksOf(c *candidate) {
	s, m := c.body.Skill, &c.rec.Skill.Meta
	if s == nil {
		s = c.rec.Skill
	}
	c.hooked = c.act.effectful() && (c.act.Trust == trustTrusted || c.act.Granted)
	if !m.HasHooks || !c.hooked || t.s.o.Hooks == nil {
		return // drop says where it is for want of trust
	}
	note := func(code, format string, args ...any) {
		c.diags = append(c.diags, skill.Finding(code, "SKILL.md", format, args...)) //nolint:govet // the formats are this file's
	}
	if !hooksAllowed(c.rec.Entry.Source) {
		note("hook_off", "hooks of skill %q: its source may bring none", c.act.Name)
		return
	}
	list, diags := Hooks(s, t.s.o.Dialect)
	c.diags = append(c.diags, diags...)
	off := 0
	for _, h := range list {
		if h.Type == "command" && !t.s.o.HookCommands {
			off++
			continue
		}
		h.Skill = command.SkillRef{Name: c.act.Name, Address: c.act.Address, Dir: c.rec.Dir, Digest: c.act.Digest}
		c.hooks = append(c.hooks, h)
	}
	if off > 0 {
		note("hook_off", "%d hooks of skill %q are commands, which hooks do not run here", off, c.act.Name)
	}
}

// hookScope is how long hooks of a skill last that lasts for scope.
func (s *Session) hookScope(scope Scope) Scope {
	if s.o.Dialect == skill.ClaudeCode {
		return ScopeSession
	}
	return scope
}

// hooksAllowed is the policy of the source. A skill given in code has hooks in its header
// only where the host's code said so.
func hooksAllowed(i source.Info) bool {
	if i.Kind == source.DataDef && i.Hooks == source.PolicyOfKind {
		return true
	}
	return i.HooksPolicy() != source.PolicyDeny
}

// Hooks reads the hooks of a header, wherever it has them. Those in a file beside SKILL.md
// are not read.
func Hooks(s *skill.Skill, d skill.Dialect) ([]command.Hook, []skill.Diagnostic) {
	if s == nil || !s.Meta.HasHooks {
		return nil, nil
	}
	const key = "hooks"
	raw := s.Raw()
	for _, n := range []*skill.Node{raw.Path("metadata", "deft", key), raw.Path("metadata", "deft."+key), raw.Path("deft", key), raw.Get(key)} {
		if n == nil || s.Origin(key).File == skill.SidecarConfig {
			continue
		}
		list, diags := command.ParseHooks(n, d)
		for i := range diags {
			diags[i].File = "SKILL.md"
		}
		return list, diags
	}
	return nil, []skill.Diagnostic{skill.Finding("hook_ignored", skill.SidecarConfig, "hooks count in SKILL.md alone")}
}
