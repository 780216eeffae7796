package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/skill"
)

// played is a Runs that runs nothing: it answers by the text of a command.
type played struct {
	mu      sync.Mutex
	ran     []string
	answers map[string]Result
	errs    map[string]error
	unable  error
	before  func(ctx context.Context, text string)
	asked   []Request
}

func (p *played) Able(context.Context, sandbox.Level) error { return p.unable }

func (p *played) Run(ctx context.Context, q Request) (Result, error) {
	text := q.Script
	if len(q.Argv) > 0 {
		text = strings.Join(q.Argv, "|")
	}
	p.mu.Lock()
	p.ran, p.asked = append(p.ran, text), append(p.asked, q)
	p.mu.Unlock()
	if p.before != nil {
		p.before(ctx, text)
	}
	if err := p.errs[text]; err != nil {
		return Result{}, err
	}
	if r, ok := p.answers[text]; ok {
		return r, nil
	}
	return Result{Stdout: []byte("<" + text + ">\n"), Reason: sandbox.Exited, Level: sandbox.Files}, nil
}

// judge is a Gate that notes its questions and answers by the command's text.
type judge struct {
	questions [][]Call
	answers   map[string]Verdict
	err       error
}

func (j *judge) Decide(_ context.Context, calls []Call) ([]Decision, error) {
	j.questions = append(j.questions, calls)
	out := make([]Decision, len(calls))
	for i, c := range calls {
		out[i] = Decision{Verdict: Permit, Rule: "rule"}
		if v, ok := j.answers[c.Command]; ok {
			out[i].Verdict = v
		}
	}
	return out, j.err
}

func options(p *played, j *judge) ExpandOptions {
	return ExpandOptions{Rule: Rule{On: true, Program: "sh"}, Dir: "/project", Gate: j, Runs: p, Skill: SkillRef{Name: "s"}}
}

func expand(t *testing.T, body string, o ExpandOptions) Expanded {
	t.Helper()
	got, err := Expand(t.Context(), body, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOutputTakesThePlaceOfEachCommand(t *testing.T) {
	t.Parallel()
	p, j := &played{}, &judge{}
	got := expand(t, "A !`a` B !`b`\n!`c`", options(p, j))
	if got.Text() != "A <a> B <b>\n<c>" || got.Note != "" {
		t.Errorf("text %q, note %q", got.Text(), got.Note)
	}
	if !slices.Equal(p.ran, []string{"a", "b", "c"}) {
		t.Errorf("ran %q", p.ran)
	}
	if len(j.questions) != 1 || len(j.questions[0]) != 3 {
		t.Errorf("questions %+v: all commands of a load are one", j.questions)
	}
	q := p.asked[0]
	if q.Kind != KindInline || q.Shell != "sh" || q.Dir != "/project" || q.Timeout != 10*time.Second || q.MaxOutput != 64<<10 {
		t.Errorf("request %+v", q)
	}
}

func TestABodyWithoutCommandsIsNotTouched(t *testing.T) {
	t.Parallel()
	p, j := &played{}, &judge{}
	for _, body := range []string{"", "no command\r\n", "```\n!`x`\n```\n\x00\xff"} {
		if got := expand(t, body, options(p, j)); got.Text() != body || len(p.ran)+len(j.questions)+len(got.Commands) > 0 {
			t.Errorf("%q: %q", body, got.Text())
		}
	}
}

func TestCommandsThatAreOffStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		change func(*ExpandOptions)
		body   string
		want   string
	}{
		{func(o *ExpandOptions) { o.Rule = Rule{} }, "!`a`", "1 inline command was not run: turned off"},
		{func(o *ExpandOptions) { o.Rule = Rule{Why: OffUntrusted} }, "!`a` !`b` !`c`", "3 inline commands were not run: untrusted skill"},
		{func(o *ExpandOptions) { o.Dir = "" }, "!`a`", "1 inline command was not run: no working directory"},
		{func(o *ExpandOptions) { o.Dialect = skill.Codex }, "!`a`", ""},
	} {
		p, j := &played{}, &judge{}
		o := options(p, j)
		tt.change(&o)
		got := expand(t, tt.body, o)
		if got.Text() != tt.body || got.Note != tt.want || len(p.ran)+len(j.questions) > 0 {
			t.Errorf("text %q, note %q, ran %q", got.Text(), got.Note, p.ran)
		}
	}
}

