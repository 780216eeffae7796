package toolset

import (
	"context"
	"encoding/json"

	"github.com/deftskills/deft/gate"
)

// deactivateTool ends one active skill.
type deactivateTool struct{ o Options }

const deactivateSchema = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":512}},"required":["name"],"additionalProperties":false}`

func (t *deactivateTool) Spec() Spec {
	return Spec{
		Name: t.o.name(NameDeactivate), Description: t.o.describe(NameDeactivate), Toolset: "skills",
		Input: json.RawMessage(deactivateSchema),
		Tier:  gate.ReadOnly, Mode: Parallel,
	}
}

func (t *deactivateTool) Call(_ context.Context, c Call) (Result, error) {
	in := parseInput(c.Input)
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
