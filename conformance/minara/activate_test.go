package minara

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// ledger keeps the rows of the gate.
type ledger struct {
	mu   sync.Mutex
	rows []gate.Row
}

func (l *ledger) Record(_ context.Context, r gate.Row) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = append(l.rows, r)
	return nil
}

// last is the newest row without what differs between two equal calls.
func (l *ledger) last() string {
	r := l.rows[len(l.rows)-1]
	return fmt.Sprint(r.Tool, " ", r.Tier, " ", r.Verdict, " ", r.Code)
}

// tools of the host, by tier.
type hostTool struct {
	name string
	tier gate.Tier
	says string
}

func (h hostTool) Spec() toolset.Spec {
	return toolset.Spec{
		Name: h.name, Description: "Does " + h.name + ".", Tier: h.tier, ReadOnly: h.tier == gate.ReadOnly,
		Deferred: strings.HasPrefix(h.name, "far_"), Input: json.RawMessage(`{"type":"object","properties":{"amount":{"type":"integer"}}}`),
	}
}

func (h hostTool) Call(context.Context, toolset.Call) (toolset.Result, error) {
	return toolset.Result{Text: h.says + h.name + " ran"}, nil
}

// chat is one session of an engine over these skills.
type chat struct {
	t    *testing.T
	e    *deft.Engine
	s    *deft.Session
	turn *deft.Turn
	ledger
	origin gate.Origin
}

func newChat(t *testing.T, s skills) *chat {
	t.Helper()
	return chatOver(t, "", from("", s))
}

// chatOver is a chat over a folder, "" for none, and more sources.
func chatOver(t *testing.T, folder string, more ...source.Source) *chat {
	t.Helper()
	c := &chat{t: t, origin: gate.Interactive}
	var folders []string
	if folder != "" {
		folders = []string{folder}
	}
	c.e = suitetest.Engine(t, deft.Options{
		Workspace: t.TempDir(), Dialect: skill.Minara, Sources: folders, OnlySources: true, More: more, Record: &c.ledger,
		Tools: []toolset.Tool{
			hostTool{"get_price", gate.ReadOnly, ""}, hostTool{"place_order", gate.ManualOnly, ""}, hostTool{"far_trade", gate.AlwaysConfirm, ""},
			hostTool{"far_look", gate.ReadOnly, ""}, hostTool{"echo", gate.ReadOnly, `activate_skills({"ids":["a"]}) `},
		},
	})
	c.next("hello")
	return c
}

// next begins another turn, in the same session if there is one.
func (c *chat) next(text string) {
	c.t.Helper()
	var err error
	if c.turn != nil {
		c.turn.End()
	}
	if c.s == nil {
		if c.s, err = c.e.NewSession(c.t.Context(), deft.SessionOptions{}); err != nil {
			c.t.Fatal(err)
		}
		s := c.s
		c.t.Cleanup(func() { s.Close() })
	}
	if c.turn, err = c.s.Begin(c.t.Context(), deft.Input{Text: text, Origin: c.origin, Principal: "user"}); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(c.turn.End)
}

func (c *chat) call(tool, input string) model.Result {
	return c.turn.Call(model.Call{ID: "c", Name: tool, Input: json.RawMessage(input)})[0]
}

// set calls activate_skills.
func (c *chat) set(ids ...string) model.Result {
	raw, err := json.Marshal(map[string]any{"ids": append([]string{}, ids...)})
	if err != nil {
		c.t.Fatal(err)
	}
	return c.call("activate_skills", string(raw))
}

func (c *chat) active() []string {
	out := []string{}
	for _, a := range c.s.Active() {
		out = append(out, a.Name)
	}
	return out
}

func (c *chat) prompt() (system, user string) { return c.turn.Prompt() }

func (c *chat) shown() map[string]toolset.Spec {
	out := map[string]toolset.Spec{}
	for _, s := range c.turn.Tools() {
		out[s.Name] = s
	}
	return out
}

func TestMinara_AC01_SchemaAndAlwaysThere(t *testing.T) {
	t.Parallel()
	for _, s := range []skills{{}, abc("", "", "")} {
		spec, ok := newChat(t, s).shown()["activate_skills"]
		want(t, "shown", ok, true)
		var schema struct {
			Properties map[string]struct {
				Type  string
				Items struct{ Type string }
			}
			Required []string
		}
		if err := json.Unmarshal(spec.Input, &schema); err != nil {
			t.Fatal(err)
		}
		p := schema.Properties
		want(t, "schema", []any{p["ids"].Type, p["ids"].Items.Type, p["confirmed"].Type, schema.Required}, []any{"array", "string", "boolean", []string{"ids"}})
	}
}

