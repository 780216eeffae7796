package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deftskills/deft/command/sandbox"
)

// runner is a HookRunner made of functions; nil permits, and prints nothing.
type runner struct {
	permit func(Registered) error
	run    func(context.Context, Registered, []byte) (Result, error)
}

func (r runner) Permit(_ context.Context, h Registered) error {
	if r.permit == nil {
		return nil
	}
	return r.permit(h)
}

func (r runner) Run(ctx context.Context, h Registered, stdin []byte) (Result, error) {
	if r.run == nil {
		return Result{Reason: sandbox.Exited}, nil
	}
	return r.run(ctx, h, stdin)
}

// prints is a runner whose commands print and end with code.
func prints(code int, stdout, stderr string) runner {
	return runner{run: func(context.Context, Registered, []byte) (Result, error) {
		return Result{Reason: sandbox.Exited, Exit: code, Stdout: []byte(stdout), Stderr: []byte(stderr)}, nil
	}}
}

// oneHook is a set of one hook of a skill.
func oneHook(event, kind string) *HookSet {
	s := &HookSet{}
	h := Hook{Event: event, Type: kind, Value: "V", Command: "c", Timeout: 5 * time.Second, Skill: SkillRef{Name: "x", Address: "x"}}
	if _, err := s.Register("x", "session", []Hook{h}); err != nil {
		panic(err)
	}
	return s
}

// shown is an outcome as a test reads it.
func shown(o HookOutcome) string {
	var did []string
	for _, r := range o.Runs {
		did = append(did, r.Did)
	}
	out := strings.Join(did, ",")
	if o.Verdict != "" {
		out += " " + string(o.Verdict) + " " + o.Code
	}
	if len(o.Append) > 0 {
		out += fmt.Sprintf(" %q", o.Append)
	}
	if string(o.Input) != "{}" {
		out += " " + string(o.Input)
	}
	return strings.TrimSpace(out)
}

var (
	allEvents = []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "TaskCompleted"}
	allTypes  = []string{"append_prompt", "append_result", "deny", "ask", "notify", "command"}
)

// What each pair of event and type does; "-" is a pair that is left out when it is read.
func TestEveryPairOfEventAndTypeDoesWhatItMay(t *testing.T) {
	t.Parallel()
	none := "-"
	want := map[string][]string{ // in the order of allTypes; the command prints nothing
		"SessionStart":       {`append ["V"]`, none, none, none, "notify", "nothing"},
		"SessionEnd":         {none, none, none, none, "notify", "nothing"},
		"UserPromptSubmit":   {`append ["V"]`, none, "deny deny hook_deny", none, "notify", "nothing"},
		"PreToolUse":         {none, none, "deny deny hook_deny", "ask ask", "notify", "nothing"},
		"PermissionRequest":  {none, none, "deny deny hook_deny", none, "notify", "nothing"},
		"PostToolUse":        {none, `append ["V"]`, none, none, "notify", "nothing"},
		"PostToolUseFailure": {none, `append ["V"]`, none, none, "notify", "nothing"},
		"TaskCompleted":      {`append ["V"]`, none, none, none, "notify", "nothing"},
	}
	for _, event := range allEvents {
		for i, kind := range allTypes {
			list, diags := ParseHooks([]any{map[string]any{"event": event, "type": kind, "value": "V"}}, "")
			got := none
			if len(list) == 1 {
				list[0].Skill.Name = "x"
				s := &HookSet{}
				if _, err := s.Register("x", "session", list); err != nil {
					t.Fatal(err)
				}
				got = strings.TrimSpace(shown(s.Fire(t.Context(), HookInput{Event: event, Tool: "edit", Input: json.RawMessage("{}")}, runner{})))
			} else if len(diags) != 1 || diags[0].Code != "hook_pair" {
				t.Errorf("%s %s: %v", event, kind, diags)
			}
			if got != want[event][i] {
				t.Errorf("%s %s: %s, want %s", event, kind, got, want[event][i])
			}
		}
	}
}

