package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/internal/safetext"
)

// errLoad is the cause of a load that took too long.
var errLoad = errors.New("load took too long")

// run starts the commands that have no reason against them, in order, or some at once
// where the skill or the dialect says so. The first failure of a load that ends with it
// stops the others.
func (e *expansion) run(ctx context.Context) error {
	total := max(loadTimeout, e.timeout())
	timed, cancel := context.WithTimeoutCause(ctx, total, errLoad)
	defer cancel()
	wide := 1
	switch {
	case e.m.parallel:
		wide = maxCommands
	case e.o.Rule.Parallel:
		wide = maxParallel
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, wide)
	for i := range e.jobs {
		if e.jobs[i].out.Reason != "" {
			continue
		}
		slots <- struct{}{}
		wg.Add(1)
		go func(j *job) {
			defer wg.Done()
			e.one(timed, j, total)
			if e.aborts() && j.out.Reason != "" {
				cancel()
			}
			<-slots
		}(&e.jobs[i])
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return e.ended()
}

func (e *expansion) timeout() time.Duration {
	if e.o.Rule.Timeout > 0 {
		return e.o.Rule.Timeout
	}
	return e.m.timeout
}

// one runs one command and notes what became of it.
func (e *expansion) one(ctx context.Context, j *job, total time.Duration) {
	stopped := func() {
		if errors.Is(context.Cause(ctx), errLoad) {
			j.fail(ReasonTimeout, fmt.Sprintf("timeout %s in all", total))
			return
		}
		j.fail(ReasonCancelled, details[ReasonCancelled])
	}
	if ctx.Err() != nil {
		stopped()
		return
	}
	q := Request{
		Kind: KindInline, Argv: j.call.Argv, Dir: j.call.Dir, Timeout: e.timeout(), MaxOutput: e.m.output,
		Level: e.o.Level, Skill: e.o.Skill,
	}
	if len(q.Argv) == 0 {
		q.Script, q.Shell = j.call.Command, j.call.Shell
	}
	res, err := e.o.Runs.Run(ctx, q)
	j.out.Level, j.out.Exit, j.out.Duration, j.out.Ran = res.Level, res.Exit, res.Duration, err == nil
	j.out.Stderr = Clean(res.Stderr[:min(len(res.Stderr), maxStderr)])
	switch {
	case ctx.Err() != nil:
		stopped()
	case err != nil:
		j.unstarted(err)
	default:
		e.finish(j, res)
	}
}

// maxStderr is how much of a command's stderr is kept for the record.
const maxStderr = 4 << 10

// unstarted names why a command could not be started.
func (j *job) unstarted(err error) {
	var missing *MissingError
	var refused *ScriptError
	switch {
	case errors.As(err, &refused) && strings.HasPrefix(refused.Code, "env_"):
		j.fail(ReasonEnv, safetext.Line(refused.Message))
	case errors.As(err, &missing):
		j.fail(ReasonMissing, safetext.Line(missing.Program)+" not found")
	case errors.Is(err, ErrDir):
		j.fail(ReasonDir, details[ReasonDir])
	default:
		j.fail(ReasonSandbox, unable(err))
		j.out.Why = err.Error()
	}
}

// finish reads how a command that was started ended.
func (e *expansion) finish(j *job, res Result) {
	switch res.Reason {
	case sandbox.Signalled:
		j.fail(ReasonSignal, "signal "+safetext.Line(res.Signal))
	case sandbox.TimedOut:
		j.fail(ReasonTimeout, fmt.Sprintf("timeout %s", e.timeout()))
	case sandbox.Cancelled:
		j.fail(ReasonCancelled, details[ReasonCancelled])
	case sandbox.Quota:
		j.fail(ReasonSignal, "quota of "+safetext.Line(res.Why))
	}
	if res.Reason == sandbox.Exited && res.Exit != 0 && !(e.m.abort && res.Exit == 1 && slices.Contains(tolerated, lastProgram(j.call))) {
		j.fail(ReasonExit, fmt.Sprintf("exit %d", res.Exit))
	}
	if j.out.Reason != "" {
		return
	}
	out := res.Stdout
	if e.m.both && len(res.Stderr) > 0 {
		out = slices.Concat(bytes.TrimRight(out, "\n"), []byte("\n"), res.Stderr)
	}
	j.out.Bytes, j.out.Cut = len(out), res.Truncated
	j.out.Text = output(out, e.m.output, res.Truncated)
	if e.m.plain {
		j.out.Text = strings.TrimSpace(j.out.Text)
	}
}

// output is what a command printed as it stands in the text: data, never read again.
func output(out []byte, most int64, cut bool) string {
	if int64(len(out)) > most {
		out, cut = out[:most], true
	}
	for n := 1; cut && n < utf8.UTFMax && n <= len(out); n++ {
		// A character that the bound cut in two goes as a whole.
		if b := out[len(out)-n]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(out[len(out)-n:]) {
				out = out[:len(out)-n]
			}
			break
		}
	}
	text := strings.TrimRight(Clean(out), " \t\n")
	if cut {
		text += fmt.Sprintf("\n(cut at %d bytes)", most)
	}
	return text
}

// Clean makes what a program printed safe to show: LF line ends, U+FFFD for bytes that
// are no UTF-8, visible escapes for what would move a cursor or turn text around.
func Clean(out []byte) string {
	return safetext.Text(strings.ToValidUTF8(string(out), "\uFFFD"))
}
