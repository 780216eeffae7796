package session

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
)

func forkMeta(agent string) skill.Meta {
	return skill.Meta{
		Context: "fork", Agent: agent, Model: "small", Background: true,
		AllowedTools: skill.ToolList{Declared: true, Entries: []string{"Read"}}, DisallowedTools: skill.ToolList{Declared: true, Entries: []string{"Bash"}},
	}
}

func withAgents(o *Options) { o.Agents = []string{"general", "explorer"} }

func TestAForkedSkillIsHandedOut(t *testing.T) {
	t.Parallel()
	for _, actor := range []Actor{ActorUser, ActorModel} {
		for _, args := range []string{"", "src"} {
			f := newFixture(t, withAgents, def{name: "scan", text: "Scan the code.", meta: forkMeta("explorer")})
			turn := f.begin("")
			before := f.state.Load()
			res := must(turn.Activate(t.Context(), Request{Names: []string{"scan"}, Actor: actor, Args: args, HasArgs: args != ""}))
			want := &Fork{Skill: "scan", Agent: "explorer", Task: "Scan the code.", Model: "small", Depth: 1, Background: true, Tools: ToolPolicy{Allow: declared([]string{"Read"}), Deny: []string{"Bash"}}}
			if args != "" {
				want.Task += "\n\nARGUMENTS: src"
			}
			if len(res.Loaded) == 1 && res.Loaded[0].Fork != nil {
				if of := res.Loaded[0].Fork.Identity(); of.Name != "scan" || of.Text != "" {
					t.Errorf("it is of %+v", of)
				}
				res.Loaded[0].Fork.task = Applied{}
			}
			if len(res.Loaded) != 1 || !reflect.DeepEqual(res.Loaded[0].Fork, want) {
				t.Fatalf("%s: %+v", actor, res)
			}
			if f.state.Load() != before || len(f.events) != 1 {
				t.Error("something of it was applied")
			}
		}
	}
}

func TestAForkIsRefused(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		d      def
		change func(*Options)
		set    bool
	}{
		"fork_unknown_agent": {d: def{text: "t", meta: forkMeta("nobody")}},
		"fork_empty":         {d: def{text: " \n", meta: forkMeta("")}},
		"fork_recursion":     {d: def{text: "t", meta: forkMeta("")}, change: func(o *Options) { o.Chain = []string{"x"} }},
		"fork_depth":         {d: def{text: "t", meta: forkMeta("")}, change: func(o *Options) { o.Chain = []string{"a", "b", "c"} }},
		"fork_set":           {d: def{text: "t", meta: forkMeta("")}, set: true},
	} {
		c.d.name = "x"
		f := newFixture(t, func(o *Options) {
			withAgents(o)
			if c.change != nil {
				c.change(o)
			}
		}, c.d)
		res := must(f.begin("").Activate(t.Context(), Request{Names: []string{"x"}, Actor: ActorModel, Replace: c.set}))
		if len(res.Refused) != 1 || res.Refused[0].Code != want || len(f.Active()) != 0 {
			t.Errorf("%s: %+v", want, res)
		}
		if want == "fork_unknown_agent" && !strings.Contains(res.Text, "general, explorer") {
			t.Errorf("%s", res.Text)
		}
	}
}

func TestWhatDoesNotForkRunsInPlaceAndSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*Options)
		meta   skill.Meta
		code   string
	}{
		{func(*Options) {}, forkMeta(""), "fork_inline"},
		{func(o *Options) { withAgents(o); o.Dialect = skill.Blade }, forkMeta(""), "fork_inline"},
		{withAgents, skill.Meta{Agent: "explorer"}, "fork_agent_without_context"},
	} {
		f := newFixture(t, c.change, def{name: "x", text: "t", meta: c.meta})
		res := load(t, f.begin(""), "x")
		if len(res.Loaded) != 1 || res.Loaded[0].Fork != nil || !strings.Contains(fmt.Sprint(res.Loaded[0].Diagnostics), c.code) {
			t.Errorf("%s: %+v", c.code, res)
		}
	}
}

func TestAChildInheritsDeniesAndNothingElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *Options) {
		withAgents(o)
		o.Base = Base{Prompt: "base", Floor: Policy{Allow: []string{"Read", "Bash"}, Deny: []string{"Write"}}}
	}, def{name: "scan", text: "t", meta: forkMeta("")}, def{name: "strict", text: "t", meta: skill.Meta{
		AllowedTools: skill.ToolList{Declared: true, Entries: []string{"Read"}}, DisallowedTools: skill.ToolList{Declared: true, Entries: []string{"Grep"}},
	}})
	turn := f.begin("")
	load(t, turn, "strict")
	fork := load(t, turn, "scan").Loaded[0].Fork
	child, err := New(t.Context(), f.Child(*fork))
	if err != nil {
		t.Fatal(err)
	}
	e := child.Effective()
	if !reflect.DeepEqual(e.Deny, []string{"Write", "Grep", "Bash"}) || !reflect.DeepEqual(e.Allow, [][]string{{"Read", "Bash"}, {"Read"}}) || e.Prompt != "" || e.Model != "small" || len(child.Active()) != 0 {
		t.Errorf("%+v", e)
	}
	next, _ := child.Begin(t.Context(), TurnInput{})
	if gone, _ := next.Deactivate("scan"); gone {
		t.Error("the sub-agent ends the skill that limits it")
	}
	child.Clear()
	if e := child.Effective(); len(e.Allow) != 2 {
		t.Errorf("after Clear %+v", e)
	}
	if res := load(t, next, "scan"); len(res.Refused) != 1 || res.Refused[0].Code != "fork_recursion" {
		t.Errorf("%+v", res)
	}
}

func TestAnAnswerIsCut(t *testing.T) {
	t.Parallel()
	if got := (Fork{}).Answer("short"); got != "short" {
		t.Error(got)
	}
	got := (Fork{}).Answer(strings.Repeat("日本 line\n", 5000))
	if len(got) > 32<<10 || !strings.HasSuffix(got, "line\n[cut at 32 KiB]") {
		t.Errorf("%d bytes, ends %q", len(got), got[len(got)-40:])
	}
}
