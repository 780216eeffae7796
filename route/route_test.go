package route

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// nameSet is a skill.Names of the test's own.
type nameSet []string

func (n nameSet) Has(s string) bool { return slices.Contains(n, s) }
func (n nameSet) Digest() (d [32]byte) {
	copy(d[:], strings.Join(n, ","))
	return d
}

func record(name string, edit ...func(*skill.Skill)) *registry.Record {
	s := &skill.Skill{Name: name, Key: name, Valid: true, Description: "Does " + name + "."}
	s.Meta.Priority = 50
	for _, e := range edit {
		e(s)
	}
	return &registry.Record{
		Entry: &source.Entry{Skill: s, Location: "mem:///" + name}, State: registry.Available, Address: name,
	}
}

func keywords(k ...string) func(*skill.Skill) {
	return func(s *skill.Skill) { routing(s).Keywords = k }
}

func routing(s *skill.Skill) *skill.Routing {
	if s.Meta.Routing == nil {
		s.Meta.Routing = &skill.Routing{}
	}
	return s.Meta.Routing
}

func snapshot(recs ...*registry.Record) *registry.Snapshot {
	return &registry.Snapshot{Winners: recs, All: recs}
}

func routed(t testing.TB, snap *registry.Snapshot, in TurnRoutingContext, opt Options) Result {
	t.Helper()
	r, _ := Compile(snap, opt)
	res, err := r.Route(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// lines shows hits as "name score reasons".
func lines(res Result) []string {
	out := []string{}
	for _, e := range res.Hits {
		out = append(out, fmt.Sprintf("%s %d %s", e.Name, e.Score, strings.Join(e.Reasons, " ")))
	}
	return out
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEachSignalHasItsPoints(t *testing.T) {
	t.Parallel()
	snap := snapshot(
		record("all", keywords("Buy", "token swap", "swap", "never", "BTC"), func(s *skill.Skill) {
			r := routing(s)
			r.Stages, r.AssetClasses, r.SignalSources = []string{"decide"}, []string{"Crypto"}, []string{"cron"}
		}),
		record("friend", keywords("x"), func(s *skill.Skill) { routing(s).CoActivate = []string{"all"}; routing(s).Stages = []string{"decide"} }),
		record("idle", keywords("y")),
	)
	in := TurnRoutingContext{
		Message: "buy BTC by a token swap", Assets: []Asset{{"BTC", "crypto"}}, Signal: &Signal{Source: "cron"},
		Retrieved: []Retrieved{{Address: "idle", Score: 7, Coverage: 90}, {Address: "all", Score: 7, Coverage: 90}},
	}
	res := routed(t, snap, in, Options{})
	expect(t, lines(res),
		"all 170 kw:Buy kw:token swap kw:+2 stage:decide asset:crypto signal:cron co:friend retrieve:40",
		"idle 40 retrieve:40",
		"friend 20 stage:decide")
	if res.Stages != Stages(Decide) || res.Primary != Decide || res.Fit != FitStrong || !slices.Contains(res.Triggers, "decide:buy") {
		t.Errorf("stages %v, fit %s, triggers %v", res.Stages, res.Fit, res.Triggers)
	}
	if w, ok := res.ClearWinner(); !ok || w.Name != "all" {
		t.Errorf("winner is %v, %v", w.Name, ok)
	}
	in.Retrieved = nil
	expect(t, lines(routed(t, snap, in, Options{}))[:1], "all 130 kw:Buy kw:token swap kw:+2 stage:decide asset:crypto signal:cron co:friend")
}

func TestKeywordsThatAreAlikeCountOnce(t *testing.T) {
	t.Parallel()
	res := routed(t, snapshot(record("a", keywords("Stop-Loss", "stop loss", "ＳＴＯＰ LOSS"))), TurnRoutingContext{Message: "stop loss stop loss"}, Options{})
	expect(t, lines(res), "a 30 kw:Stop-Loss")
}

func TestANegativeKeywordRemoves(t *testing.T) {
	t.Parallel()
	snap := snapshot(record("a", keywords("deploy"), func(s *skill.Skill) {
		routing(s).NegativeKeywords = []string{"dry run"}
		routing(s).CoActivate = []string{"b"}
	}), record("b", keywords("q"), func(s *skill.Skill) { routing(s).CoActivate = []string{"a"} }))
	in := TurnRoutingContext{Message: "deploy, but dry-run q", Retrieved: []Retrieved{{Address: "a", Score: 9, Coverage: 99}}}
	res := routed(t, snap, in, Options{})
	expect(t, lines(res), "b 30 kw:q")
	hidden := slices.Collect(res.Hidden())
	if len(hidden) != 1 || hidden[0].Code != "negative_keyword" || hidden[0].Detail != "dry run" || res.Removed != 1 {
		t.Errorf("hidden is %+v", hidden)
	}
	for e := range res.All() {
		if e.Name == "a" {
			t.Error("a removed skill is listed")
		}
	}
}

func TestConditionsHideAndExplain(t *testing.T) {
	t.Parallel()
	snap := snapshot(record("a", keywords("deploy"), func(s *skill.Skill) {
		s.Meta.Conditions = &skill.Conditions{RequiresEnv: []string{"KEY", "TOKEN"}, Platforms: []string{"darwin"}}
	}), record("b", keywords("deploy")))
	r, _ := Compile(snap, Options{})
	res, _ := r.Route(context.Background(), TurnRoutingContext{Message: "deploy", Env: skill.Environment{OS: "linux", Vars: nameSet{"KEY"}}})
	expect(t, lines(res), "b 30 kw:deploy")
	got := []string{}
	for h := range res.Hidden() {
		got = append(got, h.Name+" "+h.Code+" "+h.Detail)
	}
	expect(t, got, "a requires_env TOKEN", "a platforms darwin")
	for range 2 { // the second time from the cache
		res, _ = r.Route(context.Background(), TurnRoutingContext{Message: "deploy", Env: skill.Environment{OS: "darwin", Vars: nameSet{"KEY", "TOKEN"}}})
		expect(t, lines(res), "a 30 kw:deploy", "b 30 kw:deploy")
	}
}

func TestOnlyWhatAModelMaySeeIsRouted(t *testing.T) {
	t.Parallel()
	manual, off := record("manual", func(s *skill.Skill) { s.Meta.DisableModelInvocation = true }), record("off")
	off.State = registry.Disabled
	unmet := record("unmet", keywords("manual"))
	unmet.State, unmet.Reasons = registry.Unmet, []registry.Reason{{Code: "unmet", Message: "needs KEY"}}
	res := routed(t, snapshot(manual, off, unmet), TurnRoutingContext{Message: "manual off"}, Options{})
	if res.Total != 1 || len(res.Hits) != 0 || res.Fit != FitNone || res.Removed != 1 {
		t.Errorf("result is %+v", res)
	}
}

func TestCoActivationIsOneStepFromOwnPoints(t *testing.T) {
	t.Parallel()
	to := func(ids ...string) func(*skill.Skill) {
		return func(s *skill.Skill) { routing(s).CoActivate = ids }
	}
	snap := snapshot(
		record("a", keywords("go"), to("b", "a")), record("b", keywords("zz"), to("c")), record("c", keywords("zz")),
		record("d", keywords("zz"), to("c")), record("e", keywords("go", "now"), to("b")))
	res := routed(t, snap, TurnRoutingContext{
		Message: "go now", Preload: []Preload{{"d", "host"}}, Retrieved: []Retrieved{{Address: "d", Score: 1, Coverage: 90}},
	}, Options{})
	expect(t, lines(res), "d 40 retrieve:40 preload:host", "e 60 kw:go kw:now", "a 30 kw:go", "b 10 co:e")
}

func TestTiesGoByPriorityThenID(t *testing.T) {
	t.Parallel()
	prio := func(p uint8) func(*skill.Skill) { return func(s *skill.Skill) { s.Meta.Priority = p } }
	snap := snapshot(record("c", keywords("x"), prio(10)), record("b", keywords("x")), record("a", keywords("x")), record("d", keywords("none"), prio(0)))
	res := routed(t, snap, TurnRoutingContext{Message: "x"}, Options{})
	expect(t, lines(res), "c 30 kw:x", "a 30 kw:x", "b 30 kw:x")
	all := []string{}
	for e := range res.All() {
		all = append(all, e.Name)
	}
	expect(t, all, "c", "a", "b", "d")
	res = routed(t, snap, TurnRoutingContext{Message: "x"}, Options{Fallback: Additive, MaxEntries: 1})
	expect(t, lines(res), "c 120 kw:x")
	if res.Omitted != 3 {
		t.Errorf("%d entries were cut, want 3", res.Omitted)
	}
}

func TestRetrievalIsBounded(t *testing.T) {
	t.Parallel()
	recs := []*registry.Record{record("kw", keywords("one", "two"))}
	in := TurnRoutingContext{Message: "one two"}
	for i := range 25 {
		name := fmt.Sprintf("r%02d", i)
		recs = append(recs, record(name, keywords("zz")))
		in.Retrieved = append(in.Retrieved, Retrieved{Address: name, Score: int64(100 - i*4), Coverage: 60})
	}
	in.Retrieved[1].Coverage = 29 // too little, and no evidence
	res := routed(t, snapshot(recs...), in, Options{})
	if got := lines(res); len(got) != 20 || got[0] != "kw 60 kw:one kw:two" || got[1] != "r00 40 retrieve:40" || got[2] != "r02 36 retrieve:36" {
		t.Errorf("hits are %q", got)
	}
	if got := lines(routed(t, snapshot(recs...), in, Options{NoRetrieve: true})); len(got) != 1 {
		t.Errorf("without retrieval hits are %q", got)
	}
}

func TestANameSaysLessThanTheText(t *testing.T) {
	t.Parallel()
	snap := snapshot(record("pdf"), record("ocr"), record("pdf-forms"))
	in := TurnRoutingContext{Message: "read the scan as a pdf, no pdf forms"}
	expect(t, lines(routed(t, snap, in, Options{})), "pdf 10 kw:pdf", "pdf-forms 10 kw:pdf forms")
	in.Retrieved = []Retrieved{{"ocr", 100, 60, 60, 150}, {"pdf", 50, 60, 30, 70}}
	expect(t, lines(routed(t, snap, in, Options{})), "ocr 40 retrieve:40", "pdf 30 kw:pdf retrieve:20", "pdf-forms 10 kw:pdf forms")
	slices.Reverse(in.Retrieved)
	in.Retrieved[0].Score = 101
	expect(t, lines(routed(t, snap, in, Options{}))[:1], "pdf 50 kw:pdf retrieve:40")
}

func TestTheWinnerMustBeClear(t *testing.T) {
	t.Parallel()
	snap := snapshot(record("git-log"), record("weather"), record("news", keywords("news")))
	for _, tt := range []struct {
		what string
		in   TurnRoutingContext
		fit  Fit
		want string
	}{
		{"nothing", TurnRoutingContext{Message: "hello"}, FitNone, ""},
		{"a declared keyword", TurnRoutingContext{Message: "the news"}, FitStrong, "news"},
		{"only its own name", TurnRoutingContext{Message: "the weather"}, FitWeak, ""},
		{"much evidence", TurnRoutingContext{Retrieved: []Retrieved{{"weather", 90, 20, 30, 150}, {"news", 50, 20, 3, 80}}}, FitStrong, "weather"},
		{"a short request answered", TurnRoutingContext{Retrieved: []Retrieved{{"weather", 90, 90, 80, 75}}}, FitStrong, "weather"},
		{"little evidence", TurnRoutingContext{Retrieved: []Retrieved{{"weather", 90, 90, 10, 30}}}, FitWeak, ""},
		{"two alike", TurnRoutingContext{Retrieved: []Retrieved{{"weather", 90, 90, 60, 200}, {"news", 89, 90, 60, 200}}}, FitStrong, ""},
		{"words of any conversation", TurnRoutingContext{Retrieved: []Retrieved{{"weather", 90, 100, 90, 40}}}, FitWeak, ""},
		{"the evidence is another's", TurnRoutingContext{Retrieved: []Retrieved{{"weather", 90, 90, 20, 70}, {"news", 80, 90, 60, 200}}}, FitStrong, ""},
		{"coverage alone", TurnRoutingContext{Retrieved: []Retrieved{{Address: "weather", Score: 90, Coverage: 50}}}, FitStrong, "weather"},
		{"a preload is no evidence", TurnRoutingContext{Preload: []Preload{{"weather", "user"}}}, FitNone, ""},
	} {
		res := routed(t, snap, tt.in, Options{})
		w, ok := res.ClearWinner()
		if res.Fit != tt.fit || w.Name != tt.want || ok == res.Abstain() {
			t.Errorf("%s: fit %s, winner %q, abstain %v", tt.what, res.Fit, w.Name, res.Abstain())
		}
	}
}

func TestStagesAreInferredInEveryLanguage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"what's trending": "discover", "Should I buy?": "evaluate,decide", "帮我看看行情，要不要买": "discover,evaluate,decide",
		"roll-back the release": "decide,manage", "asterisk": "", "监控风险": "evaluate,manage",
	} {
		if got := routed(t, snapshot(), TurnRoutingContext{Message: text}, Options{}).Stages.String(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	strict := routed(t, snapshot(record("m", func(s *skill.Skill) { routing(s).Stages = []string{"manage"} }), record("n")),
		TurnRoutingContext{Message: "find"}, Options{StrictStage: true})
	if h := slices.Collect(strict.Hidden()); len(h) != 1 || h[0].Code != "stage" || h[0].Name != "m" {
		t.Errorf("hidden is %+v", h)
	}
}

func TestAnUnknownSuggestedStageIsRefused(t *testing.T) {
	t.Parallel()
	r, _ := Compile(snapshot(), Options{})
	_, err := r.Route(context.Background(), TurnRoutingContext{Signal: &Signal{SuggestedStages: []string{"panic"}}})
	if !errors.Is(err, ErrContextInvalid) || !strings.Contains(err.Error(), "panic") {
		t.Errorf("error is %v", err)
	}
}

func TestBadRoutingDataIsADiagnostic(t *testing.T) {
	t.Parallel()
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprint("k", i)
	}
	_, diags := Compile(snapshot(
		record("a", keywords(" ", "x", strings.Repeat("y", 600)), func(s *skill.Skill) {
			routing(s).NegativeKeywords, routing(s).CoActivate = []string{"X"}, []string{"nobody"}
		}), record("b", keywords(many...))), Options{})
	got := []string{}
	for _, d := range diags {
		got = append(got, d.Code)
	}
	expect(t, got, "keyword_empty", "value_range", "keyword_negated", "value_range", "co_activate_unknown")
}

func TestTriggerTablesAreCheckedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"{\n\"version\": 2, \"lang\": \"de\"}":                                      "t.json:2: trigger table has version 2, want 1",
		"{\"version\": 1, \"lang\": \"de\",\n\"stages\": {\n\"panic\": [\"los\"]}}": `t.json:3: trigger table has unknown stage "panic"`,
		"{\n\n]": "t.json:3: trigger table: invalid character ']'",
	} {
		if _, err := DefaultTriggers().With("t.json", []byte(src)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
	de, err := DefaultTriggers().With("t.json", []byte(`{"version":1,"lang":"de","stages":{"decide":["kaufe"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := routed(t, snapshot(), TurnRoutingContext{Message: "Kaufe das, find it"}, Options{Triggers: de}).Stages.String(); got != "discover,decide" {
		t.Errorf("stages are %s", got)
	}
}

func TestExplainNamesEverySignal(t *testing.T) {
	t.Parallel()
	r, _ := Compile(snapshot(record("a", keywords("short", "other")), record("b-two")), Options{})
	ex := r.Explain(TurnRoutingContext{Message: "see you shortly"}, "a")
	if !ex.Known || ex.Rank != 1 || ex.Of != 2 || ex.Rows[2].Detail != `none of 2 hit; "short" stands inside "shortly"` {
		t.Errorf("explanation is %+v", ex)
	}
	if ex := r.Explain(TurnRoutingContext{}, "B two"); ex.Address != "b-two" {
		t.Errorf("explanation by name is %+v", ex)
	}
	if ex := r.Explain(TurnRoutingContext{}, "b-tow"); ex.Known || !slices.Equal(ex.Similar, []string{"b-two"}) {
		t.Errorf("explanation of an unknown name is %+v", ex)
	}
}

func TestEqualInputGivesEqualBytes(t *testing.T) {
	t.Parallel()
	words := strings.Fields("buy sell swap risk review deploy monitor 买 风险 token stop-loss")
	rnd := rand.New(rand.NewPCG(3, 4))
	pick := func() string { return words[rnd.IntN(len(words))] }
	var recs []*registry.Record
	for i := range 40 {
		recs = append(recs, record(fmt.Sprintf("s%02d", i), keywords(pick(), pick()), func(s *skill.Skill) {
			s.Meta.Priority = uint8(rnd.IntN(3) * 50)
			routing(s).CoActivate = []string{fmt.Sprintf("s%02d", rnd.IntN(40))}
			if i%5 == 0 {
				routing(s).NegativeKeywords = []string{pick()}
			}
		}))
	}
	for range 300 {
		in := TurnRoutingContext{Message: strings.Join([]string{pick(), pick(), pick()}, " ")}
		for range rnd.IntN(5) {
			in.Retrieved = append(in.Retrieved, Retrieved{Address: fmt.Sprintf("s%02d", rnd.IntN(40)), Score: rnd.Int64N(1000), Coverage: rnd.IntN(100)})
		}
		want := bytesOf(t, snapshot(recs...), in)
		rnd.Shuffle(len(recs), func(i, j int) { recs[i], recs[j] = recs[j], recs[i] })
		if got := bytesOf(t, snapshot(recs...), in); got != want {
			t.Fatalf("%+v gives\n%s\nthen\n%s", in, want, got)
		}
	}
}

func bytesOf(t *testing.T, snap *registry.Snapshot, in TurnRoutingContext) string {
	res := routed(t, snap, in, Options{})
	var b strings.Builder
	for _, v := range []any{res, slices.Collect(res.All()), slices.Collect(res.Hidden()), res.Abstain()} {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(out)
	}
	return b.String()
}
