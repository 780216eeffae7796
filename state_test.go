package deft_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// mind is a person who changes it.
type mind struct {
	now atomic.Pointer[registry.Decisions]
}

func (m *mind) Decide(context.Context) registry.Decisions { return *m.now.Load() }

func (m *mind) set(d registry.Decisions) { m.now.Store(&d) }

func TestDecisionsOfAPersonAreFollowedAtTheNextRefresh(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, top, map[string]string{
		".git/HEAD": "", ".claude/skills/helper/SKILL.md": "---\nname: helper\ndescription: Helps.\nallowed-tools: Bash\n---\n\nHelp.\n",
	})
	m := &mind{}
	m.set(registry.Decisions{})
	e, err := deft.Open(t.Context(), deft.Options{Workspace: top, State: m})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	is := func(want registry.State, granted bool) {
		t.Helper()
		snap, err := e.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := snap.Lookup("helper")
		if err != nil || r.State != want {
			t.Fatalf("helper is %v, %v; want %s", r, err, want)
		}
		if want != registry.Available {
			return
		}
		s, err := e.NewSession(t.Context(), deft.SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, err := s.Plan(t.Context(), deft.Input{Text: "x", Origin: gate.Interactive, Skills: []agent.Preload{{Name: "helper", By: "user"}}})
		if err != nil || len(p.Active) != 1 || p.Active[0].Granted != granted {
			t.Errorf("granted, want %v: %+v %v", granted, p.Active, err)
		}
	}
	is(registry.Untrusted, false)
	trusted := []registry.Folder{{Root: top}}
	m.set(registry.Decisions{Folders: trusted})
	is(registry.Available, false)
	r, _ := e.Snapshot().Lookup("helper")
	code, err := e.Code(t.Context(), r)
	if err != nil || code.Nothing() || len(code.Tools) != 1 || code.Files != 1 {
		t.Fatalf("code: %+v %v", code, err)
	}
	grants := []registry.Grant{{Name: "helper", Source: r.Source.ID, Tree: code.Tree, Tools: code.Tools}}
	m.set(registry.Decisions{Folders: trusted, Grants: grants})
	is(registry.Available, true)
	write(t, top, map[string]string{".claude/skills/helper/scripts/run.sh": "#!/bin/sh\n"})
	is(registry.Available, false) // the tree is another one
	m.set(registry.Decisions{Folders: trusted, Grants: grants, Switches: registry.Switches{DefaultOff: []registry.Rule{{Pattern: "helper", File: "test"}}}})
	is(registry.Disabled, false)
	m.set(registry.Decisions{Folders: []registry.Folder{{Root: top, Refused: true}}})
	is(registry.Untrusted, false)
	if r, _ := e.Snapshot().Lookup("helper"); r.Source.Trust != source.Denied {
		t.Errorf("trust %s", r.Source.Trust)
	}
}
