package cli

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/registry"
)

// askOnline runs one turn and prints its document.
func (r *run) askOnline(ctx context.Context, s *deft.Session, m model.Model, in agent.Input) error {
	doc, err := r.turnOnline(ctx, s, m, in)
	if r.globals.json && (err == nil || err == errNegative) && !r.out.Closed() && ctx.Err() == nil {
		r.printJSON(doc)
	}
	return err
}

// turnOnline runs the loop: the answer on standard output as it comes, everything
// else that happens on standard error.
func (r *run) turnOnline(ctx context.Context, s *deft.Session, m model.Model, in agent.Input) (askJSON, error) {
	v := r.viewer(s, m)
	err := r.watchTurn(ctx, v, func(ctx context.Context) iter.Seq2[agent.Event, error] { return s.Run(ctx, in) }, nil)
	return v.doc, err
}

// viewer makes what shows a turn.
func (r *run) viewer(s *deft.Session, m model.Model) *viewer {
	v := &viewer{r: r, skills: s.Snapshot, doc: newAskJSON("online")}
	info := m.Info()
	v.doc.Model = info.Provider + "/" + info.Name
	return v
}

// watchTurn shows the events of a turn, which hear is told too, and how it ends; hear nil =
// nobody.
func (r *run) watchTurn(ctx context.Context, v *viewer, start func(context.Context) iter.Seq2[agent.Event, error], hear func(agent.Event)) error {
	turn, cancel := context.WithCancel(ctx)
	defer cancel()
	turn, done := r.watch(turn, "index")
	defer done()
	var failed error
	for e, err := range start(turn) {
		if e.Type != agent.TurnStarted {
			done() // what is shown from here on must not share a line with the bar
		}
		v.show(e)
		if hear != nil {
			hear(e)
		}
		if err != nil {
			failed = err
		}
		if r.out.Closed() {
			cancel() // nobody reads the answer any more
		}
	}
	v.endLine()
	if v.end == nil {
		return failed
	}
	v.doc.Stop, v.doc.Answer, v.doc.Elapsed = string(v.end.Stop), v.end.Answer, v.end.Elapsed.Milliseconds()
	v.doc.Usage = usageJSON{v.end.Usage.Input, v.end.Usage.Output}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.out.Closed() {
		return nil
	}
	return v.outcome(failed)
}

// viewer shows the events of one turn.
type viewer struct {
	r       *run
	skills  func() *registry.Snapshot // of the session
	doc     askJSON
	end     *agent.End
	text    bool // standard output stands within a line
	refused bool // a call was refused by the gate or for want of an answer
}

// endLine ends a line of the answer, so that what follows starts a new one.
func (v *viewer) endLine() {
	if v.text && !v.r.globals.json {
		v.r.out.Text("\n")
	}
	v.text = false
}

// note shows one thing that happened.
func (v *viewer) note(style safetext.Style, mark, format string, args ...any) {
	if v.r.globals.quiet {
		return
	}
	if v.r.out.Policy().Terminal {
		v.endLine()
	}
	v.r.err.Printf("%s "+format+"\n", append([]any{v.r.err.Paint(style, mark)}, args...)...)
}

func (v *viewer) show(e agent.Event) {
	w := v.r.words
	v.doc.Trace = e.Trace
	v.servers()
	switch e.Type {
	case agent.Routed:
		v.doc.routed(*e.Route)
	case agent.CatalogRendered:
		v.r.foundLine(v.skills(), *e.Catalog)
		v.note(safetext.Dim, "·", "%s", w.Say("ask.model", v.doc.Model))
	case agent.ModelStarted:
		v.prompt(e)
	case agent.Preloaded:
		if e.Skill.Code != "" {
			v.doc.started(*e.Skill)
			v.note(safetext.Yellow, "!", "%s", w.Say("ask.refused", e.Skill.Name, e.Skill.Message, e.Skill.Code))
			v.r.commandsText(*e.Skill)
		}
	case agent.SkillActivated:
		v.doc.started(*e.Skill)
		v.note(safetext.Cyan, "+", "%s", w.Say("ask.skill_on", e.Skill.Name, w.Say("ask.by_"+e.Skill.By)))
		v.r.commandsText(*e.Skill)
		v.r.report(e.Skill.Findings)
	case agent.SkillCleared:
		v.note(safetext.Cyan, "-", "%s", w.Say("ask.skill_off", e.Skill.Name))
	case agent.TextDelta:
		if !v.r.globals.json && e.Text != "" {
			v.r.out.Text(e.Text)
			v.text = !strings.HasSuffix(e.Text, "\n")
		}
	case agent.Retried:
		v.endLine()
		v.note(safetext.Yellow, "!", "%s", w.Say("ask.retry", e.Retry.Attempt, e.Retry.Message))
	case agent.Compacted:
		c := e.Compaction
		v.note(safetext.Yellow, "!", "%s", w.Say("ask.compacted", c.Messages, orElse(strings.Join(c.Skills, ", "), "-")))
	case agent.BudgetWarned:
		v.note(safetext.Yellow, "!", "%s", w.Say("ask.budget", e.Budget.String()))
	case agent.ToolRequested, agent.GateDecided, agent.ConfirmAnswered, agent.ToolFinished:
		v.call(e)
	case agent.HookRan:
		v.hook("", *e.Hook)
	case agent.SubagentStarted, agent.SubagentEvent, agent.SubagentFinished:
		v.sub("", e)
	case agent.TurnFinished:
		v.end = e.End
	}
}

