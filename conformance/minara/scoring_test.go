package minara

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
)

func TestMinara_RT01_OneKeywordGives30(t *testing.T) {
	t.Parallel()
	want(t, "a", at(says(t, one(keywords("buy")), "buy it"), "a"), "30 kw:buy")
}

func TestMinara_RT02_TwoKeywordsGive60(t *testing.T) {
	t.Parallel()
	want(t, "a", at(says(t, one(keywords("buy, sol")), "buy sol"), "a"), "60 kw:buy kw:sol")
}

func TestMinara_RT03_ThreeKeywordsGive60(t *testing.T) {
	t.Parallel()
	res := says(t, one(keywords("buy, sol, now")), "buy sol now")
	want(t, "score", res.Hits[0].Score, 60)
}

func TestMinara_RT04_TwoKeywordsAreNamedTheRestIsANumber(t *testing.T) {
	t.Parallel()
	want(t, "a", at(says(t, one(keywords("buy, sol, now")), "now sol buy"), "a"), "60 kw:buy kw:sol kw:+1")
}

func TestMinara_RT05_AWordTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	want(t, "a", at(says(t, one(keywords("buy")), "buy, buy, buy"), "a"), "30 kw:buy")
}

func TestMinara_RT06_KeywordsThatAreAlikeCountOnce(t *testing.T) {
	t.Parallel()
	want(t, "a", at(says(t, one(keywords("Buy, buy")), "buy"), "a"), "30 kw:Buy")
}

func TestMinara_RT07_AStageGives20(t *testing.T) {
	t.Parallel()
	want(t, "a", at(says(t, one("routing: {stages: [decide]}"), "buy it"), "a"), "20 stage:decide")
}

func TestMinara_RT08_TwoStagesGive20AndTheStrongerIsNamed(t *testing.T) {
	t.Parallel()
	want(t, "a", at(says(t, one("routing: {stages: [evaluate, decide]}"), "should i buy"), "a"), "20 stage:decide")
}

const major = "routing: {asset_classes: [crypto_major, stable]}"

func TestMinara_RT09_AnAssetClassGives15(t *testing.T) {
	t.Parallel()
	in := route.TurnRoutingContext{Assets: []route.Asset{{Symbol: "BTC", Class: "crypto_major"}}}
	want(t, "a", at(turn(t, one(major), in), "a"), "15 asset:crypto_major")
}

func TestMinara_RT10_TwoAssetsGive15(t *testing.T) {
	t.Parallel()
	in := route.TurnRoutingContext{Assets: []route.Asset{{Symbol: "X", Class: "none"}, {Symbol: "BTC", Class: "crypto_major"}, {Symbol: "USDC", Class: "stable"}}}
	want(t, "a", at(turn(t, one(major), in), "a"), "15 asset:crypto_major")
}

func TestMinara_RT11_TheAssetOfASignalGives15(t *testing.T) {
	t.Parallel()
	in := route.TurnRoutingContext{Signal: &route.Signal{Source: "event", Asset: &route.Asset{Symbol: "BTC", Class: "crypto_major"}}}
	want(t, "a", at(turn(t, one(major), in), "a"), "15 asset:crypto_major")
}

const onCron = "routing: {signal_sources: [cron]}"

func TestMinara_RT12_ADeclaredSignalSourceGives25(t *testing.T) {
	t.Parallel()
	want(t, "a", at(turn(t, one(onCron), route.TurnRoutingContext{Signal: &route.Signal{Source: "cron"}}), "a"), "25 signal:cron")
}

func TestMinara_RT13_AnInteractiveTurnHasNoSignalPoints(t *testing.T) {
	t.Parallel()
	want(t, "a", at(says(t, one(onCron), "cron"), "a"), "0")
}

func TestMinara_RT14_AWebhookGives25(t *testing.T) {
	t.Parallel()
	in := route.TurnRoutingContext{Signal: &route.Signal{Source: "webhook"}}
	want(t, "a", at(turn(t, one("routing: {signal_sources: [webhook]}"), in), "a"), "25 signal:webhook")
}

func TestMinara_RT15_AnUndeclaredSourceGivesNothing(t *testing.T) {
	t.Parallel()
	in := route.TurnRoutingContext{Signal: &route.Signal{Source: "webhook"}}
	s := abc(onCron, "", "")
	res := turn(t, s, in)
	want(t, "another source", at(res, "a"), "0")
	want(t, "no declaration", at(res, "b"), "0")
}

func TestMinara_RT16_CoActivationGives10(t *testing.T) {
	t.Parallel()
	want(t, "b", at(says(t, abc(keywords("buy")+"\nco_activate: [b]", "", ""), "buy"), "b"), "10 co:a")
}

func TestMinara_RT17_ASourceWithoutPointsGivesNothing(t *testing.T) {
	t.Parallel()
	want(t, "b", at(says(t, abc(keywords("buy")+"\nco_activate: [b]", "", ""), "hello"), "b"), "0")
}

func TestMinara_RT18_TwoSourcesGive10Once(t *testing.T) {
	t.Parallel()
	s := abc(keywords("buy")+"\nco_activate: [b]", "", keywords("buy, sol")+"\nco_activate: [b]")
	want(t, "b", at(says(t, s, "buy sol"), "b"), "10 co:c")
}

func TestMinara_RT19_CoActivationIsOneStep(t *testing.T) {
	t.Parallel()
	res := says(t, abc(keywords("buy")+"\nco_activate: [b]", "co_activate: [c]", ""), "buy")
	want(t, "b", at(res, "b"), "10 co:a")
	want(t, "c", at(res, "c"), "0")
}

