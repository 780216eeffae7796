package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/toolset"
)

// maxParallel is how many calls of one step run side by side.
const maxParallel = 8

// pending is one call of a step on its way to its result.
type pending struct {
	call    model.Call
	index   int // in the step
	tool    toolset.Tool
	spec    toolset.Spec
	args    json.RawMessage // as the gate checked them
	result  toolset.Result
	settled bool             // the result stands; nothing is to run
	of      command.SkillRef // the skill whose hook wants it; zero = a call of the model
	added   []string         // by hooks, to the result
	ctx     context.Context  // with span; nil = it was settled before it was looked at
	span    span             // of the call
	via     string           // the tool through which it was called; "" = directly
	judged  gate.Decision    // the last word on it
	started time.Time        // of its handler; zero = it did not run
	lost    bool             // the handler never came back
}

// text is the result with what hooks added.
func (p *pending) text() string {
	return strings.Join(append([]string{p.result.Text}, p.added...), "\n\n")
}

// settle gives the call its result without running it.
func (p *pending) settle(code, message, hint string) {
	p.result = toolset.Result{Text: errorText(code, message, hint), Code: code, IsError: true}
	p.settled = true
}

// together reports whether the call may run beside others of its kind.
func (p *pending) together() bool {
	return p.tool != nil && p.spec.ReadOnly && cmp.Or(p.spec.Mode, toolset.Parallel) == toolset.Parallel
}

// order puts the calls of a step into groups that run one after the other: first
// those that must be alone, each by itself; then the rest as the model wrote them,
// read-only neighbours side by side.
func order(calls []*pending) (alone, groups [][]*pending) {
	for _, p := range calls {
		if p.tool != nil && p.spec.Mode == toolset.Alone {
			alone = append(alone, []*pending{p})
		}
	}
	open := false
	for _, p := range calls {
		switch {
		case p.tool != nil && p.spec.Mode == toolset.Alone:
		case open && p.together() && len(groups[len(groups)-1]) < maxParallel:
			groups[len(groups)-1] = append(groups[len(groups)-1], p)
		default:
			groups = append(groups, []*pending{p})
			open = p.together()
		}
	}
	return alone, groups
}

// holdBack keeps calls above READ_ONLY from running beside a skill that was loaded in
// the same step: the model wrote them before it had read the text.
func (t *turn) holdBack(alone, groups [][]*pending) {
	loaded := ""
	for _, g := range alone {
		if p := g[0]; loaded == "" && !p.result.IsError {
			loaded = p.spec.Name
			if len(p.result.Meta.Activated) > 0 {
				loaded = p.result.Meta.Activated[0]
			}
		}
	}
	if loaded == "" {
		return
	}
	for _, g := range groups {
		for _, p := range g {
			if d := t.r.d.Gate.Explain(t.gateCall(p.call.ID, p.call.Name, p.call.Input)); d.Verdict != gate.Deny && d.Tier > gate.ReadOnly {
				p.settle("skill_alone", fmt.Sprintf("Not run: %q was loaded in the same step. Read it, then call again.", loaded), "")
			}
		}
	}
}