func TestWhatEachFailureLooksLike(t *testing.T) {
	t.Parallel()
	p := &played{
		answers: map[string]Result{
			"three":  {Exit: 3, Reason: sandbox.Exited, Stderr: []byte("why\x1b[31m")},
			"segv":   {Exit: -1, Signal: "SEGV", Reason: sandbox.Signalled},
			"slow":   {Exit: -1, Reason: sandbox.TimedOut},
			"quota":  {Exit: -1, Reason: sandbox.Quota, Why: "processes"},
			"silent": {Reason: sandbox.Exited},
			"capped": {Stdout: []byte("abé")[:3], Exit: -1, Reason: sandbox.OutputCap, Truncated: true},
			"bytes":  {Stdout: []byte("a\xffb\x1b[31m\r\nc\t\u202e  \n\n"), Reason: sandbox.Exited},
		},
		errs: map[string]error{
			"gone": &MissingError{"bash"}, "out": ErrDir, "bad": &sandbox.StartError{Step: "landlock", Err: errors.New("x")},
		},
	}
	j := &judge{answers: map[string]Verdict{"no": Refuse, "ask": Ask, "odd": "perhaps"}}
	for text, want := range map[string]string{
		"three": "(unavailable: exit 3)", "segv": "(unavailable: signal SEGV)", "slow": "(unavailable: timeout 10s)",
		"quota": "(unavailable: quota of processes)", "silent": "", "capped": "ab\n(cut at 65536 bytes)",
		"bytes": "a\ufffdb\\x1b[31m\nc\t<U+202E>", "gone": "(unavailable: bash not found)", "out": "(unavailable: outside the workspace)",
		"bad": `(unavailable: sandbox "files" is not available)`,
		"no":  "(unavailable: refused)", "ask": "(unavailable: needs approval)", "odd": "(unavailable: refused)",
		"'open": "(unavailable: does not parse)", "a\x01b": "(unavailable: does not parse)", "a\u202eb": "(unavailable: does not parse)", "a \xff": "(unavailable: does not parse)",
	} {
		got := expand(t, "x !`"+text+"` y", options(p, j))
		if got.Text() != "x "+want+" y" {
			t.Errorf("%q: %q, want %q", text, got.Text(), want)
		}
		if c := got.Commands[0]; (c.Reason != "") != strings.HasPrefix(want, "(unavail") {
			t.Errorf("%q: outcome %+v", text, c)
		}
	}
	if slices.Contains(p.ran, "no") || slices.Contains(p.ran, "ask") || slices.Contains(p.ran, "odd") {
		t.Errorf("ran %q", p.ran)
	}
	if got := expand(t, "!`three`", options(p, j)); got.Commands[0].Stderr != `why\x1b[31m` || got.Commands[0].Exit != 3 {
		t.Errorf("outcome %+v", got.Commands[0])
	}
}

func TestNothingRunsBeforeAllThreeHaveSaidYes(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ExpandOptions, *played, *judge){
		"no sandbox":  func(_ *ExpandOptions, p *played, _ *judge) { p.unable = sandbox.ErrUnavailable },
		"no runner":   func(o *ExpandOptions, _ *played, _ *judge) { o.Runs = nil },
		"no gate":     func(o *ExpandOptions, _ *played, _ *judge) { o.Gate = nil },
		"gate failed": func(_ *ExpandOptions, _ *played, j *judge) { j.err = errors.New("x") },
		"policy":      func(o *ExpandOptions, _ *played, _ *judge) { o.Rule.On = false },
	} {
		p, j := &played{}, &judge{}
		o := options(p, j)
		change(&o, p, j)
		got := expand(t, "!`a` !`b`", o)
		if len(p.ran) > 0 {
			t.Errorf("%s: ran %q", name, p.ran)
		}
		if (name == "no sandbox" || name == "policy") && len(j.questions) > 0 {
			t.Errorf("%s: the gate was asked", name)
		}
		if name != "policy" && strings.Count(got.Text(), "(unavailable") != 2 {
			t.Errorf("%s: text %q", name, got.Text())
		}
	}
}

