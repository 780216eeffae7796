package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/deftskills/deft/store"
)

// Suite is one run of the tests.
type Suite struct {
	t     *testing.T
	open  func(t *testing.T, o store.Options) *store.Store
	names []string
}

// Run runs every part on stores that open makes. Each call of open gives a Store with the
// given options on a database that is new for the test t and the same for every call
// with one t, and closes it when t ends. Options.DB is for open to set. Run returns the
// names of its tests, which run in parallel when it has returned.
func Run(t *testing.T, open func(t *testing.T, o store.Options) *store.Store) []string {
	t.Helper()
	s := &Suite{t: t, open: open}
	for _, part := range parts() {
		part(s)
	}
	return s.names
}

// parts of the suite, each in the file named after it.
func parts() []func(*Suite) {
	return []func(*Suite){state, tenants, sessions, agents, record, changes, usage, versions, publishing}
}

// test runs f as a test of its own, with a Store on a new database.
func (s *Suite) test(name string, f func(t *testing.T, st *store.Store)) {
	s.testOpen(name, func(t *testing.T, open func(o store.Options) *store.Store) { f(t, open(store.Options{})) })
}

// testOpen is test for what opens its stores itself: as another tenant, or twice.
func (s *Suite) testOpen(name string, f func(t *testing.T, open func(o store.Options) *store.Store)) {
	s.names = append(s.names, name)
	s.t.Run(name, func(t *testing.T) {
		t.Parallel()
		f(t, func(o store.Options) *store.Store { return s.open(t, o) })
	})
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, s *store.Store) store.State {
	t.Helper()
	st, err := s.Load(context.Background())
	must(t, err)
	return st
}
