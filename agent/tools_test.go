package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/toolset"
)

// withFar adds the tools that find and call others, and n tools of the host.
func withFar(n, most int) func(*Deps, *gate.Options) {
	return func(d *Deps, _ *gate.Options) {
		for _, t := range toolset.Skills(toolset.Options{}) {
			if name := t.Spec().Name; strings.HasPrefix(name, "tool_") {
				d.Tools = append(d.Tools, t)
			}
		}
		for i := range n {
			s := toolset.Spec{Name: fmt.Sprint("host_", i), Description: "A tool of the host.", Input: json.RawMessage(anyText), Tier: gate.ReadOnly, ReadOnly: true}
			d.Tools = append(d.Tools, tool{s, say("host")})
		}
		d.MaxTools = most
	}
}

func begin(t *testing.T, f *fixture, origin gate.Origin) *Turn {
	t.Helper()
	turn, err := f.Begin(t.Context(), f.s, Input{Text: "hello", Origin: origin, Principal: "user"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(turn.End)
	return turn
}

func one(turn *Turn, name, input string) model.Result {
	return turn.Call(model.Call{ID: "c", Name: name, Input: json.RawMessage(input)})[0]
}

func TestToolsBeyondTheBoundAreFoundAndCalled(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, withFar(30, 20))
	turn := begin(t, f, gate.Interactive)
	var shown []string
	for _, s := range turn.Tools() {
		shown = append(shown, s.Name)
	}
	// The ten tools of the fixture, but one that is not there now, and the first of the host's.
	if slices.Contains(shown, "host_10") || !slices.Contains(shown, "host_9") || !slices.Contains(shown, "tool_invoke") {
		t.Error(shown)
	}
	if res := one(turn, "tool_search", `{"query":"host","topK":2}`); !strings.Contains(res.Text, "host_10 (READ_ONLY)") || strings.Contains(res.Text, "host_1 ") {
		t.Error(res.Text)
	}
	if res := one(turn, "tool_invoke", `{"tool":"host_29","input":{"text":"x"}}`); res.IsError || res.Text != "host" {
		t.Error(res)
	}
	few := begin(t, newFixture(t, nil, withFar(3, 0)), gate.Interactive)
	for _, s := range few.Tools() {
		if strings.HasPrefix(s.Name, "tool_") {
			t.Errorf("%s is there without anything to find", s.Name)
		}
	}
	if res := one(few, "tool_invoke", `{"tool":"look","input":{}}`); !strings.Contains(res.Text, "unknown_tool") {
		t.Error(res.Text)
	}
}

// What the gate decides and records of a call through tool_invoke is what it does of a
// direct one, but for the way.
func TestInvokeIsJudgedAsADirectCall(t *testing.T) {
	t.Parallel()
	for _, origin := range []gate.Origin{gate.Interactive, gate.Cron} {
		for name, input := range map[string]string{
			"look": `{}`, "note": `{"text":"x"}`, "send": `{}`, "swap": `{}`, "host_40": `{"text":"x"}`, "nothing": `{}`,
			"lok": `{}`, "look ": `{"text":7}`,
		} {
			name = strings.TrimSpace(name)
			direct, through := newFixture(t, nil, withFar(45, 0)), newFixture(t, nil, withFar(45, 0))
			a := one(begin(t, direct, origin), name, input)
			b := one(begin(t, through, origin), "tool_invoke", fmt.Sprintf(`{"tool":%q,"input":%s}`, name, input))
			if a != b {
				t.Errorf("%s %s: %+v directly, %+v through", origin, name, a, b)
			}
			x, y := direct.rows.list, through.rows.list
			if len(x) != len(y) {
				t.Fatalf("%s %s: %d rows directly, %d through", origin, name, len(x), len(y))
			}
			for i := range x {
				if y[i].Via != "tool_invoke" || x[i].Via != "" {
					t.Errorf("%s %s: via %q and %q", origin, name, x[i].Via, y[i].Via)
				}
				y[i].Via, y[i].ConfirmID, x[i].ConfirmID = "", "", ""
				if fmt.Sprint(x[i]) != fmt.Sprint(y[i]) {
					t.Errorf("%s %s:\n%+v\n%+v", origin, name, x[i], y[i])
				}
			}
		}
	}
}

func TestInvokeNamesTheFaultyArgument(t *testing.T) {
	t.Parallel()
	turn := begin(t, newFixture(t, nil, withFar(45, 0)), gate.Interactive)
	if res := one(turn, "tool_invoke", `{"tool":"host_44","input":{"text":7}}`); !res.IsError || !strings.Contains(res.Text, "bad_args") || !strings.Contains(res.Text, "/text") {
		t.Error(res.Text)
	}
	if res := one(turn, "tool_invoke", `{"tool":"host_4x"}`); !strings.Contains(res.Text, "close names: host_4") {
		t.Error(res.Text)
	}
}

// A step that loads a skill holds back what stands beside it, also where that comes
// through tool_invoke.
func TestInvokeBesideALoadIsHeldBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, withFar(45, 0))
	results := begin(t, f, gate.Interactive).Call(
		model.Call{ID: "1", Name: "tool_invoke", Input: json.RawMessage(`{"tool":"send","input":{}}`)},
		model.Call{ID: "2", Name: "skill", Input: json.RawMessage(`{"name":"pdf"}`)},
		model.Call{ID: "3", Name: "tool_invoke", Input: json.RawMessage(`{"tool":"look","input":{}}`)},
	)
	if !strings.Contains(results[0].Text, "skill_alone") || results[1].IsError || results[2].IsError {
		t.Errorf("%+v", results)
	}
}
