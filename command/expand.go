package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/internal/shellcmd"
	"github.com/deftskills/deft/skill"
)

// What one load may cost.
const (
	maxCommands = 8
	loadTimeout = 30 * time.Second
	maxParallel = 4
)

// ExpandOptions is what Expand has to know of one load. Rule, Gate and Runs decide whether
// anything runs: without a Gate every command would have to be asked about, without Runs
// none can be confined.
type ExpandOptions struct {
	Dialect   skill.Dialect
	Line      int // line of the file at which the body begins; 0 = 1
	Skill     SkillRef
	Rule      Rule
	Arguments Arguments
	Dir       string        // the session's directory; "" = the text stays as it is
	Level     sandbox.Level // least level, where it is higher than that of Runs
	Gate      Gate
	Runs      Runs
	// Say gives the text in place of a command that gave no output; nil = the dialect's
	// own, such as "(unavailable: exit 3)".
	Say func(Outcome) string
	// Audit is called once for each command, after the last one; nil = not.
	Audit func(context.Context, Outcome) error
}

// Outcome is what became of one command.
type Outcome struct {
	Line     int
	Written  string // as the author wrote it
	Command  string // final, with its arguments; as written where it did not come so far
	Text     string // what stands in the text for it
	Reason   Reason // "" = it gave its output
	Detail   string // for people: "exit 3"
	Exit     int
	Bytes    int  // of output
	Cut      bool // output went on
	Stderr   string
	Rule     string // of the gate
	Why      string // what the gate said
	Level    sandbox.Level
	Duration time.Duration
	Ran      bool // a process was started
}

// Expanded is a text with its commands replaced.
type Expanded struct {
	Commands    []Outcome
	Note        string // "3 inline commands were not run: turned off", "" = nothing to say
	Argument    bool   // a command took an argument
	Diagnostics []skill.Diagnostic

	body  string
	found []Inline // those that are replaced
}

// Expand runs the commands of a body and puts what they print in their places. The order
// is fixed: policy, count, syntax, arguments, sandbox, one question to the gate for all,
// then one command after the other. A body without commands, or whose commands are off,
// stays as it is, byte for byte.
//
// The error is an [*InlineError] where a failing command ends the load, the context's
// where the session was cancelled, or Audit's.
func Expand(ctx context.Context, body string, o ExpandOptions) (Expanded, error) {
	at := ScanOptions{Dialect: o.Dialect, Line: o.Line}
	e := &expansion{o: o, m: mannerOf(o.Dialect)}
	e.out = Expanded{body: body, Diagnostics: ignoredBlocks(body, at)}
	found := Scan(body, at)
	if len(found) == 0 {
		return e.out, nil
	}
	e.out.Diagnostics = append(e.out.Diagnostics, o.Rule.Diagnostics...)
	if why := e.off(); why != "" {
		e.out.Note = Note(len(found), why)
		return e.out, nil
	}
	e.out.found = found
	for i, f := range found {
		e.jobs = append(e.jobs, e.prepare(i, f))
	}
	err := e.permit(ctx)
	if err == nil {
		err = e.run(ctx)
	}
	for i := range e.jobs {
		e.settle(&e.jobs[i])
		e.out.Commands = append(e.out.Commands, e.jobs[i].out)
	}
	var failed *InlineError
	if errors.As(err, &failed) {
		failed.Commands = e.out.Commands
	}
	return e.out, errors.Join(err, e.audit(ctx))
}

// Note says that commands stay as written, for the lines before a text.
func Note(n int, why string) string {
	if n == 1 {
		return "1 inline command was not run: " + why
	}
	return fmt.Sprintf("%d inline commands were not run: %s", n, why)
}

type expansion struct {
	o    ExpandOptions
	m    manner
	out  Expanded
	jobs []job
}

// job is one command on its way. It runs only if its outcome has no reason yet.
type job struct {
	out  Outcome
	call Call
}

func (e *expansion) off() string {
	switch {
	case !e.o.Rule.On:
		return or(e.o.Rule.Why, OffHost)
	case e.o.Dir == "":
		return OffDir
	}
	return ""
}

// prepare is all that is decided about one command by its text: count, list, syntax,
// arguments.
func (e *expansion) prepare(i int, f Inline) job {
	j := job{out: Outcome{Line: f.Line, Written: f.Text, Command: f.Text}}
	if i >= maxCommands {
		j.fail(ReasonCount, fmt.Sprintf("limit of %d commands", maxCommands))
		return j
	}
	j.call = Call{Shell: e.o.Rule.Program, Dir: e.o.Dir, Line: f.Line, Skill: e.o.Skill, Unasked: e.m.allowOnly}
	args := e.o.Arguments
	if e.m.literal {
		args = Arguments{}
	}
	in := mark(f.Text, e.o.Dialect, args)
	if e.m.literal {
		in = &insertion{marked: f.Text, prefix: in.prefix}
	}
	e.out.Argument = e.out.Argument || in.took()
	var why Reason
	switch {
	case !readable(f.Text):
		why = ReasonParse
	case e.o.Rule.List.limits():
		j.call.Argv, why = in.words(e.o.Rule.List)
		j.call.Shell = ""
		quoted := make([]string, len(j.call.Argv))
		for k, w := range j.call.Argv {
			if quoted[k] = w; !plainValue.MatchString(w) {
				quoted[k] = quoteWord(w)
			}
		}
		j.call.Command = strings.Join(quoted, " ")
	case j.call.Shell == "pwsh" || j.call.Shell == "powershell":
		// Its grammar is another one, and so is its quoting: no value is put in.
		if j.call.Command = f.Text; len(in.values) > 0 {
			why = ReasonArgument
		}
	default:
		j.call.Command, why = in.shell()
	}
	if why == "" && !readable(j.call.Command) {
		why = ReasonParse
	}
	if why != "" {
		j.fail(why, details[why])
		return j
	}
	j.out.Command = j.call.Command
	return j
}

