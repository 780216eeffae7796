package toolset

import (
	"context"
	"errors"
	"fmt"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/session"
)

// maxName bounds a name in bytes.
const maxName = 512

// skillTool starts one skill and answers with its text.
type skillTool struct{ shape }

const skillSchema = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":512},"arguments":{"type":"string","maxLength":16384}},"required":["name"],"additionalProperties":false}`

func (t *skillTool) Call(ctx context.Context, c Call) (Result, error) {
	in := t.input(c)
	name, _ := in.text("name", maxName, true)
	args, has := in.text("arguments", limits.DefaultSession().ArgsModel, false)
	if in.fault != nil {
		return *in.fault, nil
	}
	res, err := c.Turn.Activate(ctx, session.Request{
		Names: []string{name}, Args: args, HasArgs: has, Actor: session.ActorModel,
		Tools: t.o.names(c), By: session.Provenance{Tool: t.spec.Name, CallID: c.ID},
	})
	if err != nil {
		return engineError(err)
	}
	out := Result{Text: in.note() + res.Text, Structured: summary(res)}
	if len(res.Loaded) > 0 && res.Loaded[0].Fork != nil {
		answer, err := t.o.carried(ctx, c, *res.Loaded[0].Fork)
		if err != nil {
			return refuse("fork_failed", fmt.Sprintf("%s It failed: %v.", res.Text, err)), ctx.Err()
		}
		out.Text += answer
		return out, nil
	}
	for _, l := range res.Loaded {
		out.Meta.Activated = append(out.Meta.Activated, l.Name)
		out.Meta.Truncated = out.Meta.Truncated || l.Cut
	}
	if len(res.Refused) > 0 {
		out.refused(res.Refused[0])
	}
	return out, nil
}

// carried has a forked skill carried out by the loop, or by the host's means.
func (o Options) carried(ctx context.Context, c Call, f session.Fork) (string, error) {
	if c.Fork != nil {
		return c.Fork(ctx, f)
	}
	return o.Forked(ctx, c.Turn.Session(), f)
}

// Forked has a forked skill carried out. The answer is cut to what a result may hold, with
// a line end before it; "" where the host answers by its own means.
func (o Options) Forked(ctx context.Context, s *session.Session, f session.Fork) (string, error) {
	if o.Fork == nil {
		return "", nil
	}
	answer, err := o.Fork(ctx, s, f)
	return "\n" + f.Answer(answer), err
}

// TextNames are the tool names that texts of a session may mention. shown reports whether
// a tool is declared to the model now; nil = skill_search is not counted on.
func (o Options) TextNames(shown func(tool string) bool) session.ToolNames {
	read := o.Name(NameSkillRead)
	n := session.ToolNames{Read: read, NoRead: read == ""}
	if search := o.SearchName(); search != "" && shown != nil && shown(search) {
		n.Search = search
	}
	return n
}

func (o Options) names(c Call) session.ToolNames {
	shown := c.Shown
	if shown == nil {
		shown = func(string) bool { return true }
	}
	return o.TextNames(shown)
}

// refused makes r the answer for a name that was refused.
func (r *Result) refused(why session.Refusal) {
	r.Code, r.IsError, r.Retry = why.Code, !why.Soft, RetryCorrected
	switch {
	case why.Soft:
		r.Retry = RetryNone
	case why.Final:
		r.Retry = RetryFinal
	}
}

// engineError turns limits and failed records into results; the rest is the loop's.
func engineError(err error) (Result, error) {
	var e *session.Error
	if errors.As(err, &e) {
		r := refuse(e.Code, e.Error()+". Nothing was changed.")
		r.Retry = RetryNone
		return r, nil
	}
	return Result{}, err
}

// outcome is the structured form of an activation, for hosts.
type outcome struct {
	Active   []activeSkill     `json:"active"`
	Replaced []string          `json:"replaced,omitempty"`
	Refused  []session.Refusal `json:"refused,omitempty"`
	Already  bool              `json:"already,omitempty"`
}

type activeSkill struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Dir     string `json:"dir,omitempty"`
	Version string `json:"version,omitempty"`
	Address string `json:"address"`
	Digest  string `json:"digest"`
	Scope   string `json:"scope"`
	Trust   string `json:"trust"`
	Repeat  bool   `json:"repeat,omitempty"`

	Fork *session.Fork `json:"fork,omitempty"` // a sub-agent carries it out
}

func summary(res session.Result) outcome {
	o := outcome{Replaced: res.Replaced, Refused: res.Refused, Already: res.Already}
	for _, l := range res.Loaded {
		a := activeSkill{
			Name: l.Name, ID: string(l.ID), Dir: l.Dir, Address: l.Address, Digest: string(l.Digest),
			Scope: string(l.Scope), Trust: l.Trust, Repeat: l.Repeat, Fork: l.Fork,
		}
		if l.Record != nil {
			a.Version = l.Record.Skill.Meta.Version
		}
		o.Active = append(o.Active, a)
	}
	return o
}
