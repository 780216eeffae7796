package minara

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
)

// described is a skill with a description.
func described(description string) string {
	return "---\nname: a\ndescription: \"" + description + "\"\n---\nBody.\n"
}

func TestMinara_SC17_81CharactersAreLong(t *testing.T) {
	t.Parallel()
	for n, level := range map[int]string{81: "info", 80: ""} {
		want(t, fmt.Sprint(n), finding(lint(t, described("Buys coins "+strings.Repeat("x", n-11)), skill.LintOptions{}), "description_long"), level)
	}
}

func TestMinara_SC18_BuiltinsAreShorter(t *testing.T) {
	t.Parallel()
	want(t, "builtin", finding(lint(t, described("Buys coins "+strings.Repeat("x", 190)), skill.LintOptions{Builtin: true}), "description_long"), "error")
	s := parse(described("Buys coins " + strings.Repeat("x", 1013)))
	want(t, "external", []any{s.Valid, len(s.Description), finding(s.Diagnostics, "description_long")}, []any{true, 1024, ""})
}

func body(n int) string {
	return described("Buys and sells coins on an exchange.") + strings.Repeat("x", n)
}

func TestMinara_SC19_ALongBody(t *testing.T) {
	t.Parallel()
	count := func(n int) skill.LintOptions {
		return skill.LintOptions{Tokens: func(string) int { return n }}
	}
	want(t, "801 tokens", finding(lint(t, body(0), count(801)), "prompt_long"), "warning")
	want(t, "800 tokens", finding(lint(t, body(0), count(800)), "prompt_long"), "")
	want(t, "over 3 KiB", finding(lint(t, body(3<<10), count(1)), "prompt_long"), "warning")
}

func TestMinara_SC20_AVeryLongBodyBelongsToReferences(t *testing.T) {
	t.Parallel()
	for _, d := range lint(t, body(5001), skill.LintOptions{}) {
		if strings.Contains(d.Fix, "references/") {
			return
		}
	}
	t.Error("nothing is said of references/")
}

func TestMinara_SC21_TwentyToolsAreTwoSkills(t *testing.T) {
	t.Parallel()
	named := func(n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("tool_%d", i))
		}
		return text("a", "tool_names: ["+strings.Join(names, ", ")+"]")
	}
	for _, d := range lint(t, named(20), skill.LintOptions{}) {
		if d.Code == "tools_many" {
			want(t, "advice", d.Fix, "two skills in one")
		}
	}
	want(t, "20", finding(lint(t, named(20), skill.LintOptions{}), "tools_many"), "warning")
	want(t, "19", finding(lint(t, named(19), skill.LintOptions{}), "tools_many"), "")
}

func TestMinara_SC22_ABuiltinNamesRegisteredTools(t *testing.T) {
	t.Parallel()
	o := skill.LintOptions{Builtin: true, Tools: skill.NewNameSet("get_price")}
	want(t, "unknown", finding(lint(t, text("a", "tool_names: [get_prices]"), o), "tool_unresolved"), "error")
	want(t, "known", finding(lint(t, text("a", "tool_names: [get_price]"), o), "tool_unresolved"), "")
}

func TestMinara_SC23_ATierOnASkillIsAnErrorAndNoTier(t *testing.T) {
	t.Parallel()
	plain, tiered := text("a", "tool_names: [x]"), text("a", "tool_names: [x]", "permissionTier: READ_ONLY")
	want(t, "finding", finding(lint(t, tiered, skill.LintOptions{}), "tier_on_skill"), "error")
	want(t, "tools", parse(tiered).Meta.ToolNames, parse(plain).Meta.ToolNames)
}

func TestMinara_SC24_AProvidersSkillDeclaresItsKey(t *testing.T) {
	t.Parallel()
	o := skill.LintOptions{Keys: map[string]string{"glassnode": "GLASSNODE_API_KEY"}}
	want(t, "undeclared", finding(lint(t, text("a", "tool_names: [glassnode_metric]"), o), "provider_without_env"), "warning")
	want(t, "declared", finding(lint(t, text("a", "tool_names: [glassnode_metric]", needsKey), o), "provider_without_env"), "")
}

func TestMinara_SC25_AVagueDescription(t *testing.T) {
	t.Parallel()
	want(t, "vague", finding(lint(t, described("Trading stuff"), skill.LintOptions{}), "description_vague"), "warning")
	want(t, "plain", finding(lint(t, described("Perps: open, close, monitor positions on Hyperliquid"), skill.LintOptions{}), "description_vague"), "")
}

func TestMinara_SC26_AToolThatTheBodyNeverNames(t *testing.T) {
	t.Parallel()
	want(t, "unused", finding(lint(t, text("a", "tool_names: [swap]"), skill.LintOptions{}), "tool_unused"), "info")
	want(t, "used", finding(lint(t, text("a", "tool_names: [swap]")+"Call swap.\n", skill.LintOptions{}), "tool_unused"), "")
}