func TestMinara_AC02_TextsAndToolsInTheNextPrompt(t *testing.T) {
	t.Parallel()
	c := newChat(t, skills{
		"core": text("core", "id: minara.core", "tool_names: [get_price]"), "memory-personal": text("memory-personal", "tool_names: [echo]"),
	})
	res := c.set("minara.core", "memory-personal")
	want(t, "result", res.Text, "active: core, memory-personal\ntools: get_price (READ_ONLY), echo (READ_ONLY)")
	_, user := c.prompt()
	for _, part := range []string{"Body of core.", "Body of memory-personal.", "Tools for it: get_price.", "Tools for it: echo."} {
		want(t, part, strings.Count(user, part), 1)
	}
}

func TestMinara_AC03_ASetReplacesTheSet(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	c.set("a", "b")
	res := c.set("c")
	want(t, "active", c.active(), []string{"c"})
	want(t, "result", res.Text, "active: c\nreplaced: a, b")
}

func TestMinara_AC04_ASetLivesOn(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	c.set("a")
	for range 3 {
		c.next("go on")
	}
	want(t, "active", c.active(), []string{"a"})
}

func TestMinara_AC05_AnEmptySetClears(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	c.set("a", "b")
	c.set()
	want(t, "active", c.active(), []string{})
}

func TestMinara_AC06_NoQuestionForTheToolsOfASkill(t *testing.T) {
	t.Parallel()
	c := newChat(t, skills{"a": text("a", "tool_names: [place_order]")})
	res := c.set("a")
	want(t, "error", res.IsError, false)
	want(t, "rows, tool", []any{len(c.rows), c.rows[0].Tool, c.rows[0].Verdict}, []any{1, "activate_skills", gate.Allow})
}

func TestMinara_AC07_ConfirmedGivesTheSameResult(t *testing.T) {
	t.Parallel()
	plain, claimed := newChat(t, abc("", "", "")), newChat(t, abc("", "", ""))
	want(t, "result", claimed.call("activate_skills", `{"ids":["a"],"confirmed":true}`), plain.call("activate_skills", `{"ids":["a"]}`))
}

func TestMinara_AC08_ConfirmedChangesNoDecision(t *testing.T) {
	t.Parallel()
	plain, claimed := newChat(t, abc("", "", "")), newChat(t, abc("", "", ""))
	plain.call("activate_skills", `{"ids":["a"]}`)
	claimed.call("activate_skills", `{"ids":["a"],"confirmed":true}`)
	want(t, "the claim is on record", claimed.rows[0].CallHash != plain.rows[0].CallHash, true)
	for _, tool := range []string{"get_price", "place_order", "far_trade"} {
		a, b := plain.call(tool, `{}`), claimed.call(tool, `{}`)
		want(t, tool, b, a)
		want(t, "row of "+tool, claimed.last(), plain.last())
	}
}

func TestMinara_AC09_AnEchoedCallIsNoCall(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	res := c.call("echo", `{}`)
	want(t, "echoed", strings.Contains(res.Text, "activate_skills"), true)
	want(t, "active, rows", []int{len(c.active()), len(c.rows)}, []int{0, 1})
}

func TestMinara_AC10_UnknownAmongValid(t *testing.T) {
	t.Parallel()
	c := newChat(t, skills{"alpha": text("alpha"), "beta": text("beta")})
	res := c.set("alpha", "betta")
	want(t, "result", res.Text, "active: alpha\nunknown: betta (close: beta)")
	want(t, "error", res.IsError, false)
}

func TestMinara_AC11_NoneValid(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	c.set("a")
	res := c.set("nope")
	want(t, "error, active", []any{res.IsError, c.active()}, []any{true, []string{"a"}})
}

func TestMinara_AC12_RemovedByACondition(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("conditions: {requires_tools: [glassnode_metric]}", "", ""))
	res := c.set("a", "b")
	if !strings.HasPrefix(res.Text, "active: b\nunavailable: a (") || !strings.Contains(res.Text, "glassnode_metric") {
		t.Errorf("%s", res.Text)
	}
}

func TestMinara_AC13_RemovedByANegativeKeywordOnly(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("routing: {keywords: [btc], negative_keywords: [hello]}", "", ""))
	c.next("hello btc")
	want(t, "result", c.set("a").Text, "active: a")
}

func TestMinara_AC14_RepeatedIdsCountOnce(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	c.set("b", "a", "b", "a")
	want(t, "active", c.active(), []string{"b", "a"})
}

