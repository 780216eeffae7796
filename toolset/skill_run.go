package toolset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
)

const (
	maxScriptArgs = 256      // arguments of one call
	maxScriptArg  = 64 << 10 // bytes of one argument
	maxStdin      = 1 << 20  // bytes of standard input
	maxScripts    = 20       // names after an unknown one
	scriptOutput  = 1 << 20  // bytes kept of each stream
	scriptTail    = 96 << 10 // bytes of each stream that a model gets of a script that failed
)

// ScriptRunner runs scripts of skills in a sandbox and keeps at most 1 MiB of each stream.
// What a model can repair or has to know is a *command.ScriptError; any other error is the
// host's. Safe for concurrent use.
type ScriptRunner interface {
	Run(ctx context.Context, c ScriptCall) (command.Result, error)
}

// ScriptCall is one script to run. The runner compares what it runs with the tree digest
// that was granted.
type ScriptCall struct {
	Skill  *registry.Record
	Script string // relative to the skill, one of its scripts
	Args   []string
	Stdin  string
}

// NoSandbox is the ScriptRunner of a host that allows scripts where nothing confines
// them yet: every call is refused and nothing runs.
type NoSandbox struct{}

// Run refuses.
func (NoSandbox) Run(context.Context, ScriptCall) (command.Result, error) {
	return command.Result{Exit: -1}, &command.ScriptError{Code: "sandbox_unavailable", Message: "there is no sandbox here to run it in"}
}

// runTool runs one script of an active skill.
type runTool struct{ shape }

const skillRunSchema = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":512},"script":{"type":"string","maxLength":1024},"args":{"type":"array","items":{"type":"string","maxLength":65536},"maxItems":256},"stdin":{"type":"string","maxLength":1048576}},"required":["name","script"],"additionalProperties":false}`

// Present implements Passing: somebody's code has to count, and there has to be what
// confines it, where the runner can tell.
func (t *runTool) Present(n Now) bool {
	able, ok := t.o.Scripts.(interface{ Able(context.Context) error })
	return slices.ContainsFunc(n.Active, runnable) && (!ok || able.Able(context.Background()) == nil)
}

func runnable(a session.Activation) bool { return a.Granted && len(a.Scripts) > 0 }

func (t *runTool) Call(ctx context.Context, c Call) (Result, error) {
	in := t.input(c)
	name, _ := in.text("name", maxName, true)
	script, _ := in.text("script", maxPath, true)
	args := in.texts("args", maxScriptArgs, false)
	stdin, _ := in.text("stdin", maxStdin, false)
	for _, a := range args {
		if len(a) > maxScriptArg {
			in.bad("args: an argument of %d bytes, limit %d", len(a), maxScriptArg)
		}
	}
	if in.fault != nil {
		return *in.fault, nil
	}
	act, ok := c.Turn.ActiveSkill(name)
	if !ok || !act.Granted {
		return refuse("skill_not_active", fmt.Sprintf("%s is not active, or its code does not count. Load it first; only the user can grant it.", quote(name))), nil
	}
	path, within := inside(script, act.Record)
	switch {
	case !within:
		return refuse("path_outside", fmt.Sprintf("%s is not inside skill %s. Paths are relative to the skill folder.", quote(script), quote(act.Address))), nil
	case !slices.Contains(act.Scripts, path):
		return refuse("script_unknown", unknownScript(script, act)), nil
	}
	res, err := t.o.Scripts.Run(ctx, ScriptCall{Skill: act.Record, Script: path, Args: args, Stdin: stdin})
	var told *command.ScriptError
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case errors.As(err, &told):
		r := refuse(told.Code, fmt.Sprintf("Not run: %s. Go on without it.", told.Message))
		r.Retry = RetryFinal
		return r, nil
	case err != nil:
		return Result{}, err
	}
	r := ended(show(path), ran(res, scriptOutput).tails())
	if r.IsError {
		r.Code = "script_failed"
	}
	return r, nil
}

func unknownScript(script string, act session.Activation) string {
	names := make([]string, 0, maxScripts)
	for _, s := range act.Scripts[:min(maxScripts, len(act.Scripts))] {
		names = append(names, show(s))
	}
	text := fmt.Sprintf("No script %s in %s.", quote(script), quote(act.Address))
	if len(names) > 0 {
		text += " Scripts: " + strings.Join(names, ", ")
		if n := len(act.Scripts) - len(names); n > 0 {
			text += fmt.Sprintf(", … %d more", n)
		}
		text += "."
	}
	return text
}
