package mastra

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/toolset"
)

// demand is a desk whose skills are loaded on demand.
func demand(t *testing.T, names ...string) *desk {
	t.Helper()
	d := deskOf(t, inMemory(names...))
	d.o.OnDemand = toolset.OnDemandOnly
	return d
}

// message reads an answer of load_skill.
func message(t *testing.T, res toolset.Result) (success bool, message, name string) {
	t.Helper()
	var doc struct {
		Success            bool
		Message, SkillName string
	}
	if err := json.Unmarshal([]byte(res.Text), &doc); err != nil {
		t.Fatalf("%s: %v", res.Text, err)
	}
	return doc.Success, doc.Message, doc.SkillName
}

func loadOn(t *testing.T, d *desk, name string) (bool, string, string) {
	t.Helper()
	return message(t, d.result("load_skill", "skillName", name))
}

type results struct {
	Results []struct {
		Name, Description string
		Score             json.Number
	}
	Message string
}

func find(t *testing.T, d *desk) (out results) {
	t.Helper()
	if err := json.Unmarshal([]byte(d.call("search_skills", "query", "x")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func active(d *desk) []string {
	out := []string{}
	for _, a := range d.s.Active() {
		out = append(out, a.Name)
	}
	return out
}

func TestS001_OptionsAndDefaults(t *testing.T) {
	t.Parallel()
	want(t, "id, idle", []any{toolset.OnDemandID, toolset.OnDemandIdle}, []any{"skill-search", time.Hour})
	d := demand(t, "a")
	h := d.finds(toolset.Hit{Address: "a", Score: points(0.5)})
	want(t, "hits of score 0.5", len(find(t, d).Results), 1)
	want(t, "topK", h.topK, 5)
	d.o.TopK, d.o.MinScore = 2, 0.6
	want(t, "above 0.6", len(find(t, d).Results), 0)
	want(t, "topK", h.topK, 2)
}

func TestS002_TwoToolsAreAdded(t *testing.T) {
	t.Parallel()
	want(t, "tools", exposed(demand(t, "a")), []string{"load_skill", "search_skills", "skill_read"})
}

// sheet is a runner with the desk's tools and some of the host's.
func (d *desk) sheet(more ...toolset.Tool) *agent.Runner {
	d.t.Helper()
	tools := append(toolset.Skills(d.o), more...)
	table, err := agent.GateTable(tools)
	if err != nil {
		d.t.Fatal(err)
	}
	door, err := gate.New(gate.Options{Tools: table, Audit: norecord{}})
	if err != nil {
		d.t.Fatal(err)
	}
	r, err := agent.New(agent.Deps{Tools: tools, Gate: door, Planner: noplan{}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.turn.End()
	return r
}

func (d *desk) begin(r *agent.Runner) *agent.Turn {
	d.t.Helper()
	turn, err := r.Begin(d.t.Context(), d.s, agent.Input{Text: "hello", Origin: gate.Interactive, Principal: "user"})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(turn.End)
	return turn
}

func call(turn *agent.Turn, name, input string) model.Result {
	return turn.Call(model.Call{ID: name, Name: name, Input: json.RawMessage(input)})[0]
}

// shown lists the tools of the next step.
func shown(turn *agent.Turn) map[string]bool {
	out := map[string]bool{}
	for _, s := range turn.Tools() {
		out[s.Name] = true
	}
	return out
}

func TestS003_ExistingToolsStay(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	turn := d.begin(d.sheet(needy{name: "mine"}))
	want(t, "mine, load_skill", []bool{shown(turn)["mine"], shown(turn)["load_skill"]}, []bool{true, true})
}

func TestS004_NoSkillsNoTools(t *testing.T) {
	t.Parallel()
	want(t, "tools", exposed(demand(t)), []string{})
}

func TestS005_SearchFindsByQuery(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	d.finds(toolset.Hit{Address: "a", Description: strings.Repeat("d", 200), Score: points(1)})
	got := find(t, d)
	want(t, "name", got.Results[0].Name, "a")
	want(t, "description", len(got.Results[0].Description), 150)
	want(t, "message", got.Message != "", true)
}

func TestS006_NothingFound(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	d.finds()
	got := find(t, d)
	want(t, "results", got.Results != nil && len(got.Results) == 0, true)
	want(t, "message", got.Message != "", true)
}

func TestS007_ScoreHasTwoDecimals(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	d.finds(toolset.Hit{Address: "a", Score: points(1.2)})
	want(t, "score", find(t, d).Results[0].Score, "1.20")
}

func TestS008_Load(t *testing.T) {
	t.Parallel()
	ok, text, name := loadOn(t, demand(t, "a"), "a")
	want(t, "success, name", []any{ok, name}, []any{true, "a"})
	want(t, "message", text != "", true)
}

func TestS009_UnknownSuggestsSubstrings(t *testing.T) {
	t.Parallel()
	ok, text, name := loadOn(t, demand(t, "pdf-a", "pdf-b", "pdf-c", "pdf-d", "other"), "PDF")
	want(t, "success, name", []any{ok, name}, []any{false, ""})
	want(t, "message", text, `Skill "PDF" not found. Did you mean: pdf-a, pdf-b, pdf-c?`)
}

func TestS010_LoadedBefore(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	loadOn(t, d, "a")
	ok, text, _ := loadOn(t, d, "a")
	want(t, "success, message", []any{ok, text}, []any{true, `Skill "a" is already loaded.`})
}

func TestS011_BodyIsInTheNextStep(t *testing.T) {
	t.Parallel()
	d := demand(t, "test-skill")
	turn := d.begin(d.sheet())
	_, before := turn.Prompt()
	res := call(turn, "load_skill", `{"skillName":"test-skill"}`)
	_, after := turn.Prompt()
	want(t, "before", strings.Contains(before, "[Skill: test-skill]"), false)
	want(t, "result", strings.Contains(res.Text, bodyText), false)
	want(t, "after", strings.Count(after, "[Skill: test-skill]\n\n"+bodyText), 1)
}

func TestS012_ThreadsAreSeparate(t *testing.T) {
	t.Parallel()
	d := demand(t, "a", "b")
	first := d.s
	loadOn(t, d, "a")
	d.session()
	loadOn(t, d, "b")
	want(t, "second", active(d), []string{"b"})
	want(t, "first", first.Active()[0].Name, "a")
}

func TestS013_IdleThreadForgets(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	loadOn(t, d, "a")
	d.clock.pass(time.Hour + time.Second)
	d.next()
	want(t, "active", active(d), []string{})
}

func TestS014_ActiveThreadKeeps(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	loadOn(t, d, "a")
	for range 3 {
		d.clock.pass(50 * time.Minute)
		d.next()
	}
	want(t, "active", active(d), []string{"a"})
}

func TestS015_ClearOneThread(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	first := d.s
	loadOn(t, d, "a")
	d.session()
	loadOn(t, d, "a")
	first.Clear()
	want(t, "cleared, other", []int{len(first.Active()), len(d.s.Active())}, []int{0, 1})
	_, text, _ := loadOn(t, d, "a")
	want(t, "other", text, `Skill "a" is already loaded.`)
}

func TestS016_ClearAll(t *testing.T) {
	t.Parallel()
	d := demand(t, "a", "b")
	first := d.s
	loadOn(t, d, "a")
	second := d.session()
	loadOn(t, d, "b")
	for _, s := range []interface{ Clear() }{first, second} {
		s.Clear()
	}
	want(t, "active", len(first.Active())+len(second.Active()), 0)
	ok, _, _ := loadOn(t, d, "b")
	want(t, "loads again", ok, true)
}

func TestS017_CatalogRestores(t *testing.T) {
	t.Parallel()
	d := demand(t, "a")
	want(t, "only", exposed(d), []string{"load_skill", "search_skills", "skill_read"})
	d.o.OnDemand = toolset.OnDemandBeside
	want(t, "beside", exposed(d), []string{"load_skill", "search_skills", "skill", "skill_read", "skill_search"})
}
