package agent

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/toolset"
)

type noRows struct{}

func (noRows) Record(context.Context, gate.Row) error { return nil }

// A rule for the shell that names a script of a skill, by whichever path, refuses it to
// skill_run too; an allow opens nothing.
func TestARuleForTheShellHoldsForAScriptOfASkill(t *testing.T) {
	t.Parallel()
	tools := toolset.Skills(toolset.Options{Scripts: toolset.NoSandbox{}})
	table, err := GateTable(tools)
	if err != nil {
		t.Fatal(err)
	}
	const dir = "/w/.deft/skills/mail"
	for rule, want := range map[string]gate.Verdict{
		"deny Bash(scripts/send.sh *)":                         gate.Deny,
		"deny Bash(scripts/send.sh:*)":                         gate.Deny,
		"deny Bash(./scripts/send.sh --to *)":                  gate.Deny,
		"deny Bash(mail/scripts/send.sh *)":                    gate.Deny,
		"deny Bash(" + dir + "/scripts/send.sh *)":             gate.Deny,
		"deny Bash(.deft/skills/mail/scripts/send.sh *)":       gate.Deny,
		"deny Bash(scripts/send.sh --to all)":                  gate.Deny,
		"deny Bash(scripts/* *)":                               gate.Deny,
		"deny Bash(scripts/send.sh --dry-run *)":               gate.Ask,
		"deny Bash(scripts/other.sh *)":                        gate.Ask,
		"deny Bash(send.sh *)":                                 gate.Ask,
		"deny Bash":                                            gate.Ask, // of the shell tool alone
		"deny skill_run":                                       gate.Deny,
		"ask Bash(scripts/send.sh *)":                          gate.Ask,
		"allow Bash(scripts/send.sh *)":                        gate.Ask,
		"allow Bash(" + dir + "/scripts/send.sh *) ; ask Bash": gate.Ask,
	} {
		door, err := gate.New(gate.Options{Tools: table, Audit: noRows{}, Answerable: true, Rules: gate.RuleSet{Rules: gate.ParseRules(rule)}})
		if err != nil {
			t.Fatal(err)
		}
		args, _ := json.Marshal(map[string]any{"name": "mail", "script": "./scripts//send.sh", "args": []string{"--to", "all"}})
		d, err := door.Check(t.Context(), gate.Call{
			Session: "s", Tool: toolset.NameSkillRun, Args: args, Origin: gate.Interactive, Dir: "/w",
			Skills: []gate.ActiveSkill{{Name: "mail", Source: "user", Dir: dir, Granted: true}},
		})
		if err != nil || d.Verdict != want || d.Tier != gate.AlwaysConfirm {
			t.Errorf("%s: %v %+v", rule, err, d)
		}
	}
}
