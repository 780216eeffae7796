package install_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/internal/lockfile"
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

// Another process that installs is waited for as long as a person says.
func TestALockIsWaitedForAsLongAsIsSaid(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	held, err := lockfile.Exclusive(t.Context(), filepath.Join(m.dir, "state", "install.lock"), lockfile.Options{Verb: "update"})
	if err != nil {
		t.Fatal(err)
	}
	m.wait = -1
	var busy *lockfile.BusyError
	if err := m.remove(t.Context(), "one"); !errors.As(err, &busy) || busy.Holder.Verb != "update" {
		t.Errorf("%v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	if err := m.remove(t.Context(), "one"); err != nil {
		t.Error(err)
	}
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
