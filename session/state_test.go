package session

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// resumed saves f's session through JSON and resumes it over the skills of g.
func resumed(t *testing.T, f, g *fixture, change func(*Options)) (*Session, ResumeReport) {
	t.Helper()
	text, err := json.Marshal(f.State())
	if err != nil {
		t.Fatal(err)
	}
	var st State
	if err := json.Unmarshal(text, &st); err != nil {
		t.Fatal(err)
	}
	o := g.o
	o.ID = ""
	if change != nil {
		change(&o)
	}
	s, report, err := Resume(t.Context(), st, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, report
}

func problems(r ResumeReport) string {
	var out []string
	for _, p := range r.Problems {
		out = append(out, fmt.Sprintf("%s %s %v", p.Name, p.Code, p.Active))
	}
	return strings.Join(out, ", ")
}

func TestASessionIsResumed(t *testing.T) {
	t.Parallel()
	tools := skill.Meta{AllowedTools: skill.ToolList{Declared: true, Entries: []string{"Read"}}}
	defs := []def{{name: "a", text: "hello $ARGUMENTS", meta: tools}, {name: "turn", text: "t", meta: skill.Meta{Scope: "turn"}}}
	f, g := newFixture(t, nil, defs...), newFixture(t, nil, defs...)
	turn := f.begin("")
	load(t, turn, "a", "big world")
	load(t, turn, "turn")
	patch := Patch{Owner: Owner{OwnerHost, "h"}, Prompt: text("host's"), Env: map[string]string{"KEY": "secret"}, Tools: &ToolPolicy{Deny: []string{"Bash"}, PreApprove: []string{"Grep"}}, Discovery: &Discovery{Discover: []string{"x"}}}
	if _, err := turn.Apply(patch, Provenance{Tool: "host"}); err != nil {
		t.Fatal(err)
	}
	turn.End()
	if text, _ := json.Marshal(f.State()); strings.Contains(string(text), "secret") || strings.Contains(string(text), "Grep") {
		t.Errorf("state holds %s", text)
	}
	s, report := resumed(t, f, g, nil)
	if s.ID() != "s1" || problems(report) != "h resume_env false" || !reflect.DeepEqual(report.Restored, []string{"a"}) {
		t.Fatalf("%s: %+v", s.ID(), report)
	}
	a, was := s.Active()[0], f.Active()[0]
	if !strings.Contains(a.Text, "hello big world") || a.Turn != 1 || a.Args != was.Args || a.TextDigest != was.TextDigest || !a.InResult {
		t.Errorf("%+v", a)
	}
	e, before := s.Effective(), f.Effective()
	if !reflect.DeepEqual(e.Allow, before.Allow) || !reflect.DeepEqual(e.Deny, before.Deny) || e.Prompt != "host's" || len(e.Discovered) != 1 || len(e.Env)+len(e.PreApproved) != 0 {
		t.Errorf("%+v", e)
	}
	next, err := s.Begin(t.Context(), TurnInput{})
	if err != nil || next.Number() != 2 {
		t.Errorf("turn %v %v", next.Number(), err)
	}
}

func TestWhatCannotBeResumedIsTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{name: "changed", text: "old"}, def{name: "gone", text: "x"}, def{name: "ok", text: "x"}, def{name: "lost", text: "x"})
	turn := f.begin("")
	for _, name := range []string{"changed", "gone", "ok", "lost"} {
		load(t, turn, name)
	}
	turn.End()
	g := newFixture(t, nil, def{name: "changed", text: "new"}, def{name: "ok", text: "x"}, def{name: "lost", text: "x"})
	rec, _ := g.snap.Lookup("lost")
	rec.Source.Trust = source.Untrusted
	s, report := resumed(t, f, g, nil)
	if got := problems(report); got != "changed resume_changed false, gone resume_gone false, lost resume_untrusted false" || names(s) != "ok" {
		t.Errorf("%s; active %s", got, names(s))
	}
}

func TestAChangedSkillGoesOnWithTheTextThatIsKept(t *testing.T) {
	t.Parallel()
	raw := []byte("---\nname: x\ndescription: d\n---\nthe former text\n")
	f := newFixture(t, nil, def{name: "x", text: "the former text"})
	rec, _ := f.snap.Lookup("x")
	rec.Skill.File = skill.FileDigest(raw)
	turn := f.begin("")
	load(t, turn, "x")
	turn.End()
	g := newFixture(t, nil, def{name: "x", text: "new"})
	s, report := resumed(t, f, g, func(o *Options) {
		o.Kept = func(d skill.Digest) ([]byte, bool) { return raw, d == skill.FileDigest(raw) }
	})
	if problems(report) != "x resume_changed true" || !strings.Contains(s.Active()[0].Text, "the former text") {
		t.Errorf("%+v %+v", report, s.Active())
	}
	next, _ := s.Begin(t.Context(), TurnInput{})
	if res := load(t, next, "x"); !strings.Contains(res.Text, "content changed since turn 1") || !strings.Contains(res.Text, "new") {
		t.Errorf("started again: %s", res.Text)
	}
}

func TestAResumedSkillGrantsNothingUntilItIsStartedAgain(t *testing.T) {
	t.Parallel()
	d := def{name: "x", text: "x", meta: skill.Meta{AllowedTools: skill.ToolList{Declared: true, Entries: []string{"Bash(make *)"}}}}
	claude := func(o *Options) { o.Dialect = skill.ClaudeCode }
	f, g := newFixture(t, claude, d), newFixture(t, claude, d)
	turn := f.begin("")
	host := ScopeSession
	must(turn.Activate(t.Context(), Request{Names: []string{"x"}, Actor: ActorHost, Scope: &host}))
	turn.End()
	granted := func(s *Session) int {
		n := len(s.Effective().PreApproved)
		for _, k := range s.ActiveSkills() {
			if k.Mode == gate.PreApprove {
				n += len(k.Allow.Entries)
			}
		}
		return n
	}
	s, _ := resumed(t, f, g, nil)
	if names(s) != names(f.Session) || granted(s) != 0 {
		t.Errorf("%s active, %d grants", names(s), granted(s))
	}
	next, _ := s.Begin(t.Context(), TurnInput{})
	if load(t, next, "x"); granted(s) != 2 {
		t.Errorf("%d grants after a new start", granted(s))
	}
}

func TestANewerStateIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	if _, _, err := Resume(t.Context(), State{Schema: 2}, f.o); err == nil || !strings.Contains(err.Error(), "schema 2") {
		t.Errorf("%v", err)
	}
}

func TestTheTextIsGivenAgainWhenItWasShortened(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{name: "small", text: "word"}, def{name: "large", text: strings.Repeat("a line of words\n", 3000)})
	turn := f.begin("")
	defer turn.End()
	load(t, turn, "small")
	load(t, turn, "large")
	if res := load(t, turn, "large"); !res.Loaded[0].Repeat {
		t.Fatal("no repeat")
	}
	for range 2 {
		f.Shortened(f.Fresh(FreshBudget{}))
	}
	if res := load(t, turn, "small"); !res.Loaded[0].Repeat {
		t.Error("what stands whole in the conversation is given again")
	}
	if res := load(t, turn, "large"); res.Loaded[0].Repeat {
		t.Error("what was cut is not given again")
	}
	if res := load(t, turn, "large"); !res.Loaded[0].Repeat {
		t.Error("it stands whole again")
	}
}
