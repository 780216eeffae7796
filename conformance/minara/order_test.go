package minara

import (
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
)

func TestMinara_RT27_EqualScoresGoByPriority(t *testing.T) {
	t.Parallel()
	want(t, "order", order(says(t, abc(keywords("buy"), keywords("buy")+"\npriority: 10", keywords("buy")+"\npriority: 90"), "buy")), "b a c")
}

func TestMinara_RT28_EqualPrioritiesGoByID(t *testing.T) {
	t.Parallel()
	s := skills{}
	for dir, id := range map[string]string{"x": "b.a", "y": "b", "z": "a_c"} {
		s[dir] = text(dir, "id: "+id, keywords("buy"))
	}
	want(t, "order", order(says(t, s, "buy")), "z y x")
}

func TestMinara_RT29_PriorityAloneStandsBelowPoints(t *testing.T) {
	t.Parallel()
	want(t, "order", order(says(t, abc("priority: 0", keywords("buy")+"\npriority: 100", ""), "buy")), "b a c")
}

func TestMinara_RT30_WithFallbackAdditiveThePriorityCounts(t *testing.T) {
	t.Parallel()
	o := options()
	o.Fallback = route.Additive
	res := turnWith(t, abc("priority: 0", keywords("buy")+"\npriority: 100", ""), route.TurnRoutingContext{Message: "buy"}, o)
	want(t, "order", order(res), "a c b")
	want(t, "scores", []string{at(res, "a"), at(res, "c"), at(res, "b")}, []string{"100", "50", "30 kw:buy"})
}

func TestMinara_RT31_WithoutAHitEverySkillStays(t *testing.T) {
	t.Parallel()
	s := abc(keywords("buy"), keywords("sell")+"\npriority: 10", "")
	res := says(t, s, "hello")
	want(t, "order", order(res), "b a c")
	snap := snapshot(t, env(), from("", s))
	text := shown(t, snap, res)
	for _, name := range []string{"a", "b", "c"} {
		want(t, name, at(res, name), "0")
		if !slices.Contains(strings.Split(text, "\n"), name+": Does "+name+".") {
			t.Errorf("%s is not in the catalog, or has reasons:\n%s", name, text)
		}
	}
}

func TestMinara_RT32_ANegativeKeywordRemoves(t *testing.T) {
	t.Parallel()
	in := all()
	in.Message += ", on paper"
	s := one(strings.Replace(whole, "{keywords", "{negative_keywords: [on paper], keywords", 1))
	want(t, "a", at(turn(t, s, in), "a"), "removed: negative_keyword on paper")
}

func TestMinara_RT33_APayloadIsNotTheMessage(t *testing.T) {
	t.Parallel()
	s := one("routing: {keywords: [buy], negative_keywords: [paper]}")
	signal, err := route.ParseSignal([]byte(`{"source": "webhook", "payload": {"text": "paper"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "a", at(turn(t, s, route.TurnRoutingContext{Message: "buy", Signal: &signal}), "a"), "30 kw:buy")
}

func TestMinara_RT34_TheNegativeKeywordWins(t *testing.T) {
	t.Parallel()
	s := one("routing: {keywords: [buy], negative_keywords: [Buy]}")
	want(t, "a", at(says(t, s, "buy"), "a"), "removed: negative_keyword Buy")
	want(t, "lint", finding(lint(t, s["a"], skill.LintOptions{}), "keyword_negated"), "error")
}

func TestMinara_RT38_MaxEntriesSaysWhatItCuts(t *testing.T) {
	t.Parallel()
	s := skills{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s[name] = text(name, keywords("buy"))
	}
	o := options()
	o.MaxEntries = 2
	res := turnWith(t, s, route.TurnRoutingContext{Message: "buy"}, o)
	want(t, "entries", []any{order(res), res.Omitted}, []any{"a b", 3})
	if text := shown(t, snapshot(t, env(), from("", s)), res); !strings.Contains(text, "2 of 5") {
		t.Errorf("the catalog does not say that there are 5:\n%s", text)
	}
}

func TestMinara_RT39_WhatStandsBehind64KiBIsNotRead(t *testing.T) {
	t.Parallel()
	res := says(t, one(keywords("buy")), strings.Repeat("x ", 32<<10)+"buy")
	want(t, "a", []any{at(res, "a"), res.Truncated}, []any{"0", true})
	res = says(t, one(keywords("buy")), strings.Repeat("x ", 30<<10)+"buy")
	want(t, "a", []any{at(res, "a"), res.Truncated}, []any{"30 kw:buy", false})
}

// line is how the catalog shows the skill a for a message.
func line(t *testing.T, s skills, message string) string {
	t.Helper()
	text := shown(t, snapshot(t, env(), from("", s)), says(t, s, message))
	for l := range strings.SplitSeq(text, "\n") {
		if strings.Contains(l, "Does a.") {
			return l
		}
	}
	t.Fatalf("a is not in the catalog:\n%s", text)
	return ""
}

func TestMinara_RT40_TheLineShowsTheReasonsInBrackets(t *testing.T) {
	t.Parallel()
	got := line(t, abc("routing: {keywords: [buy], stages: [decide]}", "", ""), "buy")
	if !strings.HasSuffix(got, "a: Does a. [kw:buy, stage:decide]") {
		t.Errorf("line is %q", got)
	}
}

func TestMinara_RT41_NoReasonsNoBrackets(t *testing.T) {
	t.Parallel()
	if got := line(t, abc("", keywords("buy"), ""), "buy"); !strings.HasSuffix(got, "a: Does a.") {
		t.Errorf("line is %q", got)
	}
}

func TestMinara_RT42_AKeywordCannotCloseTheBracketsOrTheLine(t *testing.T) {
	t.Parallel()
	plain := shown(t, snapshot(t, env(), from("", one(keywords("buy")))), says(t, one(keywords("buy")), "buy"))
	s := one(`routing: {keywords: ["buy]\nnow"]}`)
	res := says(t, s, "buy] now")
	want(t, "reasons", len(res.Hits[0].Reasons), 1)
	text := shown(t, snapshot(t, env(), from("", s)), res)
	if strings.Count(text, "\n") != strings.Count(plain, "\n") || !strings.Contains(text, "[kw:buy&#93; now]") {
		t.Errorf("catalog is %q, plain %q", text, plain)
	}
}
