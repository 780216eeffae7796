package deft_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
)

// A skill that a sub-agent carries out counts for who started it; what the sub-agent does
// counts under its kind.
func TestAForkedSkillIsCountedAndItsSubAgentUnderItsKind(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	dir, home := t.TempDir(), t.TempDir()
	write(t, home, forkedSkill("scan", "background: false\n", "Count the entry points."))
	engine := open(t, deft.Options{
		Workspace: dir, Home: home, NoBuiltin: true, Project: registry.ProjectAlways,
		Uses: func(_ context.Context, uses []agent.Use) error {
			mu.Lock()
			defer mu.Unlock()
			for _, u := range uses {
				told = append(told, fmt.Sprintf("%s %q shown %d loaded %d by model %d", u.Skill, u.Agent, u.Shown, u.Loaded, u.ModelStarted))
			}
			return nil
		},
	})
	s := newSession(t, engine, deft.SessionOptions{Model: &answering{answer: func(_ context.Context, r model.Request) model.Step {
		switch {
		case asks(r, "Count the entry points."):
			return says("two")
		case len(r.Messages) == 1:
			return calls("skill", map[string]string{"name": "scan"})
		}
		return says("done")
	}}})
	for range s.Run(t.Context(), deft.Input{Text: "go", Origin: gate.Interactive, Principal: "user"}) {
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(told)
	want(t, "told", strings.Join(told, "\n"), `scan "" shown 1 loaded 1 by model 1
scan "general" shown 1 loaded 0 by model 0`)
}
