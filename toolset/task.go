package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
)

// NameTask is the name of the tool that runs sub-agents before any renaming.
const NameTask = "task"

const (
	maxTask      = 64 << 10 // bytes of a task
	maxTaskKinds = 20       // kinds that the description names
)

// Kind is a kind of sub-agent as the model is told of it.
type Kind struct{ ID, Description string }

// TaskOptions configures the tool that runs sub-agents.
type TaskOptions struct {
	Dialect skill.Dialect // "" = deft
	Kinds   []Kind        // that there are; none = there is no such tool
	// Depth is how many sub-agents the session lies below: at limits.ForkDepth none is run.
	Depth int
}

// Task returns the tool that has a sub-agent carry out a task, in the dialects that have
// it. Call.Fork runs it.
func Task(o TaskOptions) []Tool {
	f, has := faces()[orElse(string(o.Dialect), string(skill.Deft))][NameTask]
	if !has || len(o.Kinds) == 0 || o.Depth >= limits.ForkDepth {
		return nil
	}
	t := &taskTool{o: o, spec: Spec{
		Name: orElse(f.As, NameTask), Description: description(orElse(f.Text, NameTask)) + "\n\n" + kindList(o.Kinds), Toolset: "agents",
		// Neighbours run side by side: each passes the gate, and so does all that they do.
		Input: json.RawMessage(taskSchema), Tier: gate.ConfirmOnce, Mode: Parallel, ReadOnly: true,
	}}
	if f.Input != nil {
		t.spec.Input = f.Input
	}
	return []Tool{t}
}

func kindList(kinds []Kind) string {
	var b strings.Builder
	b.WriteString("Kinds:")
	for _, k := range kinds[:min(len(kinds), maxTaskKinds)] {
		fmt.Fprintf(&b, " %s (%s);", show(k.ID), strings.TrimRight(show(firstLine(k.Description)), "."))
	}
	if more := len(kinds) - maxTaskKinds; more > 0 {
		fmt.Fprintf(&b, " and %d more;", more)
	}
	return strings.TrimSuffix(b.String(), ";") + "."
}

const taskSchema = `{"type":"object","properties":{"agent":{"type":"string","minLength":1,"maxLength":64},"prompt":{"type":"string","minLength":1,"maxLength":65536}},"required":["prompt"],"additionalProperties":false}`

// taskTool runs sub-agents.
type taskTool struct {
	o    TaskOptions
	spec Spec
}

// Spec describes the tool.
func (t *taskTool) Spec() Spec { return t.spec }

// Accepts lets arguments through that the tool does not know and says so of.
func (t *taskTool) Accepts() json.RawMessage { return widened(t.spec.Input) }

func (t *taskTool) Call(ctx context.Context, c Call) (Result, error) {
	in := parseInput(c.Input)
	prompt, _ := in.text("prompt", maxTask, true)
	kind, _ := in.text("agent", 64, false)
	if other, given := in.text("subagent_type", 64, false); given {
		kind = other
	}
	in.take("description")
	if strings.TrimSpace(prompt) == "" {
		in.bad("prompt is empty")
	}
	if in.fault != nil {
		return *in.fault, nil
	}
	kind = orElse(strings.TrimSpace(kind), t.o.Kinds[0].ID)
	ids := make([]string, len(t.o.Kinds))
	known := false
	for i, k := range t.o.Kinds {
		ids[i] = k.ID
		known = known || k.ID == kind
	}
	switch {
	case !known:
		return refuse("agent_unknown", fmt.Sprintf("No agent is named %s. There are: %s.", quote(kind), show(strings.Join(ids, ", ")))), nil
	case c.Fork == nil:
		r := refuse("agent_unavailable", "No sub-agent can be run here. Do the task yourself.")
		r.Retry = RetryFinal
		return r, nil
	}
	answer, err := c.Fork(ctx, session.Fork{Agent: kind, Task: prompt, Depth: t.o.Depth + 1})
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case err != nil:
		return refuse("agent_not_started", fmt.Sprintf("The sub-agent was not started: %s.", show(err.Error()))), nil
	}
	return Result{Text: in.note() + strings.TrimPrefix(answer, "\n")}, nil
}
