package deft

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/registry"
)

// Secrets gives the value of a variable that a person bound to a skill. key is the one of
// registry.Bindings under which it is bound. Safe for concurrent use. An error says why
// there is no value, without anything of it.
type Secrets interface {
	Value(ctx context.Context, key, name string) (string, error)
}

// vault hands the values of variables to the commands of the skills that they are bound
// to, and hides those that it handed out in everything that is printed. One belongs to an
// engine, so that what one session's command wrote is hidden in another too.
type vault struct{ command.Hider }

// of returns the environment of a skill's commands, NAME=value: the variables that it
// declares and that a person bound to it. have is what its commands see anyway.
func (v *vault) of(ctx context.Context, e *Engine, all []*registry.Record, r *registry.Record, have []string) ([]string, error) {
	wants := registry.Wants(&r.Skill.Meta)
	if len(wants) == 0 {
		return nil, nil
	}
	if !e.granted(ctx, r) {
		return nil, &command.ScriptError{Code: "env_untrusted", Message: fmt.Sprintf("skill %q is given no variables: nobody granted its code", r.Skill.Name)}
	}
	key, bound := e.judge.decided().Binding(r, all)
	var env, missing []string
	for _, name := range wants {
		if !slices.Contains(bound, name) {
			if !slices.ContainsFunc(have, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
				missing = append(missing, name)
			}
			continue
		}
		if e.o.Secrets == nil {
			return nil, unread(r, name, "nothing gives values here")
		}
		value, err := e.o.Secrets.Value(ctx, key, name)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, unread(r, name, err.Error())
		case strings.ContainsRune(value, 0) || len(value) > maxSecret:
			return nil, unread(r, name, fmt.Sprintf("its value is longer than %d bytes or holds a NUL", maxSecret))
		}
		v.Give(name, value)
		env = append(env, name+"="+value)
	}
	if len(missing) > 0 {
		return nil, &command.ScriptError{
			Code:    "env_missing",
			Message: fmt.Sprintf("skill %q needs %s; bind it under %s", r.Skill.Name, strings.Join(missing, ", "), registry.Setting(key)),
		}
	}
	return env, nil
}

// maxSecret bounds one value in bytes: an environment has to fit in what a system takes.
const maxSecret = 64 << 10

func unread(r *registry.Record, name, why string) error {
	return &command.ScriptError{Code: "env_unreadable", Message: fmt.Sprintf("%s of skill %q cannot be had: %s", name, r.Skill.Name, why)}
}

// base is the environment that runs have without any skill's variables.
func (o Options) base() []string {
	return sandbox.Environment(o.Environ, nil, o.Commands.PassEnv)
}