// servers tells what happened to servers of tools meanwhile.
func (v *viewer) servers() {
	v.r.servers.mu.Lock()
	quiet := len(v.r.servers.found) == 0
	v.r.servers.mu.Unlock()
	if !quiet {
		v.endLine()
		v.r.tellServers()
	}
}

// prompt counts the blocks of the first request, for the document.
func (v *viewer) prompt(e agent.Event) {
	if !v.r.globals.json || len(v.doc.Prompt.Blocks) > 0 {
		return
	}
	counter := tokens.O200k()
	for _, b := range e.Blocks {
		n := counter.Count(b.Text)
		v.doc.Prompt.Tokens += n
		v.doc.Prompt.Blocks = append(v.doc.Prompt.Blocks, blockJSON{b.Name, n, b.Stable})
	}
}

// call shows what became of a tool call.
func (v *viewer) call(e agent.Event) {
	c := e.Call
	switch e.Type {
	case agent.ToolRequested:
		v.requested("", c)
	case agent.GateDecided, agent.ConfirmAnswered:
		if c.Verdict == gate.Ask {
			return
		}
		v.doc.Tools = append(v.doc.Tools, toolJSON{c.Tool, c.Tier, string(c.Verdict), c.Reason})
		v.denied("", c)
	case agent.ToolFinished:
		v.finished("", c)
	}
}

func (v *viewer) requested(in string, c *agent.CallEvent) {
	v.note(safetext.Blue, in+"→", "%s %s", c.Tool, safetext.Clip(safetext.Line(string(c.Args)), 120))
}

func (v *viewer) denied(in string, c *agent.CallEvent) {
	if c.Verdict == gate.Deny {
		v.refused = v.refused || c.Code != gate.CodeRefused
		v.note(safetext.Red, in+"✗", "%s", v.r.words.Say("ask.denied", c.Tool, c.Reason, c.Code))
	}
}

func (v *viewer) finished(in string, c *agent.CallEvent) {
	mark, style, code := "✓", safetext.Green, ""
	if c.IsError {
		mark, style, code = "✗", safetext.Red, " "+c.Code
	}
	v.note(style, in+mark, "%s%s", c.Tool, code)
}

// outcome turns the end of a turn into how the run ends.
func (v *viewer) outcome(failed error) error {
	end := v.end
	switch end.Stop {
	case agent.StopEnd:
		if v.refused {
			v.r.note(Refused)
		}
		return nil
	case agent.StopModel:
		return fail(Network, orElse(end.Code, "model_error"), "model %s: %s", v.doc.Model, end.Message).hinted("hint.model")
	case agent.StopCancelled:
		if failed == nil {
			failed = context.Canceled
		}
		return failed
	case agent.StopSteps, agent.StopTokens, agent.StopTime, agent.StopLoop:
		v.r.note(Partial)
		v.r.hintf("%s", v.r.words.Say("ask.stopped", string(end.Stop)))
		return nil
	case agent.StopRefused:
		return fail(Refused, orElse(end.Code, "refused"), "turn refused: %s", orElse(end.Message, "by the model"))
	}
	if failed != nil {
		return failed
	}
	return fmt.Errorf("turn ended: %s %s", end.Stop, end.Message)
}
