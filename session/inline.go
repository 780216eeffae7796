package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Commands says how the commands that a text asks to have run while it is loaded are run.
// The zero value runs none: they stay in the text, and the load says so.
type Commands struct {
	// Host is what the host allows at all; its zero Mode denies.
	Host command.Policy
	Runs command.Runs
	Dir  string // where they run, absolute; "" = they stay in the text
	// Audit is called once a command, after the last one of a load; its error fails the
	// load. nil = not.
	Audit func(context.Context, CommandEvent) error
}

// CommandEvent is the record of one command of a text. Command is as its author wrote it,
// without the arguments of a request; Hash is of what was to run, arguments included.
type CommandEvent struct {
	Trace   string // of the turn; "" = none
	Session string
	Turn    int
	Address string
	Digest  skill.Digest // of SKILL.md and its sidecars
	Hash    skill.Digest
	Outcome command.Outcome
}

// Door decides whether commands of a text may run, all of one load with one question.
// loading is the skill that they belong to, which is not active yet; its allow list is
// there only where it may count.
type Door interface {
	Decide(ctx context.Context, loading gate.ActiveSkill, calls []command.Call) ([]command.Decision, error)
}

// door is a Door for the commands of one skill.
type door struct {
	Door
	loading gate.ActiveSkill
}

// Decide implements command.Gate.
func (d door) Decide(ctx context.Context, calls []command.Call) ([]command.Decision, error) {
	return d.Door.Decide(ctx, d.loading, calls)
}

// expand runs the commands of the candidate's body, unless its text is in the context
// already. The refusal is for a command whose failure ends the load.
func (t *Turn) expand(ctx context.Context, r Request, c *candidate, values command.Arguments) (command.Expanded, *Refusal, error) {
	o := command.ExpandOptions{Dialect: t.s.o.Dialect, Line: c.body.Line, Arguments: values}
	if len(command.Scan(c.body.Text, command.ScanOptions{Dialect: o.Dialect})) == 0 || c.kept(t, r) {
		out, err := command.Expand(ctx, c.body.Text, o)
		out.Note = "" // it was said when the text was loaded
		return out, nil, err
	}
	own, host := &c.rec.Skill.Meta, t.s.o.Commands
	o.Skill = command.SkillRef{Name: c.act.Name, Address: c.act.Address, Dir: c.rec.Dir, Digest: c.act.Digest}
	o.Dir, o.Runs = host.Dir, host.Runs
	o.Rule = t.rule(c)
	if own.OnError == string(command.Abort) {
		o.Rule.OnError = command.Abort
	}
	if t.door != nil {
		o.Gate = door{t.door, c.loading(t)}
	}
	if host.Audit != nil {
		o.Audit = func(ctx context.Context, out command.Outcome) error {
			return host.Audit(ctx, CommandEvent{
				Session: t.s.id, Turn: t.number, Trace: t.trace, Address: c.act.Address, Digest: c.act.Digest, Hash: digestOf(out.Command), Outcome: out,
			})
		}
	}
	out, err := command.Expand(ctx, c.body.Text, o)
	var failed *command.InlineError
	switch {
	case ctx.Err() != nil:
		return out, nil, ctx.Err()
	case errors.As(err, &failed):
		return out, &Refusal{
			Name: c.asked, Code: "inline_failed", Commands: failed.Commands, Fix: "see what its command needs, or have it go on without: on_error: placeholder",
			Message: fmt.Sprintf("%q was not loaded: a command of its text failed, line %d: %s.", field(c.act.Address), failed.Line, field(failed.Text)),
		}, nil
	case err != nil:
		return out, nil, &Error{Code: "audit_write", Message: "record of commands", Err: err}
	}
	c.act.Commands = out.Commands
	c.diags = append(c.diags, out.Diagnostics...)
	if out.Note != "" {
		c.notes, c.act.Unrun = append(c.notes, out.Note), out.Note
	}
	if o.Rule.Why == command.OffUntrusted {
		c.dropped = append(c.dropped, c.effectDropped("inline commands"))
	}
	return out, nil, nil
}

