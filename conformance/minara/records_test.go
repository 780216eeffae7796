package minara

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/store"
)

// record keeps everything of an engine in a database.
type record struct {
	*store.Gate
	s *store.Store
}

// Keep implements agent.Recorder.
func (r record) Keep(ctx context.Context, h agent.Happened) error {
	kept := store.Happened{Turn: (*store.Instance)(h.Turn)}
	for _, row := range h.Skills {
		kept.Skills = append(kept.Skills, store.AuditRow(row))
	}
	for _, row := range h.Tools {
		kept.Tools = append(kept.Tools, store.ToolEvent(row))
	}
	return r.s.Audit().Keep(ctx, kept)
}

// recorded runs a test on each kind of database, with an alarm whose record is there.
func recorded(t *testing.T, s skills, change func(*deft.Options, *deft.SessionOptions), steps []scripted.Step, test func(t *testing.T, a *alarm, r record)) {
	t.Helper()
	each(t, func(t *testing.T, db string) {
		opened, err := store.Open(t.Context(), store.Options{DB: db})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { opened.Close() })
		r := record{opened.Gate(nil), opened}
		a := newAlarm(t, s, func(o *deft.Options, so *deft.SessionOptions) {
			o.Record, o.Grants, o.Confirms, o.History = r, r, r, r
			if change != nil {
				change(o, so)
			}
		}, steps...)
		test(t, a, r)
	})
}

