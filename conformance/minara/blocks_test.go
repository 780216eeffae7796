package minara

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/route"
)

// typed is a turn of a person.
func typed(text string) deft.Input {
	return deft.Input{Text: text, Origin: gate.Interactive, Principal: "user"}
}

func TestMinara_PT01_ThePrefixIsEqualOverTwentyTurns(t *testing.T) {
	t.Parallel()
	var steps []scripted.Step
	for i := range 20 {
		if i%3 == 0 {
			steps = append(steps, calls("activate_skills", map[string]any{"ids": []string{string(rune('a' + i%2))}}))
		}
		steps = append(steps, scripted.Step{Text: "ok"})
	}
	a := newAlarm(t, abc(keywords("buy"), "", ""), func(o *deft.Options, _ *deft.SessionOptions) { o.CatalogMode = catalog.ModeStable }, steps...)
	for i := range 20 {
		in := typed(fmt.Sprint("buy ", i))
		if i%4 == 0 {
			in = fired(signal(t, nil))
		}
		a.run(in)
	}
	requests := a.m.Requests()
	for i, r := range requests {
		if fmt.Sprint(r.System) != fmt.Sprint(requests[0].System) {
			t.Fatalf("request %d has another prefix", i)
		}
	}
	want(t, "requests", len(requests) >= 20, true)
}

func TestMinara_PT02_TheOrderOfTheTail(t *testing.T) {
	t.Parallel()
	a := newAlarm(t, abc("", "", ""), func(_ *deft.Options, so *deft.SessionOptions) {
		so.Pending = func() []string { return []string{"place_order waits for the person"} }
	}, scripted.Step{Text: "done"})
	a.run(fired(signal(t, func(s *route.Signal) { s.Payload = json.RawMessage(`1`) })))
	prompt := a.asked(0)
	var places []int
	for _, part := range []string{"Body of a.", "A signal started this turn", "place_order waits for the person"} {
		places = append(places, strings.Index(prompt, part))
	}
	want(t, "in order", places[0] >= 0 && slices.IsSorted(places), true)
}

func TestMinara_PT03_ModeRoutedHasTheReasonsInline(t *testing.T) {
	t.Parallel()
	a := newAlarm(t, abc("", keywords("buy"), ""), func(o *deft.Options, _ *deft.SessionOptions) { o.CatalogMode = catalog.ModeRouted }, scripted.Step{Text: "done"})
	a.run(typed("buy one"))
	text := fmt.Sprint(a.m.Requests()[0].System) + a.asked(0)
	want(t, "line", strings.Contains(text, "b: Does b. [kw:buy]"), true)
}

func asLine(t *testing.T, e agent.Event) string {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestMinara_PT04_TwoConsumersSeeTheSame(t *testing.T) {
	t.Parallel()
	a := newAlarm(t, abc("", "", ""), nil, calls("get_price", map[string]any{}), scripted.Step{Text: "done"})
	var lines []string     // of one that prints each event as it comes
	var kept []agent.Event // of one that looks when all is over
	for e, err := range a.s.Run(t.Context(), typed("look")) {
		if err != nil {
			t.Fatal(err)
		}
		lines, kept = append(lines, asLine(t, e)), append(kept, e)
	}
	want(t, "events", len(lines) > 5, true)
	for i, e := range kept {
		want(t, "event", asLine(t, e), lines[i])
	}
	if !strings.Contains(lines[len(lines)-1], string(agent.TurnFinished)) {
		t.Errorf("last: %s", lines[len(lines)-1])
	}
}

func TestMinara_PT05_TheTailHasReasonsAndANegativeKeywordTakesOut(t *testing.T) {
	t.Parallel()
	s := abc("routing: {keywords: [buy], negative_keywords: [paper]}", keywords("buy"), "")
	a := newAlarm(t, s, nil, scripted.Step{Text: "1"}, scripted.Step{Text: "2"}, scripted.Step{Text: "3"})
	for _, text := range []string{"buy", "buy on paper", "buy"} {
		a.run(typed(text))
	}
	system := func(n int) string { return fmt.Sprint(a.m.Requests()[n].System) }
	tail := func(n int) string {
		m := a.m.Requests()[n].Messages
		return m[len(m)-1].Text
	}
	want(t, "line", strings.Contains(tail(0), "a: Does a. [kw:buy]"), true)
	want(t, "out", strings.Contains(system(1)+tail(1), "Does a."), false)
	want(t, "back", system(2) == system(0) && strings.Contains(tail(2), "a: Does a. [kw:buy]"), true)
}