// What the output of a command may do at each event.
func TestTheOutputOfACommandDoesNoMoreThanItsEventLetsIt(t *testing.T) {
	t.Parallel()
	type column struct {
		name           string
		code           int
		stdout, stderr string
	}
	columns := []column{
		{"text", 0, "more\n", ""},
		{"deny", 0, `{"decision":"deny","reason":"no"}`, ""},
		{"ask", 0, `{"decision":"ask"}`, ""},
		{"append", 0, `{"append":"more"}`, ""},
		{"input", 0, `{"input":{"a":1}}`, ""},
		{"exit 2", 2, "", "bad\n"},
		{"exit 1", 1, "more", "bad"},
		{"allow", 0, `{"decision":"allow"}`, ""},
		{"unknown", 0, `{"permission":"deny"}`, ""},
		{"two", 0, `{} {}`, ""},
		{"no object", 0, `{"input":[1]}`, ""},
	}
	added := `append ["more"]`
	refused, failed := "deny deny hook_deny", "failed deny hook_failed"
	want := map[string][]string{
		"SessionStart":       {added, "failed", "failed", added, "nothing", "nothing", "failed", "failed", "failed", "failed", "nothing"},
		"SessionEnd":         {"nothing", "failed", "failed", "nothing", "nothing", "nothing", "failed", "failed", "failed", "failed", "nothing"},
		"UserPromptSubmit":   {added, refused, failed, added, "nothing", refused, failed, failed, failed, failed, "nothing"},
		"PreToolUse":         {"nothing", refused, "ask ask", "nothing", `rewrite {"a":1}`, refused, failed, failed, failed, failed, failed},
		"PermissionRequest":  {"nothing", refused, failed, "nothing", "nothing", refused, failed, failed, failed, failed, "nothing"},
		"PostToolUse":        {added, "failed", "failed", added, "nothing", `append ["bad"]`, "failed", "failed", "failed", "failed", "nothing"},
		"PostToolUseFailure": {added, "failed", "failed", added, "nothing", `append ["bad"]`, "failed", "failed", "failed", "failed", "nothing"},
		"TaskCompleted":      {added, "failed", "failed", added, "nothing", `append ["bad"]`, "failed", "failed", "failed", "failed", "nothing"},
	}
	for _, event := range allEvents {
		for i, c := range columns {
			o := oneHook(event, "command").Fire(t.Context(), HookInput{Event: event, Tool: "edit", Input: json.RawMessage("{}")}, prints(c.code, c.stdout, c.stderr))
			got := strings.ReplaceAll(shown(o), "ask ask ", "ask ask")
			if got != want[event][i] {
				t.Errorf("%s, %s: %s, want %s (%+v)", event, c.name, got, want[event][i], o.Runs)
			}
		}
	}
}

func TestEndsThatAreNoAnswerAreFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		res  Result
		err  error
		want string
	}{
		{Result{Reason: sandbox.TimedOut, Exit: -1}, nil, "timeout 5s"},
		{Result{Reason: sandbox.Cancelled, Exit: -1}, nil, "cancelled"},
		{Result{Reason: sandbox.Signalled, Exit: -1, Signal: "SEGV"}, nil, "signal SEGV"},
		{Result{Reason: sandbox.Quota, Exit: -1, Why: "temp"}, nil, "quota of temp"},
		{Result{Reason: sandbox.OutputCap, Exit: -1, Stdout: []byte(`{"decision":`)}, nil, "its output is no object with decision, reason, append and input"},
		{Result{}, errors.New("sandbox: not here"), "sandbox: not here"},
	} {
		by := runner{run: func(context.Context, Registered, []byte) (Result, error) { return tt.res, tt.err }}
		o := oneHook("PreToolUse", "command").Fire(t.Context(), HookInput{Event: "PreToolUse"}, by)
		if o.Verdict != Refuse || o.Code != HookFailed || o.Reason != `hook 0 of skill "x" failed: `+tt.want {
			t.Errorf("%+v: %+v", tt.res, o)
		}
	}
	o := oneHook("UserPromptSubmit", "command").Fire(t.Context(), HookInput{Event: "UserPromptSubmit"}, nil)
	if o.Code != HookFailed {
		t.Errorf("nobody runs commands: %+v", o)
	}
	by := runner{permit: func(Registered) error { return errors.New("refused by a rule") }, run: func(context.Context, Registered, []byte) (Result, error) {
		t.Error("it ran")
		return Result{}, nil
	}}
	if o := oneHook("PreToolUse", "command").Fire(t.Context(), HookInput{Event: "PreToolUse"}, by); o.Code != HookFailed {
		t.Errorf("not permitted: %+v", o)
	}
	for _, by := range []runner{
		{permit: func(Registered) error { panic("permit") }},
		{run: func(context.Context, Registered, []byte) (Result, error) { panic("run") }},
	} {
		if o := oneHook("PreToolUse", "command").Fire(t.Context(), HookInput{Event: "PreToolUse"}, by); o.Code != HookFailed {
			t.Errorf("a panic: %+v", o)
		}
		if o := oneHook("PostToolUse", "command").Fire(t.Context(), HookInput{Event: "PostToolUse"}, by); o.Verdict != "" || o.Runs[0].Did != "failed" {
			t.Errorf("a panic after the call: %+v", o)
		}
	}
}