func TestMinara_AC15_TheSameSetAgain(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	c.set("a")
	want(t, "result", c.set("a").Text, "already active: a")
	_, user := c.prompt()
	want(t, "copies", strings.Count(user, "Body of a."), 1)
}

func TestMinara_AC16_NineIds(t *testing.T) {
	t.Parallel()
	many := skills{}
	var ids []string
	for i := range 9 {
		name := fmt.Sprint("s", i)
		many[name] = text(name)
		ids = append(ids, name)
	}
	c := newChat(t, many)
	c.set("s0")
	res := c.set(ids...)
	want(t, "error, limit, active", []any{res.IsError, strings.Contains(res.Text, "at most 8 skills"), c.active()}, []any{true, true, []string{"s0"}})
}

func TestMinara_AC17_TooManyTokens(t *testing.T) {
	t.Parallel()
	s := abc("", "", "")
	s["long"] = text("long") + strings.Repeat("word and another one\n", 8000)
	c := newChat(t, s)
	c.set("a")
	res := c.set("b", "long")
	want(t, "error, sizes, active", []any{res.IsError, strings.Contains(res.Text, "Tokens of each: b "), c.active()}, []any{true, true, []string{"a"}})
}

func TestMinara_AC18_AFreshSessionHasNone(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	c.set("a")
	c.turn.End()
	c.s, c.turn = nil, nil
	c.next("hello")
	want(t, "active", c.active(), []string{})
}

func TestMinara_AC19_ThePrefixNeedsNoSkill(t *testing.T) {
	t.Parallel()
	system, _ := newChat(t, abc("", "", "")).prompt()
	for _, part := range []string{"You are an agent", "# Safety", "in the language of the person", "# Form"} {
		want(t, part, strings.Contains(system, part), true)
	}
}

func TestMinara_AC20_ThePrefixStaysEqual(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	before, _ := c.prompt()
	c.set("a")
	after, user := c.prompt()
	want(t, "prefix", after == before, true)
	want(t, "in the tail", []bool{strings.Contains(after, "Body of a."), strings.Contains(user, "Body of a.")}, []bool{false, true})
}

func TestMinara_AC21_ToolsThatNeedNoSkill(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	for _, tool := range []string{"activate_skills", "get_price", "memory_read", "memory_search", "memory_write", "memory_delete", "todo"} {
		if _, ok := c.shown()[tool]; !ok {
			t.Errorf("%s is not shown", tool)
		}
	}
	want(t, "get_price", c.call("get_price", `{}`).Text, "get_price ran")
	want(t, "memory_read", c.call("memory_read", `{}`).Text, "There are no notes yet.")
}

func TestMinara_AC22_AnyToolThroughInvoke(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	want(t, "read only", c.call("tool_invoke", `{"tool":"far_look","input":{}}`).Text, "far_look ran")
	want(t, "row", c.last(), "far_look READ_ONLY allow read_only")
	res := c.call("tool_invoke", `{"tool":"far_trade","input":{"amount":1}}`)
	want(t, "asked at its own tier", []any{res.IsError, c.last()}, []any{true, "far_trade ALWAYS_CONFIRM deny no_answerer"})
	want(t, "via", c.rows[len(c.rows)-1].Via, "tool_invoke")
}

func TestMinara_AC23_AClearedSkillsToolIsReachable(t *testing.T) {
	t.Parallel()
	c := newChat(t, skills{"a": text("a", "tool_names: [far_look]"), "b": text("b", "tool_names: [get_price]")})
	c.set("a")
	c.set("b")
	want(t, "result", c.call("tool_invoke", `{"tool":"far_look"}`).Text, "far_look ran")
}

func TestMinara_AC24_ManualOnlyThroughInvokeByCron(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	c.origin = gate.Cron
	c.next("it is nine")
	res := c.call("tool_invoke", `{"tool":"place_order","input":{}}`)
	want(t, "error", res.IsError, true)
	through := c.last()
	c.call("place_order", `{}`)
	want(t, "as a direct call", through, c.last())
	want(t, "verdict", c.rows[len(c.rows)-1].Verdict, gate.Deny)
}

func TestMinara_AC25_UnknownThroughInvoke(t *testing.T) {
	t.Parallel()
	c := newChat(t, abc("", "", ""))
	for _, tool := range []string{"far_lok", "tool_invoke", "tool_search"} {
		res := c.call("tool_invoke", `{"tool":"`+tool+`","input":{}}`)
		want(t, tool, []bool{res.IsError, strings.Contains(res.Text, "unknown_tool") || strings.Contains(res.Text, "cannot be called through")}, []bool{true, true})
	}
}
