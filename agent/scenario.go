package agent

import (
	"fmt"
	"strings"

	"github.com/deftskills/deft/route"
)

// pickScenarios asks which scenarios the request shows, and returns the skills that they
// suggest. They start skills and give the model a playbook; at the gate they say nothing.
func (t *turn) pickScenarios() (list []Preload) {
	if t.r.d.Scenarios == nil || strings.TrimSpace(t.in.Text) == "" {
		return nil
	}
	t.scenarios = t.r.d.Scenarios(t.ctx, t.in.Text)
	for _, s := range t.scenarios {
		for _, name := range s.Skills {
			list = append(list, Preload{Name: name, By: "scenario"})
		}
	}
	return list
}

// playbooks are the texts of the scenarios that apply.
func playbooks(list []route.Scenario) string {
	var parts []string
	for _, s := range list {
		if text := strings.TrimSpace(s.Playbook); text != "" {
			parts = append(parts, fmt.Sprintf("The request looks like the scenario %q. Its playbook:\n%s", s.ID, text))
		}
	}
	return strings.Join(parts, "\n\n")
}
