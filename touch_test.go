package deft_test

import (
	"encoding/json"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/casetest"
	"github.com/deftskills/deft/registry"
)

func TestCase023SkillsOfAPackageJoinTheTurnAfterATouch(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "023")
	e := open(t, deft.Options{Workspace: c.Project, Home: c.Home, Project: registry.ProjectAlways, NoBuiltin: true})
	session := func() *deft.Session { return newSession(t, e, deft.SessionOptions{}) }
	s, other := session(), session()
	in := func(text string) deft.Input {
		return deft.Input{Text: text, Origin: gate.Interactive, Principal: "user"}
	}
	names := func(s *deft.Session, text string) (list []string) {
		p, err := s.Plan(t.Context(), in(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Snapshot.Winners {
			list = append(list, r.Address)
		}
		return list
	}
	is := func(what string, got []string, want int) {
		t.Helper()
		if len(got) != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	is("before", names(s, "hello there"), 1)

	// The session's own tool reads a file of the package.
	turn, err := s.Begin(t.Context(), in("what is in the cart"))
	if err != nil {
		t.Fatal(err)
	}
	args, _ := json.Marshal(map[string]string{"path": "packages/shop/src/cart.txt"})
	if got := turn.Call(model.Call{ID: "1", Name: "read", Input: args}); len(got) != 1 || got[0].IsError {
		t.Fatalf("read: %+v", got)
	}
	turn.End()
	is("after the touch", names(s, "hello again"), 3)
	is("a turn that touches nothing", names(s, "go on"), 3)
	is("another session", names(other, "hello"), 1)

	// Work outside of the package as well: its copy of a name is the second one.
	s.Touch("README.md")
	p, err := s.Plan(t.Context(), in("/top"))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Active) != 1 || p.Active[0].Record.Source.Package != "" {
		t.Errorf("top outside of the package: %+v", p.Active)
	}

	// A request that names the file needs no turn between.
	is("named", names(other, "look at `packages/shop/src/cart.txt`, please"), 3)
	is("named and not there", names(session(), "look at packages/shop/src/none.txt"), 1)
}
