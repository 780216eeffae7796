package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

// Suite is one run of the tests.
type Suite struct {
	t     *testing.T
	open  func(t *testing.T, o store.Options) *store.Store
	place func(t *testing.T) blobs.Store // an empty one, for what keeps contents
	names []string
}

// Run runs every part on stores that open makes. Each call of open gives a Store with the
// given options on a database that is new for the test t and the same for every call
// with one t, and closes it when t ends. Options.DB is for open to set. Run returns the
// names of its tests, which run in parallel when it has returned.
func Run(t *testing.T, open func(t *testing.T, o store.Options) *store.Store) []string {
	t.Helper()
	s := &Suite{t: t, open: open, place: func(*testing.T) blobs.Store { return blobs.NewMemory() }}
	for _, part := range append(parts(), contents()...) {
		part(s)
	}
	return s.names
}

// RunContents is Run for the parts that keep contents, in empty places that place makes.
func RunContents(t *testing.T, open func(t *testing.T, o store.Options) *store.Store, place func(t *testing.T) blobs.Store) []string {
	t.Helper()
	s := &Suite{t: t, open: open, place: place}
	for _, part := range contents() {
		part(s)
	}
	return s.names
}

// parts of the suite, each in the file named after it.
func parts() []func(*Suite) {
	return []func(*Suite){state, tenants, sessions, agents, record, changes, usage, versions}
}

// contents are the parts that keep contents beside the database.
func contents() []func(*Suite) { return []func(*Suite){publishing, garbage} }

// testPlace is test with an empty place for contents.
func (s *Suite) testPlace(name string, f func(t *testing.T, st *store.Store, place blobs.Store)) {
	s.test(name, func(t *testing.T, st *store.Store) { f(t, st, s.place(t)) })
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
