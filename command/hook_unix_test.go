//go:build unix

package command

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

// inPlace runs hooks as programs.
func inPlace(p *place, r *Runner) runner {
	return runner{run: func(ctx context.Context, h Registered, stdin []byte) (Result, error) {
		return r.Run(ctx, Request{Kind: KindHook, Script: h.Command, Dir: p.work, Stdin: stdin, Timeout: h.Timeout, Skill: SkillRef{Name: "x", Dir: p.skill}})
	}}
}

func TestACommandOfAHookReadsItsEventAndAnswers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	by := inPlace(p, p.runner(t, nil))
	p.write(t, "scripts/check.sh", "read -r line\ncase $line in *'\"path\":\"a\"'*) echo 'a is closed' >&2; exit 2;; esac\necho '{\"input\":{\"path\":\"c\"}}'\n", 0o755)
	for input, want := range map[string]string{`{"path":"a"}`: "deny deny hook_deny", `{"path":"b"}`: `rewrite {"path":"c"}`} {
		s := oneHook("PreToolUse", "command")
		s.list[0].Command, s.list[0].Timeout = `sh "$SKILL_DIR/scripts/check.sh"`, time.Minute
		o := s.Fire(t.Context(), HookInput{Event: "PreToolUse", Tool: "write", Input: json.RawMessage(input)}, by)
		o.Input = map[bool]json.RawMessage{true: json.RawMessage("{}"), false: o.Input}[o.Verdict == Refuse]
		if got := shown(o); got != want {
			t.Errorf("%s: %s, want %s (%+v)", input, got, want, o.Runs)
		}
	}
}

func TestAProgramThatHangsIsEndedWithItsHook(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	by := inPlace(p, p.runner(t, nil))
	s := oneHook("PreToolUse", "command")
	s.list[0].Command, s.list[0].Timeout = "trap '' TERM; while :; do sleep 600; done", time.Second
	o := s.Fire(t.Context(), HookInput{Event: "PreToolUse", Tool: "edit"}, by)
	if o.Code != HookFailed || o.Runs[0].Text != "timeout 1s" {
		t.Errorf("%+v", o)
	}
}
