package toolset

import (
	"context"
)

// deactivateTool ends one active skill.
type deactivateTool struct{ shape }

const deactivateSchema = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":512}},"required":["name"],"additionalProperties":false}`

// Present implements Passing.
func (t *deactivateTool) Present(n Now) bool { return len(n.Active) > 0 }

func (t *deactivateTool) Call(_ context.Context, c Call) (Result, error) {
	in := t.input(c)
	name, _ := in.text("name", maxName, true)
	if in.fault != nil {
		return *in.fault, nil
	}
	ended, err := c.Turn.Deactivate(name)
	switch {
	case err != nil:
		return engineError(err)
	case !ended:
		return Result{Text: in.note() + "not active: " + show(name), Code: "skill_not_active"}, nil
	}
	return Result{Text: in.note() + "cleared: " + show(name)}, nil
}
