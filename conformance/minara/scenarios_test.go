package minara

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model/scripted"
)

const crash = `id: crash
kind: primary
keywords: [crash]
suggested_skill_ids: [a, b]
playbook: First say how far it fell.
`

// withScenarios writes scenario files and turns them on.
func withScenarios(t *testing.T, on bool, files ...string) func(*deft.Options, *deft.SessionOptions) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range files {
		if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i))+".yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return func(o *deft.Options, _ *deft.SessionOptions) {
		o.Scenarios = deft.ScenarioOptions{On: on, Dirs: []string{dir}}
	}
}

// playbook returns the scenario block of the first request, and who was preloaded.
func playbook(a *alarm) (block string, preloaded []string) {
	for _, b := range a.of(agent.ModelStarted)[0].Blocks {
		if b.Name == "scenario" {
			block = b.Text
		}
	}
	for _, e := range a.of(agent.Preloaded) {
		preloaded = append(preloaded, e.Skill.Name+" by "+e.Skill.By)
	}
	return block, preloaded
}

func TestMinara_SN01_AKeywordPreloadsAndAddsThePlaybook(t *testing.T) {
	t.Parallel()
	a := newAlarm(t, abc("", "", ""), withScenarios(t, true, crash), scripted.Step{Text: "done"})
	a.run(typed("is this a crash?"))
	block, preloaded := playbook(a)
	want(t, "preloaded", preloaded, []string{"a by scenario", "b by scenario"})
	want(t, "block", strings.HasSuffix(block, "First say how far it fell."), true)
	want(t, "after the texts", strings.Index(a.asked(0), "Body of b.") < strings.Index(a.asked(0), "First say how far"), true)
	want(t, "reason", at(*a.of(agent.Routed)[0].Route, "a"), "0 preload:scenario")
}

func TestMinara_SN02_OffMeansNone(t *testing.T) {
	t.Parallel()
	a := newAlarm(t, abc("", "", ""), withScenarios(t, false, crash), scripted.Step{Text: "done"})
	a.run(typed("is this a crash?"))
	block, preloaded := playbook(a)
	want(t, "block, preloaded", []any{block, len(preloaded)}, []any{"", 0})
}

func TestMinara_SN03_WithoutAKeywordNone(t *testing.T) {
	t.Parallel()
	a := newAlarm(t, abc("", "", ""), withScenarios(t, true, crash), scripted.Step{Text: "done"})
	a.run(typed("everything is red"))
	block, preloaded := playbook(a)
	want(t, "block, preloaded, requests", []any{block, len(preloaded), len(a.m.Requests())}, []any{"", 0, 1})
}

func TestMinara_SN04_OnePrimarySeveralComposable(t *testing.T) {
	t.Parallel()
	a := newAlarm(t, abc("", "", ""), withScenarios(t, true, crash,
		"id: other\nkind: primary\nkeywords: [crash]\nplaybook: Other.\n",
		"id: night\nkind: composable\nkeywords: [night]\nplaybook: Be quiet.\n",
		"id: short\nkind: composable\nkeywords: [crash]\nplaybook: Be short.\n",
	), scripted.Step{Text: "done"})
	a.run(typed("a crash at night"))
	block, _ := playbook(a)
	var has []bool
	for _, part := range []string{"First say how far", "Other.", "Be quiet.", "Be short."} {
		has = append(has, strings.Contains(block, part))
	}
	want(t, "playbooks", has, []bool{true, false, true, true})
}