func TestMinara_RT20_ASkillDoesNotActivateItself(t *testing.T) {
	t.Parallel()
	want(t, "a", at(says(t, one(keywords("buy"), "co_activate: [a]"), "buy"), "a"), "30 kw:buy")
}

func TestMinara_RT21_CoActivationRevivesNobody(t *testing.T) {
	t.Parallel()
	s := abc(keywords("buy")+"\nco_activate: [b, c]", "requires_env: [KEY]", "routing: {negative_keywords: [sol]}")
	res := says(t, s, "buy sol")
	want(t, "b", at(res, "b"), "removed: requires_env KEY")
	want(t, "c", at(res, "c"), "removed: negative_keyword sol")
}

func TestMinara_RT22_AnUnknownTargetIsIgnoredAndLintSaysSo(t *testing.T) {
	t.Parallel()
	s := one(keywords("buy"), "co_activate: [nobody]")
	want(t, "a", at(says(t, s, "buy"), "a"), "30 kw:buy")
	want(t, "lint", finding(lint(t, s["a"], skill.LintOptions{IDs: skill.NewNameSet("a")}), "co_activate_unknown"), "error")
	_, diags := route.Compile(snapshot(t, env(), from("", s)), options())
	want(t, "compile", finding(diags, "co_activate_unknown"), "warning")
}

func TestMinara_RT23_ARemovedSourceGivesNothing(t *testing.T) {
	t.Parallel()
	s := abc("requires_env: [KEY]\n"+keywords("buy")+"\nco_activate: [b]", "", "routing: {keywords: [buy], negative_keywords: [buy]}\nco_activate: [b]")
	want(t, "b", at(says(t, s, "buy"), "b"), "0")
}

// whole is a skill that a turn can give everything to.
const whole = `routing: {keywords: [buy, sol, now], stages: [decide], asset_classes: [crypto_major], signal_sources: [cron]}`

func all() route.TurnRoutingContext {
	return route.TurnRoutingContext{
		Message: "buy sol now", Assets: []route.Asset{{Symbol: "SOL", Class: "crypto_major"}}, Signal: &route.Signal{Source: "cron"},
	}
}

func TestMinara_RT24_TheMostIs130(t *testing.T) {
	t.Parallel()
	want(t, "score", turn(t, abc(whole, keywords("buy")+"\nco_activate: [a]", ""), all()).Hits[0].Score, 130)
}

func TestMinara_RT25_ReasonsOfABuyingTurn(t *testing.T) {
	t.Parallel()
	res := says(t, one("routing: {keywords: [buy], stages: [decide]}"), "buy it")
	want(t, "reasons", fmt.Sprintf("%q", res.Hits[0].Reasons), `["kw:buy" "stage:decide"]`)
}

func TestMinara_RT26_TheOrderOfReasons(t *testing.T) {
	t.Parallel()
	in := all()
	in.Preload = []route.Preload{{Address: addressOf(t, abc(whole, "", ""), "a"), By: "signal"}}
	want(t, "a", at(turn(t, abc(whole, keywords("buy")+"\nco_activate: [a]", ""), in), "a"),
		"130 kw:buy kw:sol kw:+1 stage:decide asset:crypto_major signal:cron co:b preload:signal")
}

func addressOf(t *testing.T, s skills, name string) string {
	t.Helper()
	rec, err := snapshot(t, env(), from("", s)).Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return rec.Address
}

func TestMinara_RT35_EqualInputGivesEqualBytes(t *testing.T) {
	t.Parallel()
	s := abc(whole, keywords("buy")+"\nco_activate: [a]", "")
	want(t, "bytes", document(t, turn(t, s, all())), document(t, turn(t, s, all())))
}

func document(t *testing.T, res route.Result) string {
	t.Helper()
	out, err := json.Marshal([]any{res, slices.Collect(res.All()), slices.Collect(res.Hidden())})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestMinara_RT36_TheOrderOfRegistrationHasNoInfluence(t *testing.T) {
	t.Parallel()
	s := skills{}
	for i := range 30 {
		name := fmt.Sprintf("s%02d", i)
		s[name] = text(name, keywords(fmt.Sprintf("w%d, buy", i%4)), fmt.Sprintf("co_activate: [s%02d]", (i*7)%30), fmt.Sprintf("priority: %d", i%3))
	}
	snap := snapshot(t, env(), from("", s))
	rnd := rand.New(rand.NewPCG(1, 2))
	first := ""
	for range 100 {
		rnd.Shuffle(len(snap.Winners), func(i, j int) { snap.Winners[i], snap.Winners[j] = snap.Winners[j], snap.Winners[i] })
		r, _ := route.Compile(snap, options())
		res, err := r.Route(context.Background(), route.TurnRoutingContext{Message: "buy w1 w2", Env: env()})
		if err != nil {
			t.Fatal(err)
		}
		if got := document(t, res); first == "" {
			first = got
		} else if got != first {
			t.Fatalf("got\n%s\nwant\n%s", got, first)
		}
	}
}

// The router is a function of its input: it is given no model and no connection.
func TestMinara_RT37_TheRouterNeedsNoModel(t *testing.T) {
	t.Parallel()
	want(t, "a", at(says(t, one(keywords("buy")), "buy"), "a"), "30 kw:buy")
}

func TestMinara_RT43_RetrievedHitsDoNotCount(t *testing.T) {
	t.Parallel()
	s := one(keywords("buy"))
	in := route.TurnRoutingContext{Message: "hello", Retrieved: []route.Retrieved{{Address: addressOf(t, s, "a"), Score: 9, Coverage: 100, Share: 100, Evidence: 200}}}
	want(t, "a", at(turn(t, s, in), "a"), "0")
}
