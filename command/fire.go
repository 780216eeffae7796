package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/toolrule"
)

// HookRunner runs the commands of hooks. Permit asks policy and gate, and may wait for a
// person; Run starts what was permitted, and must end when its context does.
type HookRunner interface {
	Permit(ctx context.Context, h Registered) error
	Run(ctx context.Context, h Registered, stdin []byte) (Result, error)
}

// HookInput is what an event tells its hooks.
type HookInput struct {
	Event   string
	Session string
	Turn    int
	Tool    string          // of an event about a call
	Input   json.RawMessage // the arguments of the call; of UserPromptSubmit an object with the prompt
	Result  string          // of the call
	Dir     string          // working directory, absolute
	// Names says whether one of the patterns of a tool list is about a call of Tool with these
	// arguments; nil = by the tool's name and what its arguments say, without a file system.
	Names func(patterns []string, input json.RawMessage) bool
	// Done are hooks that have run for this event already; Fire adds to it. nil = none.
	Done map[string]bool
}

// HookRun is one hook that ran and what came of it, for events and records.
type HookRun struct {
	ID      string `json:"id"`
	Event   string `json:"event"`
	Type    string `json:"type"`
	Skill   string `json:"skill,omitempty"`   // "" = the host's
	Address string `json:"address,omitempty"` // of the skill
	Tool    string `json:"tool,omitempty"`
	// Did is what came of it: append, deny, ask, rewrite, notify, nothing, or failed.
	Did     string        `json:"did"`
	Text    string        `json:"text,omitempty"` // what it said, or why it failed; of a stranger
	Elapsed time.Duration `json:"-"`              // of a command
}

// HookOutcome is what the hooks of one event came to together.
type HookOutcome struct {
	Verdict Verdict // Refuse, Ask, or "" for nothing; a hook allows nothing
	Code    string  // of a Refuse: hook_deny or hook_failed
	Reason  string  // of a Refuse or an Ask: names the hook
	Append  []string
	Input   json.RawMessage // as the hooks left it
	Runs    []HookRun
}

// The codes of a refusal by hooks.
const (
	HookDenied = "hook_deny"
	HookFailed = "hook_failed"
)

// Fire runs the hooks of an event that match, one after the other, the host's first. The
// first refusal stops; texts to append add up; each hook sees the arguments as those
// before it left them. A hook that fails refuses what has not happened yet, and is only
// told of what has. Hooks that run while Fire does are not hooked themselves: nothing
// here fires.
func (s *HookSet) Fire(ctx context.Context, in HookInput, by HookRunner) HookOutcome {
	out := HookOutcome{Input: in.Input}
	rule := hookEvents[in.Event]
	for _, h := range s.List() {
		if h.Event != in.Event || h.Inert || in.Done[h.ID] || rule.call && !h.about(in.Tool, in.named) {
			continue
		}
		if h.Once && !s.take(h.ID) {
			continue
		}
		if in.Done != nil {
			in.Done[h.ID] = true
		}
		out.take(h, in, rule, h.word(ctx, in, by))
		in.Input = out.Input
		if out.Verdict == Refuse {
			break
		}
	}
	return out
}

// named reports whether one of the patterns is about the call.
func (in HookInput) named(patterns []string) bool {
	if in.Names != nil {
		return in.Names(patterns, in.Input)
	}
	_, hit := toolrule.ParseList(patterns).Denies(toolrule.Describe(in.Tool, in.Input, in.Dir, "", nil))
	return hit
}

// word is what one hook says.
type word struct {
	verdict Verdict // Refuse, Ask, or ""
	reason  string
	append  string
	notice  string
	input   json.RawMessage
	failed  string // why nothing of it counts
	missed  string // a part that the event has no place for
	elapsed time.Duration
}

