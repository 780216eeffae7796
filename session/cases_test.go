package session

import (
	"reflect"
	"strings"
	"testing"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/casetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// caseSession is a session over the project skills of a case, all of them granted.
func caseSession(t *testing.T, number string, o Options) *Session {
	t.Helper()
	c := casetest.Open(t, number)
	dir := source.Dir(c.Path("project", ".claude", "skills"), source.DirOptions{
		Info: source.Info{ID: "user", Kind: source.User}, Format: source.Format{Dialect: o.Dialect},
	})
	reg, err := registry.Open(t.Context(), registry.Config{Dialect: o.Dialect, Sources: []source.Source{dir}})
	if err != nil {
		t.Fatal(err)
	}
	o.Snapshots = reg
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func begun(t *testing.T, s *Session) *Turn {
	t.Helper()
	turn, err := s.Begin(t.Context(), TurnInput{})
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func TestCase042AForkedSkillGetsItsText(t *testing.T) {
	t.Parallel()
	for _, r := range []Request{{Actor: ActorUser}, {Actor: ActorModel, Args: "the API", HasArgs: true}} {
		s := caseSession(t, "042", Options{Agents: []string{"general", "explorer"}})
		r.Names = []string{"scan-code"}
		res := must(begun(t, s).Activate(t.Context(), r))
		f := res.Loaded[0].Fork
		if f == nil || f.Agent != "explorer" || f.Task != strings.TrimSpace("List entry points. Focus: "+r.Args) || f.Model != "small" {
			t.Fatalf("%s: %+v", r.Actor, f)
		}
		if !reflect.DeepEqual(f.Tools.Allow.Entries, []string{"Read", "Grep"}) || len(s.Active()) != 0 {
			t.Errorf("%s: %+v, active %v", r.Actor, f.Tools, s.Active())
		}
	}
	s := caseSession(t, "042", Options{Agents: []string{"general"}})
	turn := begun(t, s)
	if res := load(t, turn, "scan-code"); len(res.Refused) != 1 || res.Refused[0].Code != "fork_unknown_agent" {
		t.Errorf("unknown kind: %+v", res)
	}
	res := load(t, turn, "agent-only")
	if l := res.Loaded[0]; l.Fork != nil || len(l.Diagnostics) != 1 || l.Diagnostics[0].Code != "fork_agent_without_context" {
		t.Errorf("agent without context: %+v", res.Loaded[0].Diagnostics)
	}
}

func TestCase046NestedGrantsUnwind(t *testing.T) {
	t.Parallel()
	grants := func(s *Session) string {
		var out []string
		for _, p := range s.Effective().PreApproved {
			out = append(out, p.Rule)
		}
		for _, k := range s.ActiveSkills() {
			if k.Mode != gate.PreApprove || !k.Granted {
				t.Errorf("%s: mode %s, granted %v", k.Name, k.Mode, k.Granted)
			}
		}
		return strings.Join(out, ", ")
	}
	for _, order := range [][2]string{{"b", "a"}, {"a", "b"}} {
		s := caseSession(t, "046", Options{Dialect: skill.ClaudeCode})
		turn := begun(t, s)
		load(t, turn, "a")
		load(t, turn, "b")
		if got := grants(s); got != "Bash(make *), Bash(npm *)" {
			t.Errorf("both active: %s", got)
		}
		must2(turn.Deactivate(order[0]))
		left := map[string]string{"a": "Bash(npm *)", "b": "Bash(make *)"}[order[0]]
		if got := grants(s); got != left {
			t.Errorf("without %s: %s", order[0], got)
		}
		must2(turn.Deactivate(order[1]))
		if got := grants(s); got != "" {
			t.Errorf("none active: %s", got)
		}
		turn.End()
	}
	s := caseSession(t, "046", Options{Dialect: skill.ClaudeCode})
	turn := begun(t, s)
	load(t, turn, "b")
	turn.End() // as after an error
	if got := grants(s); got != "" {
		t.Errorf("after the turn: %s", got)
	}
}
