package toolset

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
)

// RunResult is how something that was run ended, for hosts. What it printed is cleaned
// and cut, and says so.
type RunResult struct {
	Exit      int    `json:"exit"`   // -1 = it did not end by itself
	Signal    string `json:"signal"` // "" = no signal ended it
	Reason    string `json:"reason"` // why it ended; see sandbox.Reason
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Truncated bool   `json:"truncated"` // not all that it printed was kept
	Millis    int64  `json:"ms"`
	Level     string `json:"level"` // of the sandbox
	Why       string `json:"why"`   // of reason quota: processes, or temp
	Survivors int    `json:"survivors"`
}

// TimedOut reports whether it was stopped at its deadline.
func (g RunResult) TimedOut() bool { return g.Reason == string(sandbox.TimedOut) }

// ran is a result as texts; most is how many bytes of each stream were kept.
func ran(res command.Result, most int64) RunResult {
	text := func(stream []byte) string {
		out := strings.TrimRight(command.Clean(stream), " \t\n")
		if int64(len(stream)) >= most && res.Truncated {
			out += fmt.Sprintf("\n(cut at %d bytes)", most)
		}
		return out
	}
	return RunResult{
		Exit: res.Exit, Signal: res.Signal, Reason: string(res.Reason), Stdout: text(res.Stdout), Stderr: text(res.Stderr),
		Truncated: res.Truncated, Millis: res.Duration.Milliseconds(), Level: res.Level.String(), Why: res.Why, Survivors: res.Survivors,
	}
}

// endings say how something ended that did not do so by itself.
var endings = map[sandbox.Reason]func(RunResult) string{
	sandbox.Exited: func(g RunResult) string { return fmt.Sprintf("exited %d in %d ms", g.Exit, g.Millis) },
	sandbox.Signalled: func(g RunResult) string {
		return fmt.Sprintf("was ended by signal %s after %d ms", show(g.Signal), g.Millis)
	},
	sandbox.TimedOut: func(g RunResult) string {
		return fmt.Sprintf("was stopped: it took longer than %s", (time.Duration(g.Millis) * time.Millisecond).Round(time.Second))
	},
	sandbox.Cancelled: func(g RunResult) string { return fmt.Sprintf("was cancelled after %d ms", g.Millis) },
	sandbox.OutputCap: func(g RunResult) string { return fmt.Sprintf("was stopped after %d ms: it printed too much", g.Millis) },
	sandbox.Quota: func(g RunResult) string {
		return fmt.Sprintf("was stopped after %d ms: too much of %s", g.Millis, orElse(g.Why, "something"))
	},
}

// ended reports how something ended. All but an exit with 0 is an error.
func ended(what string, g RunResult) Result {
	say := endings[sandbox.Reason(g.Reason)]
	if say == nil {
		say = endings[sandbox.Exited]
	}
	text := fmt.Sprintf("%s %s (sandbox: %s)", what, say(g), g.Level)
	if g.Survivors > 0 {
		text += fmt.Sprintf("; %d processes that it left behind were ended", g.Survivors)
	}
	if g.Stdout != "" {
		text += "\n" + g.Stdout
	}
	if g.Stderr != "" {
		text += "\nstderr:\n" + g.Stderr
	}
	r := Result{Text: text, Structured: g, Meta: Meta{Truncated: g.Truncated}}
	if g.Exit != 0 || g.Reason != string(sandbox.Exited) {
		r.Code, r.IsError = "command_failed", true
	}
	return r
}

// tails leaves the end of what a failed run printed, where it says why.
func (g RunResult) tails() RunResult {
	if g.Exit == 0 && g.Reason == string(sandbox.Exited) {
		return g
	}
	tail := func(text string) string {
		if len(text) <= scriptTail {
			return text
		}
		cut := len(text) - scriptTail
		for !utf8.RuneStart(text[cut]) {
			cut++
		}
		return fmt.Sprintf("(%d bytes before this are left out)\n%s", cut, text[cut:])
	}
	g.Stdout, g.Stderr = tail(g.Stdout), tail(g.Stderr)
	return g
}
