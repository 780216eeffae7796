package deft_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/registry"
)

// A folder of definitions is read to its bound; that there is more, and that one of them is
// no plain file, is told.
func TestAFolderOfDefinitionsIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{
		".deft/agents/README.md": "about", ".deft/agents/a000.md/x": "a folder", ".deft/scenarios/s000.yml/x": "a folder",
		".deft/agents/a001.md": strings.Repeat("x", 64<<10+1), ".deft/scenarios/s001.yml": strings.Repeat("#", 64<<10+1),
	}
	for i := range 99 {
		files[fmt.Sprintf(".deft/agents/a1%02d.md", i)] = fmt.Sprintf("---\nname: a%d\n---\n", i)
		files[fmt.Sprintf(".deft/scenarios/s1%02d.yml", i)] = fmt.Sprintf("id: s%d\nkind: primary\n", i)
	}
	write(t, dir, files)
	e := open(t, deft.Options{Workspace: dir, Home: t.TempDir(), Project: registry.ProjectAlways, Scenarios: deft.ScenarioOptions{On: true}})
	none, _ := open(t, deft.Options{Workspace: t.TempDir(), Home: t.TempDir()}).Agents(t.Context())
	kinds, diags := e.Agents(t.Context())
	list, more := e.Scenarios(t.Context())
	if len(kinds)-len(none) != 98 || len(list) != 98 {
		t.Errorf("%d kinds of agents, %d scenarios", len(kinds)-len(none), len(list))
	}
	var told []string
	for _, d := range append(diags, more...) {
		told = append(told, d.Code+" "+d.Message)
	}
	got := strings.Join(told, "\n")
	for what, n := range map[string]int{
		"agent_invalid agent a000.md: it is no plain file": 1, "scenario_invalid scenario s000.yml: it is no plain file": 1,
		"agent_invalid agent a001.md: it is no plain file": 1, "scenario_invalid scenario s001.yml: it is no plain file": 1,
		"_invalid more than 100 files in .deft/": 2, "\n": 5,
	} {
		if strings.Count(got, what) != n {
			t.Errorf("%q stands %d times, not %d, in:\n%s", what, strings.Count(got, what), n, got)
		}
	}
}