// kept reports whether the text of the candidate is in the context as it would be loaded
// now, so that nothing of it is to be run again. A member of a set keeps its text. Where a
// command was held back, and a person has granted the skill meanwhile or starts it once
// more, it is loaded anew: what was missing may be there.
func (c *candidate) kept(t *Turn, r Request) bool {
	former := t.former(c.act.Address)
	if former == nil || former.Digest != c.act.Digest || former.Args != c.act.Args && (r.Replace || former.placeholders) {
		return false
	}
	held := former.Unrun != "" || slices.ContainsFunc(former.Commands, func(o command.Outcome) bool { return !o.Ran })
	if c.anew = held && (r.Actor == ActorUser || former.Granted != c.act.Granted); c.anew {
		return false
	}
	c.act.Commands, c.act.Unrun = former.Commands, former.Unrun
	if r.Replace {
		c.text, c.act.Text = former.Text, former.Text
	}
	return true
}

// former is the newest activation of a skill whose text a model still has before it; nil
// = there is none.
func (t *Turn) former(address string) *Activation {
	var former *Activation
	t.s.Layers().each(func(a *Applied) {
		if a.Skill != nil && a.Owner.ID == address {
			former = a.Skill
		}
	})
	if former == nil || t.s.own.again || former.lost {
		return nil
	}
	return former
}

// rule is what of the candidate's commands may run: what host, source and trust allow,
// and what the skill itself wants.
func (t *Turn) rule(c *candidate) command.Rule {
	if t.resumes {
		return command.Rule{Why: "resumed session"}
	}
	s, info := c.rec.Skill, c.rec.Source
	decl, diags := command.Decl{Enabled: true}, []skill.Diagnostic(nil)
	if s.Meta.HasShell {
		decl, diags = command.ParseShell(shellField(s), t.s.o.Dialect)
	}
	from := command.Origin{Kind: string(info.Kind), Trust: string(info.Trust), Granted: c.act.Granted, Mode: command.Mode(info.Shell.String())}
	if info.Kind == source.DataDef {
		from.Data, decl.Enabled = decl.Enabled, true // the host's switch stands in the header
	}
	rule := command.Effective(t.s.o.Commands.Host, command.SourcePolicy(from), decl)
	rule.Diagnostics = append(diags, rule.Diagnostics...)
	for i := range rule.Diagnostics {
		rule.Diagnostics[i].File, rule.Diagnostics[i].Offset = "SKILL.md", -1
	}
	return rule
}

// shellField is what the header says of the shell, wherever in it. What stands in a file
// beside it is not kept, and what cannot be read turns commands off.
func shellField(s *skill.Skill) any {
	const key = "shell"
	raw := s.Raw()
	for _, n := range []*skill.Node{raw.Get("metadata").Get("deft").Get(key), raw.Get("metadata").Get("deft." + key), raw.Get(key)} {
		if n != nil && s.Origin(key).File != skill.SidecarConfig {
			return n
		}
	}
	return struct{}{}
}

// loading is the candidate as the gate sees it while it is loaded: what it refuses counts,
// what it approves in advance only where that is the dialect's way and its code counts.
func (c *candidate) loading(t *Turn) gate.ActiveSkill {
	g := gate.ActiveSkill{
		Name: c.act.Name, Source: c.act.SourceID, Dir: c.act.Dir, Digest: c.act.Digest, Granted: c.act.Granted, Mode: gate.Keep,
	}
	if c.tools == nil {
		return g
	}
	g.Deny = c.tools.Deny
	if listMode(t.s.o.Dialect) == gate.PreApprove && c.act.Granted {
		g.Allow, g.Mode = c.tools.Allow, gate.PreApprove
	}
	return g
}
