package route

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// names lists what All yields, with scores.
func names(res Result) []string {
	out := []string{}
	for e := range res.All() {
		out = append(out, fmt.Sprintf("%s %d", e.Name, e.Score))
	}
	return out
}

func prio(p uint8) func(*skill.Skill) { return func(s *skill.Skill) { s.Meta.Priority = p } }

func TestAdditivePrioritiesTakePartInTheWholeOrder(t *testing.T) {
	t.Parallel()
	snap := snapshot(
		record("strong", keywords("none"), prio(0)), record("hit", keywords("x")), record("late", keywords("x"), prio(99)),
		record("even", keywords("none"), prio(20)), record("weak", keywords("none"), prio(100)))
	in := TurnRoutingContext{Message: "x"}
	expect(t, names(routed(t, snap, in, Options{Fallback: Additive})), "strong 100", "even 80", "hit 80", "late 31", "weak 0")
	expect(t, names(routed(t, snap, in, Options{})), "hit 30", "late 30", "strong 0", "even 0", "weak 0")
	res := routed(t, snap, in, Options{Fallback: Additive, MaxEntries: 2})
	expect(t, names(res), "strong 100", "even 80")
	if res.Omitted != 3 {
		t.Errorf("%d are omitted", res.Omitted)
	}
}

func TestMaxEntriesBoundsTheListButNoPreload(t *testing.T) {
	t.Parallel()
	snap := snapshot(record("a", keywords("x")), record("b", keywords("x")), record("c", keywords("y")), record("d", keywords("y")))
	in := TurnRoutingContext{Message: "x", Preload: []Preload{{"d", "user"}}, Loaded: []string{"c", "a"}}
	res := routed(t, snap, in, Options{MaxEntries: 2})
	expect(t, names(res), "d 0", "a 30")
	if res.Omitted != 2 {
		t.Errorf("%d are omitted", res.Omitted)
	}
	res = routed(t, snap, in, Options{MaxEntries: 2, ScoreOrder: true})
	expect(t, names(res), "a 30", "b 30", "d 0")
	if res.Omitted != 1 {
		t.Errorf("%d are omitted", res.Omitted)
	}
	res = routed(t, snap, in, Options{MaxEntries: 3})
	expect(t, names(res), "d 0", "a 30", "b 30")
	loaded := []string{}
	for e := range routed(t, snap, in, Options{}).All() {
		if e.Loaded {
			loaded = append(loaded, e.Name)
		}
	}
	expect(t, loaded, "a", "c")
}

func TestAPreloadDoesNotReviveARemovedSkill(t *testing.T) {
	t.Parallel()
	snap := snapshot(record("a", keywords("x"), func(s *skill.Skill) { routing(s).NegativeKeywords = []string{"never", "no"} }))
	res := routed(t, snap, TurnRoutingContext{Message: "x, no never", Preload: []Preload{{"a", "user"}}}, Options{})
	if h := slices.Collect(res.Hidden()); len(res.Hits) != 0 || len(names(res)) != 0 || h[0].Detail != "never" {
		t.Errorf("hits %v, hidden %v", res.Hits, h)
	}
}

func TestTheReasonNamesTheFirstSourceInTheFinalOrder(t *testing.T) {
	t.Parallel()
	to := func(ids ...string) func(*skill.Skill) {
		return func(s *skill.Skill) { routing(s).CoActivate = ids }
	}
	snap := snapshot(record("a", keywords("x"), to("z")), record("b", keywords("x"), to("z")), record("c", keywords("x"), to("b")), record("z", keywords("q")))
	expect(t, lines(routed(t, snap, TurnRoutingContext{Message: "x"}, Options{})),
		"b 40 kw:x co:c", "a 30 kw:x", "c 30 kw:x", "z 10 co:b")
}

func TestEveryDialectHasItsRules(t *testing.T) {
	t.Parallel()
	all := []skill.Dialect{skill.Deft, skill.MiniMax, skill.Minara, skill.Blade, skill.Mastra, skill.AgentSkills, skill.ClaudeCode, skill.Codex}
	for _, d := range all {
		o := DialectOptions(d)
		if plain := d == skill.Deft; o.NoImplicitKeywords == plain || o.NoConditions != (!plain && d != skill.Minara) {
			t.Errorf("%s: %+v", d, o)
		}
		if retrieves := d == skill.Deft || d == skill.ClaudeCode || d == skill.Codex; o.NoRetrieve == retrieves {
			t.Errorf("%s: %+v", d, o)
		}
	}
	full, pinned := DefaultTriggers(), DialectOptions(skill.Minara).Triggers
	for i, table := range pinned.langs {
		for st, words := range table.words {
			if got := full.langs[i].words[st][:len(words)]; full.langs[i].lang != table.lang || !slices.Equal(got, words) {
				t.Errorf("%s, %s: %q does not begin with %q", table.lang, Stage(st), got, words)
			}
		}
	}
	snap := snapshot(record("deploy", func(s *skill.Skill) { s.Meta.Conditions = &skill.Conditions{RequiresTools: []string{"t"}} }))
	in := TurnRoutingContext{Message: "deploy"}
	if res := routed(t, snap, in, DialectOptions(skill.Mastra)); res.Removed != 0 || len(res.Hits) != 0 {
		t.Errorf("mastra: %+v", res)
	}
	if res := routed(t, snap, in, Options{}); res.Removed != 1 {
		t.Errorf("deft: %+v", res)
	}
}

