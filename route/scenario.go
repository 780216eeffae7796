package route

import (
	"cmp"
	"slices"
)

// Scenario is a situation that a person wrote down: words that show it, the skills that
// help, and what to do.
type Scenario struct {
	ID       string
	Primary  bool     // at most one such applies to a request; else it is composable
	Keywords []string // matched as those of skills are
	Skills   []string // that are started
	Playbook string   // for the model
	Examples []string // requests that it is for, for a model that chooses
	Path     string   // of its file
}

// maxComposable is how many scenarios stand beside the primary one: more are no plan.
const maxComposable = 3

// Scenarios finds the scenarios of a message. It is immutable.
type Scenarios struct {
	list    []Scenario // by id
	machine *automaton
	of      [][]int // scenarios that a pattern shows
}

// CompileScenarios prepares scenarios. Keywords that are empty after normalisation show
// nothing.
func CompileScenarios(list []Scenario) *Scenarios {
	s := &Scenarios{list: slices.Clone(list)}
	slices.SortStableFunc(s.list, func(a, b Scenario) int { return cmp.Compare(a.ID, b.ID) })
	at := map[string][]int{}
	for i, c := range s.list {
		for _, word := range c.Keywords {
			if norm := Normalise(word); norm != "" && !slices.Contains(at[norm], i) {
				at[norm] = append(at[norm], i)
			}
		}
	}
	var patterns []string
	for norm := range at {
		patterns = append(patterns, norm)
	}
	slices.Sort(patterns)
	for _, norm := range patterns {
		s.of = append(s.of, at[norm])
	}
	s.machine = newAutomaton(patterns)
	return s
}

// All returns the scenarios, by id.
func (s *Scenarios) All() []Scenario { return slices.Clone(s.list) }

// Match returns the scenarios whose keywords stand in a message: the primary one, if there
// is one, then the composable ones. More different keywords come first, then the id.
func (s *Scenarios) Match(message string) []Scenario {
	text := Normalise(clip(message, 64<<10))
	seen, hits := make([]bool, len(s.of)), make([]int, len(s.list))
	s.machine.matches(text, func(p int32, from, to int) bool {
		if !seen[p] && whole(text, from, to) {
			seen[p] = true
			for _, i := range s.of[p] {
				hits[i]++
			}
		}
		return true
	})
	var found []int
	for i := range s.list {
		if hits[i] > 0 {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(hits[b], hits[a]) })
	return s.bounded(found)
}

// Named returns the scenarios of these ids, bounded as those of Match; unknown ids say
// nothing.
func (s *Scenarios) Named(ids []string) []Scenario {
	var found []int
	for _, id := range ids {
		i := slices.IndexFunc(s.list, func(c Scenario) bool { return c.ID == id })
		if i >= 0 && !slices.Contains(found, i) {
			found = append(found, i)
		}
	}
	return s.bounded(found)
}

func (s *Scenarios) bounded(found []int) []Scenario {
	var primary, composable []Scenario
	for _, i := range found {
		switch c := s.list[i]; {
		case c.Primary && len(primary) == 0:
			primary = append(primary, c)
		case !c.Primary && len(composable) < maxComposable:
			composable = append(composable, c)
		}
	}
	return append(primary, composable...)
}
