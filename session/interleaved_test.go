package session

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// TestTwoSessionsSeeNothingOfEachOther runs 1,000 turns of two sessions of one process at
// once, with other skills, folders, policies and environments.
func TestTwoSessionsSeeNothingOfEachOther(t *testing.T) {
	t.Parallel()
	open := func(own string) *Session {
		reg, err := registry.Open(t.Context(), registry.Config{Sources: []source.Source{source.Data([]source.Definition{{
			Name: own, Description: "of " + own, Content: "text of " + own, AllowedTools: []string{own + "_tool"}, Paths: []string{own + "/**"},
			Effects: map[string]any{"environment": map[string]any{own: own}, "promptAppend": "prompt of " + own},
		}}, source.DataOptions{})}})
		if err != nil {
			t.Error(err)
		}
		s, err := New(t.Context(), Options{Snapshots: reg, ProjectDir: "/" + own, Base: Base{Floor: Policy{Deny: []string{own + "_denied"}}}})
		if err != nil {
			t.Error(err)
		}
		return s
	}
	sessions := map[string]*Session{"left": open("left"), "right": open("right")}
	var wg sync.WaitGroup
	for own, s := range sessions {
		other := map[string]string{"left": "right", "right": "left"}[own]
		wg.Go(func() {
			for i := range 500 {
				turn, err := s.Begin(t.Context(), TurnInput{Text: "look at " + other + "/a.go"})
				if err != nil {
					t.Error(err)
					return
				}
				turn.Touch("/" + own + "/" + own + "/a.go")
				if res := load(t, turn, other); len(res.Loaded) > 0 {
					t.Errorf("%s starts %s", own, other)
				}
				if res := load(t, turn, own, fmt.Sprint(i)); len(res.Loaded) != 1 {
					t.Errorf("%s: %+v", own, res.Refused)
				}
				seen := fmt.Sprintf("%+v %+v %+v", s.Effective(), s.Active(), s.Fresh(FreshBudget{}))
				if strings.Contains(seen, other) || s.Effective().Env[own] != own {
					t.Errorf("%s sees %s", own, seen)
				}
				turn.End()
			}
		})
	}
	wg.Wait()
}
