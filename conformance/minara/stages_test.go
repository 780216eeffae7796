package minara

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/route"
)

// shows wants a stage to be in the set of a message.
func shows(t *testing.T, message string, stage route.Stage) {
	t.Helper()
	if got := says(t, one(), message).Stages; !got.Has(stage) {
		t.Errorf("%q has stages {%s}, not %s", message, got, stage)
	}
}

func TestMinara_ST01_WhatsTrendingDiscovers(t *testing.T) {
	t.Parallel()
	shows(t, "what's trending in DeFi", route.Discover)
}

func TestMinara_ST02_ShowMeDiscovers(t *testing.T) {
	t.Parallel()
	shows(t, "show me SOL", route.Discover)
}

func TestMinara_ST03_PriceOfDiscovers(t *testing.T) {
	t.Parallel()
	shows(t, "price of ETH", route.Discover)
}

func TestMinara_ST04_ShouldIEvaluates(t *testing.T) {
	t.Parallel()
	shows(t, "should I hold", route.Evaluate)
}

func TestMinara_ST05_AnalyzeEvaluates(t *testing.T) {
	t.Parallel()
	shows(t, "analyze this token", route.Evaluate)
}

func TestMinara_ST06_CompareEvaluates(t *testing.T) {
	t.Parallel()
	shows(t, "compare SOL and ETH", route.Evaluate)
}

func TestMinara_ST07_RiskEvaluates(t *testing.T) {
	t.Parallel()
	shows(t, "what risk is there", route.Evaluate)
}

func TestMinara_ST08_BuyDecides(t *testing.T) { t.Parallel(); shows(t, "buy 1 SOL", route.Decide) }

func TestMinara_ST09_SellDecides(t *testing.T) { t.Parallel(); shows(t, "sell half", route.Decide) }

func TestMinara_ST10_LongDecides(t *testing.T) { t.Parallel(); shows(t, "go long", route.Decide) }

func TestMinara_ST11_ShortDecides(t *testing.T) { t.Parallel(); shows(t, "open a short", route.Decide) }

func TestMinara_ST12_SwapDecides(t *testing.T) {
	t.Parallel()
	shows(t, "swap USDC to SOL", route.Decide)
}

func TestMinara_ST13_CloseManages(t *testing.T) { t.Parallel(); shows(t, "close it", route.Manage) }

func TestMinara_ST14_StopLossManages(t *testing.T) {
	t.Parallel()
	shows(t, "set a stop loss", route.Manage)
}

func TestMinara_ST15_MyPositionsManages(t *testing.T) {
	t.Parallel()
	shows(t, "my positions", route.Manage)
}

func TestMinara_ST16_SeveralStagesTheStrongestIsPrimary(t *testing.T) {
	t.Parallel()
	res := says(t, one(), "should I buy SOL")
	want(t, "stages", []any{res.Stages, res.Primary}, []any{"evaluate,decide", "decide"})
}

func TestMinara_ST17_NoTriggerNoStageNoPoints(t *testing.T) {
	t.Parallel()
	res := says(t, one("routing: {stages: [discover, evaluate, decide, manage]}"), "hello")
	want(t, "stages", []any{res.Stages.Names(), at(res, "a")}, []any{[]string{}, "0"})
	// Words that only deft's own table has are none here.
	want(t, "deploy", says(t, one(), "deploy and monitor it").Stages.Names(), []string{})
}

func TestMinara_ST18_ChineseWords(t *testing.T) {
	t.Parallel()
	for message, stage := range map[string]route.Stage{
		"我该不该留着": route.Evaluate, "帮我买一点": route.Decide, "马上平仓": route.Manage, "今天什么热门": route.Discover,
	} {
		shows(t, message, stage)
	}
}

func TestMinara_ST19_StagesOfASignalCount(t *testing.T) {
	t.Parallel()
	in := route.TurnRoutingContext{Message: "hello", Signal: &route.Signal{Source: "cron", SuggestedStages: []string{"evaluate"}}}
	want(t, "a", at(turn(t, one("routing: {stages: [evaluate]}"), in), "a"), "20 stage:evaluate")
}

