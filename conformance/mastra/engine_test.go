package mastra

import (
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// A whole engine on demand: the prompt says to search and names no skill, the tools are
// the two, and what is loaded is in the next step.
func TestEngineLoadsOnDemand(t *testing.T) {
	t.Parallel()
	e := suitetest.Engine(t, deft.Options{
		Workspace: t.TempDir(), Dialect: skill.Mastra, OnlySources: true, NoFiles: true, SkillTools: toolset.Options{OnDemand: toolset.OnDemandOnly},
		Data: []source.Definition{
			{Name: "zebra-stripes", Description: "Paints stripes.", Content: "Paint black on white."}, {Name: "tea", Description: "Makes tea.", Content: "Boil water."},
		},
	})
	turn := suitetest.Turn(t, e, "hello")
	system, user := turn.Prompt()
	if strings.Contains(system+user, "zebra") || !strings.Contains(system+user, "search_skills") {
		t.Errorf("%s\n%s", system, user)
	}
	var tools []string
	for _, spec := range turn.Tools() {
		tools = append(tools, spec.Name)
	}
	slices.Sort(tools)
	want(t, "tools", tools, []string{"load_skill", "search_skills", "skill_read"})
	if res := call(turn, "search_skills", `{"query":"paint stripes"}`); !strings.Contains(res.Text, `"name":"zebra-stripes"`) {
		t.Error(res.Text)
	}
	call(turn, "load_skill", `{"skillName":"zebra-stripes"}`)
	if _, user := turn.Prompt(); strings.Count(user, "[Skill: zebra-stripes]\n\nPaint black on white.") != 1 {
		t.Error(user)
	}
}
