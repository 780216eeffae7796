package minara

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
)

// under routes "buy sol" over the skill a with these lines.
func under(t *testing.T, e skill.Environment, lines ...string) string {
	t.Helper()
	return at(turn(t, one(lines...), route.TurnRoutingContext{Message: "hello", Env: e}), "a")
}

func vars(names ...string) skill.Environment {
	return skill.Environment{Vars: skill.NewNameSet(names...), Tools: everything{}, OS: "linux"}
}

func tools(names ...string) skill.Environment {
	return skill.Environment{Tools: skill.NewNameSet(names...), OS: "linux"}
}

func on(goos string) skill.Environment { return skill.Environment{Tools: everything{}, OS: goos} }

const needsKey = "conditions: {requires_env: [GLASSNODE_API_KEY]}"

func TestMinara_CO01_AVariableThatIsNotSetRemoves(t *testing.T) {
	t.Parallel()
	want(t, "a", under(t, env(), needsKey), "removed: requires_env GLASSNODE_API_KEY")
}

func TestMinara_CO02_AVariableThatIsSetLeaves(t *testing.T) {
	t.Parallel()
	want(t, "a", under(t, vars("GLASSNODE_API_KEY"), needsKey), "0")
}

// A set of variables holds those that are not empty; whoever makes one leaves the
// others out, as package deft does with its Environ.
func TestMinara_CO03_AnEmptyVariableRemoves(t *testing.T) {
	t.Parallel()
	s := folder(t, one(needsKey))
	for value, hidden := range map[string]bool{"": true, "x": false} {
		e := engine(t, s, "GLASSNODE_API_KEY="+value)
		res := routed(t, e, "hello")
		want(t, fmt.Sprintf("removed with %q", value), res.Removed == 1, hidden)
	}
}

func TestMinara_CO04_EveryVariableMustBeSet(t *testing.T) {
	t.Parallel()
	want(t, "a", under(t, vars("ONE"), "conditions: {requires_env: [ONE, TWO]}"), "removed: requires_env TWO")
}

func TestMinara_CO05_ATool(t *testing.T) {
	t.Parallel()
	const line = "conditions: {requires_tools: [glassnode_metric]}"
	want(t, "not registered", under(t, tools(), line), "removed: requires_tools glassnode_metric")
	want(t, "registered", under(t, tools("glassnode_metric"), line), "0")
	want(t, "by its beginning", under(t, tools("glassnode_metric"), "conditions: {requires_tools: ['glassnode_*']}"), "0")
}

func TestMinara_CO06_AToolset(t *testing.T) {
	t.Parallel()
	const line = "conditions: {requires_toolsets: [documents]}"
	want(t, "not active", under(t, env(), line), "removed: requires_toolsets documents")
	e := env()
	e.Toolsets = skill.NewNameSet("documents")
	want(t, "active", under(t, e, line), "0")
}

const fallback = "conditions: {fallback_for_tools: [web_extract]}"

func TestMinara_CO07_AFallbackGoesWhenTheToolIsThere(t *testing.T) {
	t.Parallel()
	want(t, "a", under(t, tools("web_extract"), fallback), "removed: fallback_for_tools web_extract")
}

func TestMinara_CO08_AFallbackStaysWhenTheToolIsNotThere(t *testing.T) {
	t.Parallel()
	want(t, "a", under(t, tools("other"), fallback), "0")
}

func TestMinara_CO09_OneOfTwoToolsRemovesAFallback(t *testing.T) {
	t.Parallel()
	want(t, "a", under(t, tools("web_extract"), "conditions: {fallback_for_tools: [fetch, web_extract]}"), "removed: fallback_for_tools web_extract")
}

func TestMinara_CO10_Platforms(t *testing.T) {
	t.Parallel()
	const line = "conditions: {platforms: [darwin, linux]}"
	want(t, "windows", under(t, on("windows"), line), "removed: platforms darwin, linux")
	want(t, "linux", under(t, on("linux"), line), "0")
}

