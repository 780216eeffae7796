//go:build unix

package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deftskills/deft/gate"
)

// thousand writes a chain of that many rows.
func thousand(t *testing.T, s *Store) {
	t.Helper()
	const batch = 50
	for i := range 1000 / batch {
		must(t, s.write(t.Context(), "audit.insert", func(tx *tx) error {
			var rows []gate.Row
			for j := range batch {
				rows = append(rows, gate.Row{
					Time: tx.now, Session: "s1", Trace: "t_1", Turn: "1", Call: fmt.Sprint("c", i*batch+j), Tool: "look", Tier: gate.ReadOnly,
					Ceiling: gate.ManualOnly, Verdict: gate.Allow, Code: gate.CodeReadOnly,
				})
			}
			return s.keepDecisions(t.Context(), tx, rows...)
		}))
	}
}

func TestEveryChangeInAThousandRowsIsFound(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, db string) {
		s := reopen(t, db)
		thousand(t, s)
		report, err := s.Audit().Verify(t.Context())
		if err != nil || len(report.Broken) > 0 || report.Rows != 1000 {
			t.Fatalf("%+v, %v", report, err)
		}
		undo := errors.New("undo")
		for name, c := range map[string]struct {
			change string
			seq    int64
		}{
			"one byte":      {"UPDATE tier_events SET tool = 'lopk' WHERE seq = 437", 437},
			"a number":      {"UPDATE tier_events SET tier = tier + 1 WHERE seq = 1", 1},
			"a list":        {"UPDATE tier_events SET stages = '[\"decide\"]' WHERE seq = 999", 999},
			"a hash":        {"UPDATE tier_events SET hash = prev WHERE seq = 12", 12},
			"no hash":       {"UPDATE tier_events SET hash = 'x' WHERE seq = 12", 12},
			"a gap":         {"DELETE FROM tier_events WHERE seq = 500", 500},
			"a cut tail":    {"DELETE FROM tier_events WHERE seq > 990", 991},
			"a head back":   {"UPDATE audit_heads SET seq = 990", 991},
			"another head":  {"UPDATE audit_heads SET hash = cut_hash", 1000},
			"no head":       {"DELETE FROM audit_heads", 1},
			"another chain": {"UPDATE tier_events SET chain = 'session:s0' WHERE seq = 1000", 1000},
			"a time":        {"UPDATE tier_events SET ts = ts - 1 WHERE seq = 3", 3},
		} {
			// Looked at from inside a transaction that is undone.
			err := s.write(t.Context(), "audit.insert", func(tx *tx) error {
				if _, err := tx.ExecContext(t.Context(), c.change); err != nil {
					return err
				}
				report, err := verify(t.Context(), tx)
				if err != nil {
					return err
				}
				if len(report.Broken) == 0 || report.Broken[0].Seq != c.seq {
					t.Errorf("%s: %+v, want row %d", name, report.Broken, c.seq)
				}
				return undo
			})
			if !errors.Is(err, undo) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Of sixty-four callers at once as many are allowed as the grant has uses, and each is told
// what its row says.
func TestSixtyFourCallersShareAGrant(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, db string) {
		s := reopen(t, db)
		const uses, callers = 10, 64
		_, err := s.Gate(nil).AddGrant(t.Context(), jobGrant("swap", uses))
		must(t, err)
		g, err := recordedGate(s)
		must(t, err)
		var allowed, denied atomic.Int32
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				switch d, err := g.Check(t.Context(), job(fmt.Sprint("c", i), fmt.Sprint("s", i%5), "swap")); {
				case err != nil:
					t.Error(err)
				case d.Verdict == gate.Allow && d.Code == "grant":
					allowed.Add(1)
				case d.Verdict == gate.Deny && d.Code == gate.CodeNoGrant:
					denied.Add(1)
				default:
					t.Errorf("%+v", d)
				}
			})
		}
		all.Wait()
		st := recordOf(t, s)
		if allowed.Load() != uses || denied.Load() != callers-uses || st.Rows["grant"] != uses || st.Rows[gate.CodeNoGrant] != callers-uses ||
			st.Grants["job:x swap"] != uses {
			t.Errorf("%d allowed, %d denied, %+v", allowed.Load(), denied.Load(), st)
		}
	})
}

// A grant that is damaged or of a newer release covers nothing, and is told once.
func TestUnreadGrantsCoverNothingAndAreToldOnce(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, db string) {
		s := reopen(t, db)
		for _, tool := range []string{"swap", "note", "look"} {
			_, err := s.Gate(nil).AddGrant(t.Context(), jobGrant(tool, 0))
			must(t, err)
		}
		must(t, s.write(t.Context(), "grant.save", func(tx *tx) error {
			_, err := tx.ExecContext(t.Context(), "UPDATE grants SET reason = 'x' WHERE tool = 'swap'")
			_, err2 := tx.ExecContext(t.Context(), "UPDATE grants SET format = 2 WHERE tool = 'note'")
			return errors.Join(err, err2)
		}))
		var said []error
		g := s.Gate(func(err error) { said = append(said, err) })
		for range 3 {
			for _, tool := range []string{"swap", "note"} {
				found, err := g.Candidates(t.Context(), gate.GrantQuery{Principal: "job:x", Tool: tool, Now: time.Now()})
				if err != nil || len(found) != 0 {
					t.Errorf("%s: %+v, %v", tool, found, err)
				}
			}
		}
		if len(said) != 1 || !errors.Is(said[0], ErrDamaged) || !errors.Is(said[0], ErrNewerSchema) {
			t.Errorf("told %v", said)
		}
		all, err := g.Grants(t.Context())
		if len(all) != 1 || !errors.Is(err, ErrDamaged) {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// The figure is a decision with its row on disk, 2 ms.
func BenchmarkDecisionWithRow(b *testing.B) {
	s, err := Open(b.Context(), Options{DB: filepath.Join(b.TempDir(), "deft.db")})
	must(b, err)
	defer s.Close()
	g, err := recordedGate(s)
	must(b, err)
	for i := 0; b.Loop(); i++ {
		if d, err := g.Check(b.Context(), person(fmt.Sprint("c", i), "s1", "look")); err != nil || d.Verdict != gate.Allow {
			b.Fatalf("%+v, %v", d, err)
		}
	}
}
