package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
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

// Commands is the script by every path that a rule for the shell may name it by: from the
// skill, from the folder above it, from the working directory, and absolute.
func (t *runTool) Commands(c gate.Call) [][]string {
	var in struct {
		Name, Script string
		Args         []string
	}
	if json.Unmarshal(c.Args, &in) != nil {
		return nil
	}
	rel := path.Clean(strings.ReplaceAll(in.Script, `\`, "/"))
	forms := []string{rel, "./" + rel}
	for _, s := range c.Skills {
		if s.Dir == "" {
			continue
		}
		dir := filepath.ToSlash(s.Dir)
		below, absolute := strings.CutPrefix(rel, dir+"/")
		if !absolute {
			below = rel
		}
		forms = append(forms, below, "./"+below, path.Join(path.Base(dir), below), path.Join(dir, below))
		if from, err := filepath.Rel(c.Dir, filepath.FromSlash(path.Join(dir, below))); err == nil {
			forms = append(forms, filepath.ToSlash(from), "./"+filepath.ToSlash(from))
		}
	}
	slices.Sort(forms)
	var out [][]string
	for _, f := range slices.Compact(forms) {
		out = append(out, append([]string{f}, in.Args...))
	}
	return out
}

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
	file, within := inside(script, act.Record)
	switch {
	case !within:
		return refuse("path_outside", fmt.Sprintf("%s is not inside skill %s. Paths are relative to the skill folder.", quote(script), quote(act.Address))), nil
	case !slices.Contains(act.Scripts, file):
		return refuse("script_unknown", unknownScript(script, act)), nil
	}
	res, err := t.o.Scripts.Run(ctx, ScriptCall{Skill: act.Record, Script: file, Args: args, Stdin: stdin})
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
	r := ended(show(file), ran(res, scriptOutput).tails())
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
