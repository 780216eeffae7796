package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/skill"
)

// shellRuns keeps what it was asked to run and answers as it is told.
type shellRuns struct {
	asked  []command.Request
	result command.Result
	err    error
	able   error
}

func (r *shellRuns) Run(ctx context.Context, q command.Request) (command.Result, error) {
	r.asked = append(r.asked, q)
	return r.result, r.err
}

func (r *shellRuns) Able(context.Context, sandbox.Level) error { return r.able }

func shellOf(t *testing.T, o ShellOptions) Tool {
	t.Helper()
	tools := Shell(o)
	if len(tools) != 1 {
		t.Fatalf("%d tools", len(tools))
	}
	return tools[0]
}

func bash(t *testing.T, tool Tool, in string) Result {
	t.Helper()
	res, err := tool.Call(t.Context(), Call{Input: tool.(interface {
		Normalize(json.RawMessage) json.RawMessage
	}).Normalize(json.RawMessage(in))})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestTheShellToolSaysHowTheCommandEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result command.Result
		err    error
		code   string
		want   string
	}{
		"exit 0": {
			command.Result{Reason: sandbox.Exited, Stdout: []byte("a\r\nb\n\n"), Stderr: []byte("w\n"), Duration: 12 * time.Millisecond, Level: sandbox.Full}, nil,
			"", "the command exited 0 in 12 ms (sandbox: full)\na\nb\nstderr:\nw",
		},
		"exit 3":     {command.Result{Reason: sandbox.Exited, Exit: 3, Level: sandbox.Files}, nil, "command_failed", "the command exited 3 in 0 ms (sandbox: files)"},
		"signal":     {command.Result{Reason: sandbox.Signalled, Exit: -1, Signal: "SEGV", Level: sandbox.Files}, nil, "command_failed", "the command was ended by signal SEGV after 0 ms (sandbox: files)"},
		"timeout":    {command.Result{Reason: sandbox.TimedOut, Exit: -1, Duration: 120200 * time.Millisecond, Level: sandbox.Files}, nil, "command_failed", "the command was stopped: it took longer than 2m0s (sandbox: files)"},
		"too much":   {command.Result{Reason: sandbox.OutputCap, Exit: -1, Truncated: true, Stdout: []byte("x"), Level: sandbox.Files}, nil, "command_failed", "the command was stopped after 0 ms: it printed too much (sandbox: files)\nx"},
		"quota":      {command.Result{Reason: sandbox.Quota, Exit: -1, Why: "processes", Level: sandbox.Files}, nil, "command_failed", "the command was stopped after 0 ms: too much of processes (sandbox: files)"},
		"left over":  {command.Result{Reason: sandbox.Exited, Survivors: 2, Level: sandbox.Files}, nil, "", "the command exited 0 in 0 ms (sandbox: files); 2 processes that it left behind were ended"},
		"controls":   {command.Result{Reason: sandbox.Exited, Stdout: []byte("a\x1b]52;c;eA==\x07\x00\xff"), Level: sandbox.Files}, nil, "", "the command exited 0 in 0 ms (sandbox: files)\na" + command.Clean([]byte("\x1b]52;c;eA==\x07\x00\xff"))},
		"no sandbox": {command.Result{Exit: -1}, &sandbox.UnavailableError{Wanted: sandbox.Files}, "sandbox_unavailable", ""},
		"no bash":    {command.Result{Exit: -1}, &command.MissingError{Program: "bash"}, "program_missing", `"bash" is not there. Nothing was run.`},
		"outside":    {command.Result{Exit: -1}, command.ErrDir, "command_dir", "The directory is no folder of the workspace. Nothing was run."},
	} {
		runs := &shellRuns{result: c.result, err: c.err}
		res := bash(t, shellOf(t, ShellOptions{Runs: runs, Dir: "/w"}), `{"command":"make"}`)
		if res.Code != c.code || res.IsError != (c.code != "") || c.want != "" && res.Text != c.want {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

func TestTheShellToolAsksForWhatWasAskedOfIt(t *testing.T) {
	t.Parallel()
	runs := &shellRuns{result: command.Result{Reason: sandbox.Exited}}
	tool := shellOf(t, ShellOptions{Runs: runs, Dir: "/w"})
	res := bash(t, tool, `{"command":"ls","timeout_s":"7","cwd":"sub","description":"lists","run_in_background":true}`)
	got := runs.asked[0]
	if got.Kind != command.KindTool || got.Script != "ls" || got.Shell != "bash" || got.Dir != "/w/sub" || got.Timeout != 7*time.Second {
		t.Errorf("%+v", got)
	}
	if !strings.HasPrefix(res.Text, "Ignored unknown arguments: run_in_background.\n") {
		t.Error(res.Text)
	}
	other := shellOf(t, ShellOptions{Dialect: skill.ClaudeCode, Runs: runs, Dir: "/w"})
	if name := other.Spec().Name; name != "Bash" || other.Spec().Shell != "command" {
		t.Error(name)
	}
	bash(t, other, `{"command":"ls","timeout":1500}`)
	if got := runs.asked[1].Timeout; got != 2*time.Second {
		t.Error(got)
	}
	for _, in := range []string{`{}`, `{"command":3}`, `{"command":"ls","timeout":600001}`, `{"command":"ls","timeout_s":601}`} {
		if res := bash(t, tool, in); res.Code != "bad_args" {
			t.Errorf("%s: %+v", in, res)
		}
	}
	if len(runs.asked) != 2 {
		t.Errorf("%d runs", len(runs.asked))
	}
}

func TestTheShellToolIsThereOnlyWhereSomethingConfinesIt(t *testing.T) {
	t.Parallel()
	if Shell(ShellOptions{}) != nil {
		t.Error("a shell without anything that runs")
	}
	runs := &shellRuns{able: sandbox.ErrUnavailable}
	tool := shellOf(t, ShellOptions{Runs: runs})
	if tool.(Passing).Present(Now{}) {
		t.Error("there, where nothing confines it")
	}
	runs.able = nil
	if !tool.(Passing).Present(Now{}) {
		t.Error("not there")
	}
}

func TestACancelledCommandHasNoResult(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tool := shellOf(t, ShellOptions{Runs: &shellRuns{}, Dir: "/w"})
	if _, err := tool.Call(ctx, Call{Input: json.RawMessage(`{"command":"ls"}`)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Of what a failed script printed the model gets both ends, and is told what is left out.
func TestAFailedScriptShowsTheEndsOfBothStreams(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", scriptTail)
	g := ran(command.Result{Reason: sandbox.Exited, Exit: 1, Stdout: []byte(long + "last out"), Stderr: []byte(long + "last err")}, scriptOutput).tails()
	for _, text := range []string{g.Stdout, g.Stderr} {
		if len(text) > scriptTail+80 || !strings.HasPrefix(text, "(") || !strings.Contains(text, " bytes before this are left out)\né") {
			t.Errorf("%d bytes: %.60s", len(text), text)
		}
	}
	if !strings.HasSuffix(g.Stdout, "last out") || !strings.HasSuffix(g.Stderr, "last err") {
		t.Error("no end")
	}
	full := ran(command.Result{Reason: sandbox.OutputCap, Truncated: true, Stdout: []byte(strings.Repeat("x", 50))}, 50)
	if !strings.HasSuffix(full.Stdout, "x\n(cut at 50 bytes)") || full.Stderr != "" {
		t.Error(full)
	}
}