func TestMinara_CO11_PlatformsByOtherNames(t *testing.T) {
	t.Parallel()
	want(t, "macos", under(t, on("darwin"), "conditions: {platforms: [macos]}"), "0")
	want(t, "win32", under(t, on("windows"), "conditions: {platforms: [win32]}"), "0")
}

func TestMinara_CO12_AnEmptyListPasses(t *testing.T) {
	t.Parallel()
	for _, goos := range []string{"linux", "darwin", "windows", "plan9"} {
		want(t, goos, under(t, on(goos), "conditions: {platforms: [], requires_env: []}"), "0")
	}
}

func TestMinara_CO13_AnUnknownPlatformHidesNowhere(t *testing.T) {
	t.Parallel()
	const line = "conditions: {platforms: [beos]}"
	want(t, "a", under(t, on("linux"), line), "0")
	want(t, "finding", finding(parse(text("a", line)).Diagnostics, "value_enum"), "warning")
}

func TestMinara_CO14_PointsDoNotHelpAgainstACondition(t *testing.T) {
	t.Parallel()
	want(t, "a", at(turn(t, abc(needsKey+"\n"+whole, keywords("buy")+"\nco_activate: [a]", ""), all()), "a"), "removed: requires_env GLASSNODE_API_KEY")
}

func TestMinara_CO15_TheNameIsNotInThePrompt(t *testing.T) {
	t.Parallel()
	s := skills{"hidden-one": text("hidden-one", needsKey), "b": text("b")}
	got := shown(t, snapshot(t, env(), from("", s)), says(t, s, "hidden one"))
	if strings.Contains(got, "hidden") || !strings.Contains(got, "Does b.") {
		t.Errorf("catalog is %s", got)
	}
}

func TestMinara_CO16_AMissingKeyIsNoWarning(t *testing.T) {
	t.Parallel()
	snap := snapshot(t, env(), from("", one(needsKey)))
	_, diags := route.Compile(snap, options())
	want(t, "findings", []int{len(diags), len(snap.Diagnostics)}, []int{0, 0})
}

func TestMinara_CO17_ExplainNamesTheVariableAndNoValue(t *testing.T) {
	t.Parallel()
	r, _ := route.Compile(snapshot(t, env(), from("", one(needsKey))), options())
	row := r.Explain(route.TurnRoutingContext{Env: env()}, "a").Rows[0]
	want(t, "row", []any{row.Signal, row.Hidden, row.Detail}, []any{"conditions", true, "requires_env GLASSNODE_API_KEY"})

	// The value never reaches the router: a set has names alone.
	e := engine(t, folder(t, one(needsKey)), "GLASSNODE_API_KEY=s3cret-value")
	why, err := e.ExplainRoute(t.Context(), request("hello"), "a")
	if err != nil {
		t.Fatal(err)
	}
	if out := fmt.Sprintf("%+v %+v", why, routed(t, e, "hello").Hits); strings.Contains(out, "s3cret") {
		t.Errorf("output holds the value: %s", out)
	}
}

func TestMinara_CO18_TheShortFormIsTheSame(t *testing.T) {
	t.Parallel()
	want(t, "a", under(t, env(), "requires_env: [GLASSNODE_API_KEY]"), under(t, env(), needsKey))
}

func TestMinara_CO19_BothFormsAreUnited(t *testing.T) {
	t.Parallel()
	const both = "conditions: {requires_env: [ONE]}\n    requires_env: [TWO, ONE]"
	want(t, "none", under(t, env(), both), "removed: requires_env ONE, TWO")
	want(t, "one", under(t, vars("ONE"), both), "removed: requires_env TWO")
	want(t, "both", under(t, vars("ONE", "TWO"), both), "0")
}

func TestMinara_CO20_EveryFailingListIsToldInTheOrderOfTheTable(t *testing.T) {
	t.Parallel()
	want(t, "a", under(t, tools("t"), "conditions: {platforms: [darwin], requires_tools: [x], fallback_for_tools: [t], requires_env: [K]}"),
		"removed: requires_env K; requires_tools x; fallback_for_tools t; platforms darwin")
}