func TestOnlyTheFirstEightRun(t *testing.T) {
	t.Parallel()
	p, j := &played{}, &judge{}
	got := expand(t, strings.Repeat("!`a`\n", 10), options(p, j))
	if len(p.ran) != 8 || strings.Count(got.Text(), "(unavailable: limit of 8 commands)") != 2 || len(j.questions[0]) != 8 {
		t.Errorf("ran %d: %s", len(p.ran), got.Text())
	}
}

func TestTheGateSeesTheFinalCommand(t *testing.T) {
	t.Parallel()
	p, j := &played{}, &judge{}
	o := options(p, j)
	o.Arguments, o.Line = given("; id"), 4
	got := expand(t, "\n!`stub $0`", o)
	c := j.questions[0][0]
	if c.Command != "stub '; id'" || c.Line != 5 || c.Dir != "/project" || c.Skill.Name != "s" || p.ran[0] != c.Command || !got.Argument {
		t.Errorf("call %+v, ran %q", c, p.ran)
	}
	o.Rule.List = Prefixes("stub")
	expand(t, "!`stub $0 a`", o)
	if c := j.questions[1][0]; c.Command != "stub '; id' a" || !slices.Equal(c.Argv, []string{"stub", "; id", "a"}) || p.ran[1] != "stub|; id|a" {
		t.Errorf("call %+v, ran %q", c, p.ran)
	}
	expand(t, "!`other`", o)
	if len(j.questions) != 2 || len(p.ran) != 2 {
		t.Error("what the list does not admit came to the gate")
	}
}

func TestOutputIsDataAndNeverReadAgain(t *testing.T) {
	t.Parallel()
	p, j := &played{answers: map[string]Result{"a": {Stdout: []byte("!`b` $0 ${SKILL_DIR} commandoutput0x1x"), Reason: sandbox.Exited}}}, &judge{}
	o := options(p, j)
	o.Arguments = given("commandoutput0x0x")
	got := expand(t, "$0 !`a` $0 !`c`", o)
	text := got.Place(func(s string) string {
		out, _ := skill.Substitute(s, o.Arguments.Values, skill.SubstituteOptions{Declares: true})
		return out
	})
	if want := "commandoutput0x0x !`b` $0 ${SKILL_DIR} commandoutput0x1x commandoutput0x0x <c>"; text != want || len(p.ran) != 2 {
		t.Errorf("text %q, want %q", text, want)
	}
}

func TestAbortEndsTheLoadAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	p, j := &played{answers: map[string]Result{"b": {Exit: 3, Reason: sandbox.Exited}}}, &judge{answers: map[string]Verdict{"no": Refuse}}
	o := options(p, j)
	o.Rule.OnError = Abort
	_, err := Expand(t.Context(), "!`a`\n!`b`\n!`c`", o)
	var failed *InlineError
	if !errors.As(err, &failed) || err.Error() != "inline_failed: line 2: exit 3" || !errors.Is(err, ErrInline) {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(p.ran, []string{"a", "b"}) {
		t.Errorf("ran %q", p.ran)
	}
	p.ran = nil
	if _, err := Expand(t.Context(), "!`a`\n!`no`", o); err == nil || len(p.ran) > 0 {
		t.Errorf("error %v, ran %q: a load that cannot succeed starts nothing", err, p.ran)
	}
	if got := expand(t, "!`a`", o); got.Text() != "<a>" {
		t.Errorf("text %q", got.Text())
	}
}

func TestClaudeCodeToleratesAnswersOfOne(t *testing.T) {
	t.Parallel()
	one := Result{Exit: 1, Stdout: []byte("x"), Stderr: []byte("e"), Reason: sandbox.Exited}
	p, j := &played{answers: map[string]Result{"grep a b": one, "a | diff b c": one, "ls": one}}, &judge{answers: map[string]Verdict{"ask": Ask}}
	o := options(p, j)
	o.Dialect = skill.ClaudeCode
	if got := expand(t, "!`grep a b` !`a | diff b c`", o); got.Text() != "x\ne x\ne" {
		t.Errorf("text %q", got.Text())
	}
	for _, body := range []string{"!`ls`", "!`ask`"} {
		if _, err := Expand(t.Context(), body, o); !errors.Is(err, ErrInline) {
			t.Errorf("%s: error %v", body, err)
		}
	}
	if got := expand(t, "```!\none\ntwo\n```\n", o); got.Text() != "<one\ntwo\n>\n" {
		t.Errorf("block %q", got.Text())
	}
}