func TestAnUnchangedSetOfKeywordsKeepsTheAutomaton(t *testing.T) {
	t.Parallel()
	first, _ := Compile(snapshot(record("a", keywords("x")), record("b", keywords("y"))), Options{})
	second, _ := first.Next(snapshot(record("b", keywords("x")), record("c", keywords("y"), prio(1))))
	if second.machine != first.machine {
		t.Error("the automaton was built anew")
	}
	third, _ := second.Next(snapshot(record("b", keywords("x", "z"))))
	if third.machine == first.machine {
		t.Error("the automaton knows no new keyword")
	}
	res, err := second.Route(t.Context(), TurnRoutingContext{Message: "y"})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, lines(res), "c 30 kw:y")
}

func TestTooManyKeywordsCostTheLastSkillsTheirs(t *testing.T) {
	t.Parallel()
	recs := []*registry.Record{
		record("b", keywords("two", "one")), record("a", keywords("one", "three")), record("c", keywords("four", "one")),
		record("d", keywords("one")), record("first", keywords("five"), prio(1)),
	}
	for range 2 {
		r, diags := compile(snapshot(recs...), Options{}, nil, 4)
		if len(diags) != 1 || diags[0].Code != "route_limit_patterns" || !strings.HasPrefix(diags[0].Message, "more than 4 distinct keywords: 1 skills") {
			t.Errorf("diagnostics are %+v", diags)
		}
		res, _ := r.Route(t.Context(), TurnRoutingContext{Message: "one two three four five find"})
		expect(t, lines(res), "a 60 kw:one kw:three", "b 60 kw:two kw:one", "first 30 kw:five", "d 30 kw:one")
		if res.Stages != Stages(Discover) {
			t.Errorf("stages are %v", res.Stages)
		}
		slices.Reverse(recs)
	}
}

// counted is a host's set that counts the questions.
type counted struct {
	nameSet
	asked map[string]int
}

func (c counted) Has(s string) bool {
	c.asked[s]++
	return c.nameSet.Has(s)
}

func TestAHostIsAskedOnceAboutAName(t *testing.T) {
	t.Parallel()
	var recs []*registry.Record
	for i := range 20 {
		recs = append(recs, record(fmt.Sprint("s", i), func(s *skill.Skill) {
			s.Meta.Conditions = &skill.Conditions{RequiresBins: []string{"git", fmt.Sprint("p", i%2)}}
		}))
	}
	bins := counted{nameSet{"git", "p0"}, map[string]int{}}
	in := TurnRoutingContext{Env: skill.Environment{Bins: bins}}
	r, _ := Compile(snapshot(recs...), Options{})
	for range 3 {
		res, _ := r.Route(t.Context(), in)
		if res.Removed != 10 {
			t.Errorf("%d are removed", res.Removed)
		}
	}
	if fmt.Sprint(bins.asked) != "map[git:1 p0:1 p1:1]" {
		t.Errorf("asked %v", bins.asked)
	}
}

func TestTheOwnNameIsWorthLessThanAKeyword(t *testing.T) {
	t.Parallel()
	snap := snapshot(record("weather"), record("news-desk"), record("b", keywords("weather")))
	expect(t, lines(routed(t, snap, TurnRoutingContext{Message: "the weather at the news desk"}, Options{})),
		"b 30 kw:weather", "news-desk 10 kw:news desk", "weather 10 kw:weather")
	r, _ := Compile(snap, Options{})
	if row := r.Explain(TurnRoutingContext{Message: "weather"}, "weather").Rows[2]; row.Points != 10 {
		t.Errorf("row is %+v", row)
	}
}

func TestEqualPointsStandAsTheTextSearchOrdersThem(t *testing.T) {
	t.Parallel()
	snap := snapshot(record("a", keywords("x")), record("b", keywords("x")), record("c", keywords("x")), record("d", keywords("x"), prio(49)))
	in := TurnRoutingContext{Retrieved: []Retrieved{{"c", 1000, 60, 60, 200}, {"b", 999, 60, 60, 200}, {"a", 998, 60, 60, 200}, {"d", 997, 60, 60, 200}}}
	expect(t, names(routed(t, snap, in, Options{})), "c 40", "d 39", "b 39", "a 39")
}