// word has the hook say it. A panic on the way is a failure of the hook.
func (h Registered) word(ctx context.Context, in HookInput, by HookRunner) (w word) {
	switch h.Type {
	case "append_prompt", "append_result":
		return word{append: h.Value}
	case "deny":
		return word{verdict: Refuse, reason: h.Value}
	case "ask":
		return word{verdict: Ask, reason: h.Value}
	case "notify":
		return word{notice: h.Value}
	}
	defer func() {
		if p := recover(); p != nil {
			w = word{failed: "it broke down"}
		}
	}()
	if by == nil {
		return word{failed: "commands are not run here"}
	}
	if err := by.Permit(ctx, h); err != nil {
		return word{failed: err.Error()}
	}
	res, err := h.bounded(ctx, by, in.line(h))
	if err != nil {
		return word{failed: err.Error()}
	}
	w = read(hookEvents[in.Event], h, res)
	w.elapsed = res.Duration
	return w
}

// errHookTime ends the wait for a command that does not end.
var errHookTime = errors.New("hook time")

// bounded runs the command and waits for it no longer than its time and what it takes to
// stop it. One that does not return then is left behind: nothing reads its result.
func (h Registered) bounded(ctx context.Context, by HookRunner, stdin []byte) (Result, error) {
	type ended struct {
		res Result
		err error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.Timeout+hookGrace, errHookTime)
	defer cancel()
	done := make(chan ended, 1)
	go func() {
		e := ended{err: errors.New("it broke down")}
		defer func() {
			_ = recover() // e says so
			done <- e
		}()
		res, err := by.Run(ctx, h, stdin)
		e = ended{res, err}
	}()
	select {
	case e := <-done:
		if errors.Is(context.Cause(ctx), errHookTime) {
			return e.res, fmt.Errorf("timeout %s", h.Timeout)
		}
		return e.res, e.err
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errHookTime) {
			return Result{Exit: -1}, fmt.Errorf("timeout %s", h.Timeout)
		}
		return Result{Exit: -1}, ctx.Err()
	}
}

// line is what a command reads: one object on one line.
func (in HookInput) line(h Registered) []byte {
	v := struct {
		Event   string          `json:"event"`
		Session string          `json:"session_id"`
		Turn    int             `json:"turn"`
		Skill   string          `json:"skill,omitempty"`
		Tool    string          `json:"tool,omitempty"`
		Input   json.RawMessage `json:"input,omitempty"`
		Result  string          `json:"result,omitempty"`
		Dir     string          `json:"cwd"`
	}{in.Event, in.Session, in.Turn, h.Skill.Name, in.Tool, in.Input, in.Result, in.Dir}
	if !json.Valid(in.Input) {
		v.Input = nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // texts and valid JSON: it cannot fail
	return b.Bytes()
}

// take adds the word of one hook to the outcome.
func (o *HookOutcome) take(h Registered, in HookInput, rule eventRule, w word) {
	run := HookRun{
		ID: h.ID, Event: h.Event, Type: h.Type, Skill: h.Skill.Name, Address: h.Skill.Address, Tool: in.Tool, Did: "nothing", Elapsed: w.elapsed,
	}
	did := func(what, text string) { run.Did, run.Text = what, text }
	if w.missed != "" {
		did("nothing", w.missed)
	}
	if w.notice != "" {
		did("notify", w.notice)
	}
	if w.append != "" {
		o.Append = append(o.Append, w.append)
		did("append", w.append)
	}
	if w.input != nil {
		o.Input = w.input
		did("rewrite", string(w.input))
	}
	switch {
	case w.failed != "":
		did("failed", w.failed)
		if rule.before {
			o.Verdict, o.Code, o.Reason = Refuse, HookFailed, fmt.Sprintf("%s failed: %s", h.Who(), w.failed)
		}
	case w.verdict == Refuse:
		did("deny", w.reason)
		o.Verdict, o.Code, o.Reason = Refuse, HookDenied, fmt.Sprintf("%s refuses: %s", h.Who(), w.reason)
	case w.verdict == Ask:
		did("ask", w.reason)
		o.Verdict, o.Reason = Ask, strings.TrimPrefix(fmt.Sprintf("%s; %s wants a question: %s", o.Reason, h.Who(), w.reason), "; ")
	}
	o.Runs = append(o.Runs, run)
}
