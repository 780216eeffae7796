package deft

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/source"
)

// registrar puts hooks of a session's layers among those in force.
type registrar struct{ *command.HookSet }

// Register implements session.HookRegistrar.
func (r registrar) Register(owner string, scope session.Scope, hooks []command.Hook) ([]string, error) {
	return r.HookSet.Register(owner, string(scope), hooks)
}

// newHooks returns the hooks that a session begins with: the host's own, or for a
// sub-agent those about calls of the session above it.
func (o Options) newHooks(up *upper) *command.HookSet {
	if up.nested() {
		return up.of.hooks.Below()
	}
	set := &command.HookSet{}
	var own []command.Hook
	for i, h := range o.Hooks {
		if h.Type == "command" && !o.Commands.Hooks {
			continue
		}
		h.Index, h.Skill = i, command.SkillRef{}
		own = append(own, h)
	}
	_, _ = set.Register("options", string(session.ScopeSession), own) // numbered here: no two are alike
	return set
}

// pluginOwner is whose the hooks of plugins are in a set.
const pluginOwner = "plugins"

// pluginHooks are those of plugins that a session has in force.
type pluginHooks struct {
	mu  sync.Mutex
	now []command.Hook
	ids []string
}

// heedPlugins puts the hooks of plugins in force that count now. Hooks that did not change
// stay as they are: one that runs once has run.
func (s *Session) heedPlugins(ctx context.Context) {
	if s.engine.o.PluginHooks == nil || s.up.nested() {
		return
	}
	var next []command.Hook
	for _, h := range s.engine.o.PluginHooks(ctx) {
		if h.Type == "command" && !s.engine.o.Commands.Hooks || h.Skill == (command.SkillRef{}) {
			continue
		}
		h.Index = len(next)
		next = append(next, h)
	}
	p := &s.plugins
	p.mu.Lock()
	defer p.mu.Unlock()
	if reflect.DeepEqual(p.now, next) {
		return
	}
	s.hooks.Unregister(p.ids...)
	p.ids, _ = s.hooks.Register(pluginOwner, string(session.ScopeSession), next) // numbered here: no two are alike
	p.now = next
}

// runHook runs the command of a hook. What belongs to a skill that a person granted is run
// only while the skill is what was granted.
func (r *runs) runHook(ctx context.Context, h command.Registered, stdin []byte) (command.Result, error) {
	env := []string(nil)
	if h.Owner == pluginOwner {
		if r.e.o.PluginStands == nil || !r.e.o.PluginStands(ctx, h.Skill) {
			return command.Result{Exit: -1}, fmt.Errorf("the plugin %q is not what was agreed to any more", h.Skill.Name)
		}
		env = []string{"PLUGIN_ROOT=" + h.Skill.Dir, "CLAUDE_PLUGIN_ROOT=" + h.Skill.Dir}
	} else if h.Skill.Address != "" && !r.still(ctx, h.Skill) {
		return command.Result{Exit: -1}, fmt.Errorf("skill %q is not what was trusted any more", h.Skill.Name)
	}
	return r.Run(ctx, command.Request{
		Kind: command.KindHook, Script: h.Command, Dir: r.e.o.Workspace, Stdin: stdin, Timeout: h.Timeout, Skill: h.Skill, Env: env,
	})
}

// still reports whether the code of a skill counts now, in the content that its hooks were
// read from.
func (r *runs) still(ctx context.Context, s command.SkillRef) bool {
	return slices.ContainsFunc(r.w.view.Snapshot().All, func(rec *registry.Record) bool {
		if rec.Address != s.Address {
			return false
		}
		return rec.Source.Trust == source.Trusted || rec.Skill.Digest == s.Digest && r.e.granted(ctx, rec)
	})
}