func TestBladeKeepsItsOwnManners(t *testing.T) {
	t.Parallel()
	p, j := &played{answers: map[string]Result{"bad": {Exit: 1, Reason: sandbox.Exited}, "w": {Stdout: []byte("\n w \n"), Reason: sandbox.Exited}}}, &judge{}
	o := options(p, j)
	o.Dialect, o.Arguments = skill.Blade, given("v")
	if got := expand(t, "x!`w`y !`bad` !`e {{args}}`", o); got.Text() != "xwy (unavailable) <e {{args}}>" {
		t.Errorf("text %q", got.Text())
	}
}

func TestACancelledSessionStartsNothing(t *testing.T) {
	t.Parallel()
	p, j := &played{}, &judge{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := Expand(ctx, "!`a`", options(p, j))
	if !errors.Is(err, context.Canceled) || len(p.ran) > 0 || got.Text() != "(unavailable: cancelled)" {
		t.Errorf("error %v, ran %q, text %q", err, p.ran, got.Text())
	}
}

func TestCancellingWhileACommandRunsStartsNoOther(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := &played{before: func(context.Context, string) { cancel() }}
	var rows []Outcome
	o := options(p, &judge{})
	o.Audit = func(_ context.Context, out Outcome) error { rows = append(rows, out); return nil }
	got, err := Expand(ctx, "!`a` !`b`", o)
	if !errors.Is(err, context.Canceled) || !slices.Equal(p.ran, []string{"a"}) || strings.Count(got.Text(), "cancelled") != 2 {
		t.Errorf("error %v, ran %q, text %q", err, p.ran, got.Text())
	}
	if len(rows) != 2 || !rows[0].Ran || rows[1].Ran {
		t.Errorf("rows %+v", rows)
	}
}

func TestCommandsRunOneByOneOrFourAtOnce(t *testing.T) {
	t.Parallel()
	for _, wide := range []int{1, 4} {
		var mu sync.Mutex
		now, most := 0, 0
		gathered := make(chan struct{})
		p := &played{}
		p.before = func(ctx context.Context, _ string) {
			mu.Lock()
			now++
			if most = max(most, now); now == wide {
				select {
				case <-gathered:
				default:
					close(gathered)
				}
			}
			mu.Unlock()
			select {
			case <-gathered: // all that may run at once have met
			case <-ctx.Done():
			}
			mu.Lock()
			now--
			mu.Unlock()
		}
		o := options(p, &judge{})
		o.Rule.Parallel = wide > 1
		body, want := "", ""
		for i := range 8 {
			body += fmt.Sprintf("!`c%d` ", i)
			want += fmt.Sprintf("<c%d> ", i)
		}
		if got := expand(t, body, o); got.Text() != want || most != wide {
			t.Errorf("%d at once, want %d; text %q", most, wide, got.Text())
		}
	}
}

func TestAHostMayUseItsOwnWords(t *testing.T) {
	t.Parallel()
	o := options(&played{}, &judge{answers: map[string]Verdict{"a": Refuse}})
	o.Say = func(c Outcome) string { return "[" + string(c.Reason) + "]" }
	if got := expand(t, "!`a`", o); got.Text() != "[refused]" {
		t.Errorf("text %q", got.Text())
	}
}

func TestValuesArePutIntoCommandsOnlyByTheirQuotes(t *testing.T) {
	t.Parallel()
	p, j := &played{}, &judge{}
	o := options(p, j)
	o.Rule.Program, o.Arguments = "pwsh", given("x")
	if got := expand(t, "!`stub $0` !`stub`", o); got.Text() != "(unavailable: argument inside a script) <stub>" {
		t.Errorf("text %q", got.Text())
	}
}