// details are the words for people of reasons that have only one.
var details = map[Reason]string{
	ReasonParse: "does not parse", ReasonArgument: "argument inside a script", ReasonList: "blocked by policy",
	ReasonRefused: "refused", ReasonApproval: "needs approval", ReasonCancelled: "cancelled", ReasonDir: "outside the workspace",
}

func (j *job) fail(r Reason, detail string) { j.out.Reason, j.out.Detail = r, detail }

// permit asks the sandbox, then the gate. In a load that ends at the first failure
// nothing is asked once a command has failed.
func (e *expansion) permit(ctx context.Context) error {
	if err := e.ended(); err != nil {
		return err
	}
	var open []int
	var calls []Call
	for i := range e.jobs {
		if e.jobs[i].out.Reason == "" {
			open = append(open, i)
			calls = append(calls, e.jobs[i].call)
		}
	}
	if len(open) == 0 || ctx.Err() != nil {
		return nil
	}
	able := errors.New("no sandbox")
	if e.o.Runs != nil {
		able = e.o.Runs.Able(ctx, e.o.Level)
	}
	if able != nil {
		if ctx.Err() != nil {
			return nil
		}
		for _, i := range open {
			e.jobs[i].fail(ReasonSandbox, unable(able))
			e.jobs[i].out.Why = able.Error()
		}
		return e.ended()
	}
	decisions := make([]Decision, len(calls))
	if e.o.Gate == nil {
		for k := range decisions {
			decisions[k].Verdict = Ask
		}
	} else if got, err := e.o.Gate.Decide(ctx, calls); err == nil && len(got) == len(calls) {
		decisions = got
	}
	for k, i := range open {
		e.jobs[i].out.Rule, e.jobs[i].out.Why = decisions[k].Rule, decisions[k].Reason
		switch decisions[k].Verdict {
		case Permit:
		case Ask:
			e.jobs[i].fail(ReasonApproval, details[ReasonApproval])
		default:
			e.jobs[i].fail(ReasonRefused, details[ReasonRefused])
		}
	}
	return e.ended()
}

// unable says for people which sandbox is missing.
func unable(err error) string {
	wanted := sandbox.Files
	var missing *sandbox.UnavailableError
	if errors.As(err, &missing) {
		wanted = missing.Wanted
	}
	return fmt.Sprintf("sandbox %q is not available", wanted)
}

// ended is the error of a load that ends at the first failure, or nil. Where only an
// allow rule lets commands run, one that would be asked about ends the load too.
func (e *expansion) ended() error {
	if !e.aborts() {
		return nil
	}
	for _, j := range e.jobs {
		if r := j.out.Reason; r != "" && r != ReasonCancelled {
			return &InlineError{Line: j.out.Line, Reason: r, Text: j.out.Detail}
		}
	}
	return nil
}

func (e *expansion) aborts() bool { return e.m.abort || e.o.Rule.OnError == Abort }

// tolerated are the programs whose exit code 1 is an answer.
var tolerated = []string{"grep", "rg", "diff", "test", "[", "cmp"}

// lastProgram is the program whose exit code a command has.
func lastProgram(c Call) string {
	if len(c.Argv) > 0 {
		return c.Argv[0]
	}
	script, err := shellcmd.Parse(c.Command)
	if err != nil || len(script.Commands) == 0 {
		return ""
	}
	last := script.Commands[len(script.Commands)-1]
	if len(last.Words) == 0 {
		return ""
	}
	return last.Words[0].Text
}

// settle writes the text that stands for a command.
func (e *expansion) settle(j *job) {
	if j.out.Reason == "" {
		return
	}
	switch {
	case e.o.Say != nil:
		j.out.Text = e.o.Say(j.out)
	case e.m.plain && j.out.Reason != ReasonCancelled:
		j.out.Text = "(unavailable)"
	default:
		j.out.Text = "(unavailable: " + j.out.Detail + ")"
	}
}

// audit writes one row a command. It is written also where the session was cancelled.
func (e *expansion) audit(ctx context.Context) error {
	if e.o.Audit == nil {
		return nil
	}
	var errs []error
	for _, j := range e.jobs {
		if err := e.o.Audit(context.WithoutCancel(ctx), j.out); err != nil {
			errs = append(errs, fmt.Errorf("record of a command: %w", err))
		}
	}
	return errors.Join(errs...)
}