func TestAHookThatHangsIsWaitedForNoLongerThanItsTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		event   string
		timeout time.Duration
		obeys   bool // it ends with its context
	}{{"PreToolUse", 5 * time.Second, true}, {"PreToolUse", time.Second, false}, {"SessionEnd", time.Minute, false}} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			by := runner{run: func(ctx context.Context, _ Registered, _ []byte) (Result, error) {
				if tt.obeys {
					<-ctx.Done()
					return Result{Exit: -1}, ctx.Err()
				}
				<-release
				return Result{}, nil
			}}
			s := oneHook(tt.event, "command")
			s.list[0].Timeout = tt.timeout
			from := time.Now()
			o := s.Fire(t.Context(), HookInput{Event: tt.event}, by)
			if took := time.Since(from); took != tt.timeout+hookGrace {
				t.Errorf("%s: %s", tt.event, took)
			}
			if o.Runs[0].Text != "timeout "+tt.timeout.String() || (o.Verdict == Refuse) != (tt.event == "PreToolUse") {
				t.Errorf("%+v", o)
			}
			close(release)
			synctest.Wait()
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		by := runner{run: func(ctx context.Context, _ Registered, _ []byte) (Result, error) {
			cancel()
			<-ctx.Done()
			return Result{Exit: -1}, ctx.Err()
		}}
		from := time.Now()
		o := oneHook("PreToolUse", "command").Fire(ctx, HookInput{Event: "PreToolUse"}, by)
		if o.Verdict != Refuse || time.Since(from) != 0 {
			t.Errorf("cancelled: %+v after %s", o, time.Since(from))
		}
		synctest.Wait()
	})
}