func TestMinara_ST20_AnUnknownStageOfASignalIsRefused(t *testing.T) {
	t.Parallel()
	r, _ := route.Compile(snapshot(t, env(), from("", one())), options())
	_, err := r.Route(t.Context(), route.TurnRoutingContext{Signal: &route.Signal{Source: "cron", SuggestedStages: []string{"panic"}}})
	if !errors.Is(err, route.ErrContextInvalid) || !strings.Contains(err.Error(), `"panic"`) {
		t.Errorf("error is %v", err)
	}
	if _, err := route.ParseSignal([]byte(`{"source": "cron", "suggested_stages": ["panic"]}`)); err == nil {
		t.Error("the signal is taken")
	}
}

func TestMinara_ST21_ATradingSkillStartsInADiscoverTurn(t *testing.T) {
	t.Parallel()
	e := engine(t, folder(t, skills{"perps": text("perps", "id: perps.trade", "routing: {stages: [decide]}")}))
	want(t, "stages", routed(t, e, "show me SOL").Stages, "discover")
	_, prompt := activate(t, suitetest.Turn(t, e, "show me SOL"), "perps.trade")
	if !strings.Contains(prompt, "Body of perps.") {
		t.Errorf("the text is not in the prompt:\n%s", prompt)
	}
}

// kept keeps no decisions.
type kept struct{}

func (kept) Record(context.Context, gate.Row) error { return nil }

// decide asks a gate about a trading tool of a tier.
func decide(t *testing.T, o gate.Options, tier gate.Tier, c gate.Call) gate.Decision {
	t.Helper()
	table, err := gate.NewTable(gate.Tool{Name: "trade", Tier: tier, Schema: json.RawMessage(`{"type":"object"}`)})
	if err != nil {
		t.Fatal(err)
	}
	o.Tools, o.Audit, o.Answerable = table, kept{}, true
	g, err := gate.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.Session, c.Tool, c.Dir = "s", "trade", "/w"
	d, err := g.Check(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestMinara_ST22_AToolInADiscoverTurnOfAPersonIsAskedAbout(t *testing.T) {
	t.Parallel()
	for tier, code := range map[gate.Tier]string{gate.ConfirmOnce: gate.CodeFirstUse, gate.AlwaysConfirm: gate.CodeEachCall} {
		d := decide(t, gate.Options{}, tier, gate.Call{Origin: gate.Interactive, Stages: []string{"discover"}})
		want(t, tier.String(), []any{d.Verdict, d.Code}, []any{gate.Ask, code})
	}
}

func TestMinara_ST23_CronInADiscoverTurnIsDenied(t *testing.T) {
	t.Parallel()
	d := decide(t, gate.Options{}, gate.ConfirmOnce, gate.Call{Origin: gate.Cron, Stages: []string{"discover"}})
	want(t, "decision", []any{d.Verdict, d.Code}, []any{gate.Deny, gate.CodeStageDiscover})
}

func TestMinara_ST24_CronWithoutStagesIsDenied(t *testing.T) {
	t.Parallel()
	d := decide(t, gate.Options{}, gate.ConfirmOnce, gate.Call{Origin: gate.Cron})
	want(t, "decision", []any{d.Verdict, d.Code}, []any{gate.Deny, gate.CodeStageDiscover})
}

func TestMinara_ST25_ALaterStageIsNotDeniedForItsStage(t *testing.T) {
	t.Parallel()
	d := decide(t, gate.Options{}, gate.ConfirmOnce, gate.Call{Origin: gate.Cron, Stages: []string{"discover", "decide"}})
	want(t, "code", d.Code, gate.CodeNoGrant)
}

func TestMinara_ST26_StrictStagesBoundAPersonsTurn(t *testing.T) {
	t.Parallel()
	strict := gate.Options{StrictStages: true}
	d := decide(t, strict, gate.AlwaysConfirm, gate.Call{Origin: gate.Interactive, Stages: []string{"discover"}})
	want(t, "discover", []any{d.Verdict, d.Code}, []any{gate.Deny, gate.CodeStageCeiling})
	d = decide(t, strict, gate.AlwaysConfirm, gate.Call{Origin: gate.Interactive, Stages: []string{"discover", "decide"}})
	want(t, "decide", []any{d.Verdict, d.Code}, []any{gate.Ask, gate.CodeEachCall})
}
