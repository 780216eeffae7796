package toolset

import (
	"fmt"
	"maps"
	"slices"
)

// Set holds tools by their exposed name. It is immutable and safe for concurrent use.
type Set struct{ byName map[string]Tool }

// NewSet returns the set of the tools. Two tools of one name are a fault of the
// program that put them together.
func NewSet(tools ...Tool) (Set, error) {
	s := Set{byName: make(map[string]Tool, len(tools))}
	for _, t := range tools {
		name := t.Spec().Name
		if _, ok := s.byName[name]; ok || name == "" {
			return Set{}, fmt.Errorf("tool %q: the name is empty or taken", name)
		}
		s.byName[name] = t
	}
	return s, nil
}

// Get returns the tool of that name.
func (s Set) Get(name string) (Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// Names returns the names, sorted.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }

// All returns the tools, sorted by name.
func (s Set) All() []Tool {
	out := make([]Tool, 0, len(s.byName))
	for _, name := range s.Names() {
		out = append(out, s.byName[name])
	}
	return out
}

// Only returns the set of those tools of s for which keep is true.
func (s Set) Only(keep func(name string) bool) Set {
	out := Set{byName: map[string]Tool{}}
	for name, t := range s.byName {
		if keep(name) {
			out.byName[name] = t
		}
	}
	return out
}