// entries are those of a trace, by time, from one query.
func (r record) entries(t *testing.T, trace string) (out []store.Entry) {
	t.Helper()
	for e, err := range r.s.Audit().Query(t.Context(), store.AuditQuery{Trace: trace}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// lines are entries as text, those of some kinds.
func lines(list []store.Entry, kinds ...string) (out []string) {
	for _, e := range list {
		if len(kinds) == 0 || slices.Contains(kinds, e.Kind) {
			out = append(out, strings.Join([]string{e.Kind, e.What, e.Verdict}, " "))
		}
	}
	return out
}

func TestMinara_TR01_OneQueryTellsAnAlert(t *testing.T) {
	t.Parallel()
	steps := []scripted.Step{calls("place_order", map[string]any{}), calls("get_price", map[string]any{}), {Text: "done"}}
	recorded(t, abc("", "", ""), nil, steps, func(t *testing.T, a *alarm, r record) {
		a.run(fired(signal(t, nil)))
		list := r.entries(t, "alert_1403")
		want(t, "entries", lines(list, "workflow", "gate", "tool"), []string{
			"workflow job:btc done", "gate place_order deny", "tool place_order denied", "gate get_price allow", "tool get_price ok",
		})
		want(t, "skills", lines(list, "skill"), []string{"skill preload signal", "skill route host"})
		want(t, "by time", slices.IsSortedFunc(list, func(x, y store.Entry) int { return x.Time.Compare(y.Time) }), true)
	})
}

func TestMinara_TR02_EachChangeOfSkillsHasItsRow(t *testing.T) {
	t.Parallel()
	set := func(ids ...string) scripted.Step { return calls("activate_skills", map[string]any{"ids": ids}) }
	recorded(t, abc("", "", ""), nil, []scripted.Step{set("b", "c"), {Text: "done"}, {Text: "done"}}, func(t *testing.T, a *alarm, r record) {
		a.run(fired(signal(t, nil)))
		a.run(deft.Input{Text: "/a go on", Origin: gate.Interactive, Principal: "user", TraceID: "by_hand"})
		want(t, "alert", lines(r.entries(t, "alert_1403"), "skill"), []string{"skill preload signal", "skill route host", "skill replace model"})
		want(t, "by hand", lines(r.entries(t, "by_hand"), "skill"), []string{"skill preload user", "skill route host"})
	})
	step := calls("activate_skills", map[string]any{"ids": []string{"b"}})
	recorded(t, abc("", "", ""), nil, []scripted.Step{step, {Text: "done"}}, func(t *testing.T, a *alarm, r record) {
		in := typed("go")
		in.TraceID = "activates"
		a.run(in)
		all := lines(r.entries(t, "activates"), "skill")
		want(t, "activate", slices.Contains(all, "skill replace model") || slices.Contains(all, "skill activate model"), true)
	})
}

func TestMinara_TR03_AllowsHaveARowAsDenialsDo(t *testing.T) {
	t.Parallel()
	steps := []scripted.Step{calls("get_price", map[string]any{}), calls("place_order", map[string]any{}), {Text: "done"}}
	recorded(t, abc("", "", ""), nil, steps, func(t *testing.T, a *alarm, r record) {
		a.run(fired(signal(t, nil)))
		want(t, "gate", lines(r.entries(t, "alert_1403"), "gate"), []string{"gate get_price allow", "gate place_order deny"})
	})
}

func TestMinara_TR04_AnOverrideIsNamed(t *testing.T) {
	t.Parallel()
	auto := func(_ *deft.Options, so *deft.SessionOptions) { so.Auto, so.Confirm = gate.ConfirmOnce, nobody{} }
	recorded(t, abc("", "", ""), auto, []scripted.Step{calls("note", map[string]any{}), {Text: "done"}}, func(t *testing.T, a *alarm, r record) {
		in := typed("go")
		in.TraceID = "overridden"
		a.run(in)
		list := slices.DeleteFunc(r.entries(t, "overridden"), func(e store.Entry) bool { return e.Kind != "gate" })
		want(t, "rows", lines(list), []string{"gate note allow"})
		want(t, "bypassed", strings.Contains(strings.ReplaceAll(string(list[0].Fields), " ", ""), `"bypassed_by":"flag_auto"`), true)
	})
}

func TestMinara_TR05_NoArgumentAtTheGateAndNoSecretAnywhere(t *testing.T) {
	t.Parallel()
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	steps := []scripted.Step{calls("get_price", map[string]any{"coin": "zebra-4711", "token": secret}), {Text: "done"}}
	recorded(t, abc("", "", ""), nil, steps, func(t *testing.T, a *alarm, r record) {
		a.run(fired(signal(t, func(s *route.Signal) { s.Payload = []byte(`"` + secret + `"`) })))
		list := r.entries(t, "alert_1403")
		want(t, "gate, tool", len(lines(list, "gate", "tool")), 2)
		for _, e := range list {
			row := fmt.Sprint(e.What, e.Verdict, e.Detail, string(e.Fields))
			if strings.Contains(row, secret) {
				t.Errorf("%s holds the secret: %s", e.Kind, row)
			}
			if e.Kind != "tool" && strings.Contains(row, "zebra-4711") {
				t.Errorf("%s holds an argument: %s", e.Kind, row)
			}
		}
	})
}

func TestMinara_TR06_ASubAgentHasItsParentsTrace(t *testing.T) {
	t.Parallel()
	auto := func(_ *deft.Options, so *deft.SessionOptions) { so.Auto, so.Confirm = gate.ConfirmOnce, nobody{} }
	steps := []scripted.Step{
		calls("task", map[string]any{"agent": "general", "prompt": "look"}), calls("get_price", map[string]any{}), {Text: "looked"}, {Text: "done"},
	}
	recorded(t, abc("", "", ""), auto, steps, func(t *testing.T, a *alarm, r record) {
		in := typed("go")
		in.TraceID = "family"
		a.run(in)
		list := r.entries(t, "family")
		want(t, "gate", lines(list, "gate"), []string{"gate task allow", "gate get_price allow"})
		sessions := map[string]bool{}
		for _, e := range list {
			if e.Kind == "gate" {
				sessions[e.Session] = true
			}
		}
		want(t, "sessions", len(sessions), 2)
	})
}

func TestMinara_TR07_TheTraceOfASignalIsKept(t *testing.T) {
	t.Parallel()
	recorded(t, abc("", "", ""), nil, []scripted.Step{{Text: "one"}, {Text: "two"}}, func(t *testing.T, a *alarm, r record) {
		a.run(fired(signal(t, nil)))
		want(t, "given", []any{a.events[0].Trace, len(r.entries(t, "alert_1403")) > 0}, []any{"alert_1403", true})
		a.run(fired(signal(t, func(s *route.Signal) { s.TraceID = "" })))
		made := a.events[0].Trace
		want(t, "made", []any{strings.HasPrefix(made, "t_"), len(made), len(r.entries(t, made)) > 0}, []any{true, 28, true})
	})
}
