package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/skill"
)

// NameShell is the name of the shell tool before any renaming.
const NameShell = "bash"

const (
	maxCommand   = 64 << 10 // bytes of one command: what the gate can judge
	maxWait      = 600      // seconds that a command may ask for
	shellOutput  = 4 << 20  // bytes kept of each stream: what the model can read of it in a file
	noteNotBegun = "Nothing was run."
)

// ShellOptions configures the shell tool.
type ShellOptions struct {
	Dialect skill.Dialect // "" = deft
	// Runs runs commands in the sandbox; nil = there is no shell tool.
	Runs command.Runs
	// Dir is the workspace, absolute: where commands start.
	Dir string
}

// Shell returns the tool that runs shell commands in the workspace, none where o has
// nothing to run them with. Every command runs in the sandbox at its highest level that
// works here, and not at all below the least; the tool is there while that level is.
func Shell(o ShellOptions) []Tool {
	if o.Runs == nil {
		return nil
	}
	d := o.Dialect
	if d == "" {
		d = skill.Deft
	}
	f := faces()[string(d)][NameShell]
	t := &shellTool{o: o, spec: Spec{
		Name: orElse(f.As, NameShell), Description: description(orElse(f.Text, NameShell)), Toolset: "shell", Shell: "command", Runs: true,
		Input: json.RawMessage(shellSchema), Tier: gate.ReadOnly, Mode: Parallel,
	}}
	if f.Input != nil {
		t.spec.Input = f.Input
	}
	return []Tool{t}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// shellTool runs a command as a shell reads it. How much consent it needs is the gate's
// to say of each command.
type shellTool struct {
	o    ShellOptions
	spec Spec
}

const shellSchema = `{"type":"object","properties":{"command":{"type":"string","minLength":1,"maxLength":65536},"timeout_s":{"type":"integer","minimum":1,"maximum":600},"dir":{"type":"string","maxLength":4096}},"required":["command"],"additionalProperties":false}`

// Spec describes the tool.
func (t *shellTool) Spec() Spec { return t.spec }

// Present implements Passing: what cannot be confined is not offered.
func (t *shellTool) Present(Now) bool { return t.o.Runs.Able(context.Background(), 0) == nil }

// Normalize returns args in the form of the schema; see normal.
func (t *shellTool) Normalize(args json.RawMessage) json.RawMessage {
	return normal(t.spec.Input, args)
}

// Accepts lets arguments through that the tool does not know and says so of: models add a
// description of their own.
func (t *shellTool) Accepts() json.RawMessage { return widened(t.spec.Input) }

func (t *shellTool) Call(ctx context.Context, c Call) (Result, error) {
	in := parseInput(c.Input)
	text, _ := in.text("command", maxCommand, true)
	seconds := in.whole("timeout_s", 0)
	if ms := in.whole("timeout", 0); ms > 0 { // other programs count in milliseconds
		seconds = (ms + 999) / 1000
	}
	dir, _ := in.text("dir", 4096, false)
	in.take("description")
	if seconds < 0 || seconds > maxWait {
		in.bad("timeout: %d seconds, limit %d", seconds, maxWait)
	}
	if in.fault != nil {
		return *in.fault, nil
	}
	q := command.Request{
		// The shell is the one whose grammar the gate judged by: another reads quotes otherwise.
		Kind: command.KindTool, Script: text, Shell: "bash", Dir: t.dir(dir),
		Timeout: time.Duration(seconds) * time.Second, MaxOutput: shellOutput,
	}
	res, err := t.o.Runs.Run(ctx, q)
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err != nil {
		return unstarted(err)
	}
	r := ended("the command", ran(res, shellOutput))
	r.Text = in.note() + r.Text
	return r, nil
}

// dir is where a command starts; that it is inside the workspace is the runner's to see.
func (t *shellTool) dir(arg string) string {
	if path.IsAbs(filepath.ToSlash(arg)) {
		return arg
	}
	return t.o.Dir + string(filepath.Separator) + filepath.FromSlash(arg)
}

// unstarted tells a model why nothing was run. What it cannot change is final.
func unstarted(err error) (Result, error) {
	var missing *command.MissingError
	switch {
	case errors.Is(err, command.ErrDir):
		return refuse("command_dir", "The directory is no folder of the workspace. "+noteNotBegun), nil
	case errors.As(err, &missing):
		return refuse("program_missing", fmt.Sprintf("%s is not there. %s", quote(missing.Program), noteNotBegun)), nil
	}
	r := refuse("sandbox_unavailable", fmt.Sprintf("It cannot be confined here: %s. %s Go on without it.", show(err.Error()), noteNotBegun))
	r.Retry = RetryFinal
	var start *sandbox.StartError
	if errors.Is(err, sandbox.ErrUnavailable) || errors.Is(err, sandbox.ErrPolicy) || errors.As(err, &start) {
		return r, nil
	}
	return Result{}, err
}
