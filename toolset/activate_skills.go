package toolset

import (
	"context"
	"fmt"
	"strings"

	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
)

// activateTool makes a set of skills the active one.
type activateTool struct{ shape }

const activateSchema = `{"type":"object","properties":{"ids":{"type":"array","items":{"type":"string","maxLength":512},"maxItems":32},"confirmed":{"type":"boolean"}},"required":["ids"],"additionalProperties":false}`

// Call ignores confirmed: consent is a person's answer to the gate, not a model's word.
func (t *activateTool) Call(ctx context.Context, c Call) (Result, error) {
	in := t.input(c)
	ids := in.texts("ids", 32, true)
	confirmed := in.flag("confirmed")
	if in.fault != nil {
		return *in.fault, nil
	}
	res, err := c.Turn.Activate(ctx, session.Request{
		Names: ids, Replace: true, Actor: session.ActorModel, Tools: t.o.names(c),
		By: session.Provenance{Tool: t.spec.Name, CallID: c.ID},
	})
	if err != nil {
		return engineError(err)
	}
	out := Result{Text: in.note() + t.report(res), Structured: summary(res), Meta: Meta{Confirmed: confirmed}}
	for _, l := range res.Loaded {
		out.Meta.Activated = append(out.Meta.Activated, l.Name)
	}
	if len(res.Refused) > 0 && (len(res.Loaded) == 0 || res.Refused[len(res.Refused)-1].Code == "set_too_large") {
		out.refused(res.Refused[len(res.Refused)-1])
	}
	return out, nil
}

// report is the result's text: one line each, empty ones left out.
func (t *activateTool) report(res session.Result) string {
	var active, unknown, unavailable, notes []string
	for _, l := range res.Loaded {
		active = append(active, show(l.Address))
		for _, d := range l.Diagnostics {
			notes = append(notes, d.Code+": "+show(d.Message))
		}
	}
	for _, r := range res.Refused {
		switch {
		case r.Code == "set_too_large":
			return r.Message
		case r.Code == "skill_unknown" && len(r.Close) > 0:
			unknown = append(unknown, fmt.Sprintf("%s (close: %s)", show(r.Name), show(strings.Join(r.Close, ", "))))
		case r.Code == "skill_unknown":
			unknown = append(unknown, show(r.Name))
		default:
			unavailable = append(unavailable, fmt.Sprintf("%s (%s)", show(r.Name), r.Message))
		}
	}
	head := "active"
	if res.Already {
		head = "already active"
	}
	lines := line(nil, head, active)
	lines = line(lines, "replaced", res.Replaced)
	lines = line(lines, "unknown", unknown)
	lines = line(lines, "unavailable", unavailable)
	lines = line(lines, "tools limited by", res.Limiting)
	lines = line(lines, "tools", t.tools(res))
	lines = append(lines, notes...)
	if t.o.Inline && t.o.Dialect == skill.Minara {
		for _, l := range res.Loaded {
			lines = append(lines, l.Text)
		}
	}
	if len(lines) == 0 {
		return "no skill is active"
	}
	return strings.Join(lines, "\n")
}

// tools names the tools that the set brings, with their tiers.
func (t *activateTool) tools(res session.Result) []string {
	var out []string
	for _, l := range res.Loaded {
		for _, name := range l.ToolNames {
			if t.o.Tier == nil {
				out = append(out, show(name))
			} else if tier, ok := t.o.Tier(name); ok {
				out = append(out, fmt.Sprintf("%s (%s)", show(name), tier))
			}
		}
	}
	return out
}

func line(lines []string, head string, list []string) []string {
	if len(list) == 0 {
		return lines
	}
	return append(lines, head+": "+strings.Join(list, ", "))
}
