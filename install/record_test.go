package install_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/deftskills/deft/install"
)

// recorder keeps what it is told, each change once.
type recorder struct {
	mu     sync.Mutex
	rows   []install.Change
	closed error
}

func (r *recorder) Ready(context.Context) error { return r.closed }

func (r *recorder) Record(_ context.Context, c install.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Again && slices.ContainsFunc(r.rows, func(have install.Change) bool { return have.ID == c.ID }) {
		return
	}
	r.rows = append(r.rows, c)
}

func (r *recorder) list() []install.Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rows)
}

func TestEveryChangeIsRecordedOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	steps := []struct {
		action string
		do     func() error
	}{
		{install.DidInstall, func() error { return m.add(t.Context(), "one") }},
		{install.DidPin, func() error { return m.installer().Pin(t.Context(), m.scope, "one", "x", nil) }},
		{install.DidPin, func() error { return m.installer().Pin(t.Context(), m.scope, "one", "", nil) }},
		{install.DidInstall, func() error { m.source("second"); return m.add(t.Context(), "one") }},
		{install.DidRollback, func() error { return m.rollback(t, "one") }},
		{install.DidRemove, func() error { return m.remove(t.Context(), "one") }},
	}
	for n, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.action, err)
		}
		rows := m.record.list()
		if len(rows) != n+1 || rows[n].Action != s.action || rows[n].Name != "one" || rows[n].Source.Type != install.Local {
			t.Fatalf("%s: %+v", s.action, rows)
		}
	}
	rows := m.record.list()
	if rows[0].From != "" || rows[0].To == "" || rows[3].From != rows[0].To || rows[4].From != rows[3].To || rows[4].To != rows[0].To || rows[5].To != "" {
		t.Errorf("digests: %+v", rows)
	}
}

func (m *machine) rollback(t *testing.T, name string) error {
	t.Helper()
	plan, err := m.installer().PlanRollback(t.Context(), m.scope, m.agents, name, "")
	if err != nil {
		return err
	}
	_, err = m.installer().Apply(t.Context(), plan, install.Answers{})
	return err
}

// A change of which nobody could tell later is not made.
func TestWhatCannotBeRecordedIsNotDone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	was := m.state("one")
	m.record.closed = errors.New("the history is shut")
	if err := m.add(t.Context(), "one"); !errors.Is(err, m.record.closed) || m.state("one") != was {
		t.Errorf("%v: %s", err, m.state("one"))
	}
}