func register(t *testing.T, s *HookSet, owner, scope string, hooks ...Hook) []string {
	t.Helper()
	for i := range hooks {
		hooks[i].Index = i
		if !strings.HasPrefix(owner, "host") {
			hooks[i].Skill = SkillRef{Name: owner}
		}
	}
	ids, err := s.Register(owner, scope, hooks)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestHooksRunInOrderTheHostsFirstAndStopAtTheFirstRefusal(t *testing.T) {
	t.Parallel()
	s := &HookSet{}
	note := func(text string) Hook { return Hook{Event: "UserPromptSubmit", Type: "append_prompt", Value: text} }
	register(t, s, "a", "session", note("a0"), note("a1"))
	register(t, s, "b", "turn", note("b0"))
	register(t, s, "host", "session", note("h0"), note("h1"))
	fire := func() HookOutcome { return s.Fire(t.Context(), HookInput{Event: "UserPromptSubmit"}, nil) }
	if o := fire(); !slices.Equal(o.Append, []string{"h0", "h1", "a0", "a1", "b0"}) {
		t.Errorf("order: %q", o.Append)
	}
	register(t, s, "a", "session", note("a0"), Hook{Event: "UserPromptSubmit", Type: "deny", Value: "no"})
	o := fire()
	if !slices.Equal(o.Append, []string{"h0", "h1", "a0"}) || o.Verdict != Refuse || o.Reason != `hook 1 of skill "a" refuses: no` || len(o.Runs) != 4 {
		t.Errorf("a refusal: %+v", o)
	}
}

func TestRegisteringAgainReplacesAndOnceIsOnce(t *testing.T) {
	t.Parallel()
	s := &HookSet{}
	first := register(t, s, "a", "session", Hook{Event: "PreToolUse", Type: "ask", Value: "x", Once: true})
	again := register(t, s, "a", "session", Hook{Event: "PreToolUse", Type: "ask", Value: "y", Once: true})
	turn := register(t, s, "a", "turn", Hook{Event: "PreToolUse", Type: "notify", Value: "z"})
	if !slices.Equal(first, again) || len(s.List()) != 2 || slices.Equal(first, turn) {
		t.Fatalf("%q %q %q: %d hooks", first, again, turn, len(s.List()))
	}
	in := HookInput{Event: "PreToolUse", Tool: "edit"}
	if o := s.Fire(t.Context(), in, nil); o.Verdict != Ask || len(o.Runs) != 2 || !strings.HasSuffix(o.Reason, ": y") {
		t.Errorf("the first time: %+v", o)
	}
	if o := s.Fire(t.Context(), in, nil); o.Verdict != "" || len(o.Runs) != 1 {
		t.Errorf("the second time: %+v", o)
	}
	s.Unregister(append(turn, "nobody")...)
	if s.Has("PreToolUse") {
		t.Errorf("%+v", s.List())
	}

	// A hook that fails has had its run; one that is about another call has not.
	register(t, s, "a", "session", Hook{Event: "PreToolUse", Type: "command", Once: true, Timeout: time.Minute, matcher: []string{"read"}})
	if o := s.Fire(t.Context(), in, prints(1, "", "")); len(o.Runs) != 0 {
		t.Errorf("another call: %+v", o)
	}
	in.Tool = "read"
	if o := s.Fire(t.Context(), in, prints(1, "", "")); o.Code != HookFailed {
		t.Errorf("the call: %+v", o)
	}
	if len(s.List()) != 0 {
		t.Errorf("%+v", s.List())
	}
	if _, err := s.Register("a", "session", []Hook{{}, {}}); err == nil || len(s.List()) != 0 {
		t.Error("two hooks of one index are registered")
	}
}

func TestHooksSeeWhatThoseBeforeThemLeft(t *testing.T) {
	t.Parallel()
	s := &HookSet{}
	cmd := Hook{Event: "PreToolUse", Type: "command", Timeout: time.Minute}
	register(t, s, "a", "session", cmd, cmd, cmd)
	var lines []string
	by := runner{run: func(_ context.Context, h Registered, stdin []byte) (Result, error) {
		lines = append(lines, string(stdin))
		if h.Index == 2 {
			return Result{}, nil
		}
		return Result{Stdout: fmt.Appendf(nil, `{"input":{"n":%d}}`, h.Index)}, nil
	}}
	o := s.Fire(t.Context(), HookInput{Event: "PreToolUse", Session: "s", Turn: 3, Tool: "edit", Input: json.RawMessage(`{"n":"<&>"}`), Dir: "/w"}, by)
	want := `{"event":"PreToolUse","session_id":"s","turn":3,"skill":"a","tool":"edit","input":{"n":"<&>"},"cwd":"/w"}` + "\n"
	if lines[0] != want || !strings.Contains(lines[1], `"input":{"n":0}`) || !strings.Contains(lines[2], `"input":{"n":1}`) || string(o.Input) != `{"n":1}` {
		t.Errorf("%q\n%s", lines, o.Input)
	}
	// Arguments that are no JSON are not told at all.
	s.Fire(t.Context(), HookInput{Event: "PreToolUse", Tool: "edit", Input: json.RawMessage(`{"n`)}, by)
	if strings.Contains(lines[3], "input") || strings.Count(lines[3], "\n") != 1 {
		t.Errorf("%q", lines[3])
	}
}

func TestLongOutputIsCutAndCleaned(t *testing.T) {
	t.Parallel()
	o := oneHook("PostToolUse", "command").Fire(t.Context(), HookInput{Event: "PostToolUse"}, prints(0, "\x1b[2J"+strings.Repeat("é", maxHookText), ""))
	text := o.Append[0]
	if len(text) > maxHookText+100 || strings.Contains(text, "\x1b") || !strings.HasSuffix(text, "(cut at 16384 bytes)") {
		t.Errorf("%d bytes, end %q", len(text), text[len(text)-40:])
	}
}

// FuzzHookOutput looks for an output that does more than its event lets it, or that lets
// something pass.
func FuzzHookOutput(f *testing.F) {
	for _, seed := range []string{
		`{"decision":"deny","reason":"x"}`, `{"decision":"allow"}`, `{"input":{"a":[1]},"append":"b","decision":"ask"}`, `{"decision":null,"input":null}`,
		"text", `{"Decision":"deny"}`, `{"decision":"deny","decision":"ask"}`, "{\"append\":\"\u202e\"}", `{`, ``, `{"input":{"a":1}}x`,
	} {
		for code := range 3 {
			f.Add(seed, "err", uint8(code), uint8(3), false)
		}
	}
	f.Fuzz(func(t *testing.T, stdout, stderr string, code, event uint8, cut bool) {
		name := allEvents[int(event)%len(allEvents)]
		rule := hookEvents[name]
		res := Result{Reason: sandbox.Exited, Exit: int(code), Stdout: []byte(stdout), Stderr: []byte(stderr), Truncated: cut}
		w := read(rule, Registered{Hook: Hook{Event: name}}, res)
		switch {
		case w.verdict != "" && w.verdict != Ask && w.verdict != Refuse:
			t.Fatalf("verdict %q", w.verdict)
		case w.verdict == Ask && !rule.ask, w.verdict == Refuse && !rule.deny, w.append != "" && !rule.append, w.input != nil && !rule.rewrite:
			t.Fatalf("%s: %+v", name, w)
		case w.failed != "" && (w.verdict != "" || w.append != "" || w.input != nil):
			t.Fatalf("a failure does something: %+v", w)
		case w.input != nil && !json.Valid(w.input):
			t.Fatalf("input %q", w.input)
		case code != 0 && code != exitRefused && w.failed == "":
			t.Fatalf("exit %d is no failure", code)
		case code == exitRefused && rule.deny && w.verdict != Refuse:
			t.Fatalf("exit 2 at %s: %+v", name, w)
		case len(w.append) > maxHookText*4, len(w.reason) > maxHookText*4:
			t.Fatal("a long text")
		}
		var o HookOutcome
		o.take(Registered{Hook: Hook{Event: name, Type: "command"}}, HookInput{}, rule, w)
		if o.Verdict == Permit || w.failed != "" && rule.before && o.Verdict != Refuse {
			t.Fatalf("%+v from %+v", o, w)
		}
	})
}

func TestHooksAboutCallsReachTheSessionsBelow(t *testing.T) {
	t.Parallel()
	top := &HookSet{}
	register(t, top, "a", "session", Hook{Event: "PreToolUse", Type: "deny", Value: "no", Once: true, matcher: []string{"edit"}},
		Hook{Event: "UserPromptSubmit", Type: "append_prompt", Value: "for a person"})
	low := top.Below()
	register(t, low, "a", "session", Hook{Event: "PreToolUse", Type: "ask", Value: "own"})
	var own []string
	for _, h := range low.List() {
		own = append(own, h.Value)
	}
	if !slices.Equal(own, []string{"no", "own"}) || low.Has("UserPromptSubmit") || len(top.List()) != 2 {
		t.Errorf("%q below", own)
	}
	in := HookInput{Event: "PreToolUse", Tool: "edit"}
	if o := low.Fire(t.Context(), in, nil); o.Verdict != Refuse {
		t.Errorf("%+v", o)
	}
	if o := low.Fire(t.Context(), in, nil); o.Verdict != Ask || len(top.List()) != 1 {
		t.Errorf("after its one run: %+v", o)
	}
	low.Unregister(low.List()[0].ID)
	if len(low.List()) != 0 || len(top.List()) != 1 {
		t.Error("the end of the one below is not its own alone")
	}
}
