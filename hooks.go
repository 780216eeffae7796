package deft

import (
	"context"
	"fmt"
	"slices"

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

// runHook runs the command of a hook. What belongs to a skill that a person granted is run
// only while the skill is what was granted.
func (r *runs) runHook(ctx context.Context, h command.Registered, stdin []byte) (command.Result, error) {
	if h.Skill.Address != "" && !r.still(ctx, h.Skill) {
		return command.Result{Exit: -1}, fmt.Errorf("skill %q is not what was trusted any more", h.Skill.Name)
	}
	return r.Run(ctx, command.Request{
		Kind: command.KindHook, Script: h.Command, Dir: r.e.o.Workspace, Stdin: stdin, Timeout: h.Timeout, Skill: h.Skill,
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
