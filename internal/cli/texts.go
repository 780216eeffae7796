package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/internal/shellcmd"
)

// commandJSON is what became of one command of a text. Reason is "" where it gave its
// output, which text holds; else why not.
type commandJSON struct {
	Line    int            `json:"line"`
	Command string         `json:"command"` // that was judged, arguments included
	Text    string         `json:"text"`    // that stands for it
	Reason  command.Reason `json:"reason"`
	Detail  string         `json:"detail"`
	Exit    int            `json:"exit"`
	MS      int64          `json:"ms"`
	Bytes   int            `json:"bytes"`
	Cut     bool           `json:"cut"`
	Rule    string         `json:"rule"`
	Why     string         `json:"why"` // what the gate said
	Level   sandbox.Level  `json:"level"`
	Ran     bool           `json:"ran"`
}

func commandsJSON(list []command.Outcome) []commandJSON {
	out := make([]commandJSON, 0, len(list))
	for _, c := range list {
		out = append(out, commandJSON{
			Line: c.Line, Command: c.Command, Text: c.Text, Reason: c.Reason, Detail: c.Detail, Exit: c.Exit,
			MS: c.Duration.Milliseconds(), Bytes: c.Bytes, Cut: c.Cut, Rule: c.Rule, Why: c.Why, Level: c.Level, Ran: c.Ran,
		})
	}
	return out
}

// commandsText tells a person what became of the commands of a text, and what is missing
// where they did not run.
func (r *run) commandsText(e agent.SkillEvent) {
	if r.globals.quiet || r.globals.json {
		return
	}
	w, p := r.words, r.err
	if e.Unrun != "" {
		p.Printf("%s %s: %s\n", p.Paint(safetext.Yellow, "!"), e.Name, e.Unrun)
		if strings.HasSuffix(e.Unrun, command.OffUntrusted) {
			r.hintf("hint: %s", w.Say("hint.trust_skill", safetext.Line(e.Name)))
		}
	}
	for _, c := range e.Commands {
		p.Printf("%s\n", w.Say("ask.command", c.Line, safetext.Clip(safetext.Line(c.Command), 120)))
		switch {
		case c.Reason == "":
			said := w.Say("ask.command_ran", c.Duration.Milliseconds(), c.Level)
			if c.Cut {
				said += "; " + w.Say("ask.command_cut")
			}
			p.Printf("    %s\n", said)
		case c.Why != "" && !c.Ran:
			p.Printf("    %s\n", w.Say("ask.command_rule", c.Detail, c.Why))
		default:
			p.Printf("    %s\n", c.Detail)
		}
		if c.Reason == command.ReasonApproval {
			r.hintf("hint: %s", r.allowing(c.Command))
		}
		if r.globals.verbose && c.Stderr != "" {
			prefixed(p, "│ ", "", c.Stderr)
		}
	}
}

// allowing says how a command can be allowed: by a rule, where one can prove it.
func (r *run) allowing(line string) string {
	rule := "Bash(" + line + ")"
	if gate.EvalBash(gate.ParseRules("allow "+rule), shellcmd.Judged("", line), gate.ShellEnv{Dir: r.cwd, Home: r.dirs.Home}).Verdict != gate.Allow {
		return r.words.Say("hint.auto")
	}
	return r.words.Say("hint.allow_command", strconv.Quote(rule))
}

// together shows the commands of one text, which one answer is for: all of each.
func (t terminal) together(p *safetext.Printer, q agent.Question) {
	w := t.r.words
	p.Printf("\n%s\n", p.Paint(safetext.Bold, w.Say("confirm.together", len(q.Together), q.Decision.Tier.String())))
	p.Printf("  %s\n", w.Say("confirm.where", q.Call.Dir, orElse(q.Call.Placement, "local")))
	t.confined(p, q)
	for _, one := range q.Together {
		p.Printf("  %s, %s: %s\n", t.text(one), one.Decision.Tier.String(), one.Decision.Reason)
		t.arguments(p, one.Call.Args, false)
	}
}

// network tells that what a skill runs is not kept off the network.
func (t terminal) network(ctx context.Context, p *safetext.Printer, address string) {
	if address == "" || t.r.engine == nil {
		return
	}
	if rec, err := t.r.engine.Snapshot().Lookup(address); err == nil && t.r.engine.Networked(ctx, rec) {
		p.Printf("  %s\n", p.Paint(safetext.Yellow, t.r.words.Say("confirm.network", safetext.Clip(safetext.Line(address), 64))))
	}
}

// text says which text a command is of; a hook's has no line.
func (t terminal) text(q agent.Question) string {
	if q.Line == 0 {
		return t.r.words.Say("confirm.skill", safetext.Clip(safetext.Line(q.For.Name), 64), safetext.Line(q.For.Address), safetext.Line(q.For.Dir))
	}
	return t.r.words.Say("confirm.text", safetext.Clip(safetext.Line(q.For.Address), 64), safetext.Line(q.For.Dir), q.Line)
}
