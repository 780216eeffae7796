package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// State is everything that was decided, of one moment, as plain values. The zero
// value is a machine on which nobody decided anything.
type State struct {
	Version  int64 // of Store.Version at that moment
	Switches []SkillState
	Profiles []Profile
	Choices  []Choice
	Folders  []Folder // standing decisions only
	Grants   []Grant  // standing ones only
	// Locations are the uris that SwitchLocation turned off, sorted; only the dialect
	// minimax heeds them.
	Locations []string
}

// Load returns all state in one consistent read, every row checked. Without a file it
// is the zero State, and nothing is created. With ErrDamaged it still returns the
// switches, profiles, choices and locations whose rows are sound, so that what was denied stays
// denied, and never a folder or a grant.
func (s *Store) Load(ctx context.Context) (State, error) {
	var st State
	err := s.readState(ctx, func(q querier) (err error) {
		st, err = loadAll(ctx, q)
		return err
	})
	if errors.Is(err, ErrDamaged) {
		return s.b.salvage(ctx), err
	}
	if err != nil {
		return State{}, err
	}
	return st, nil
}

// Version returns a number that is another one after every change, by whichever
// process; 0 without a file. It is cheap: one row, nothing is checked.
func (s *Store) Version(ctx context.Context) (n int64, err error) {
	err = s.readState(ctx, func(q querier) (err error) {
		n, err = metaNumber(ctx, q, "version")
		return err
	})
	return n, err
}

// loadAll reads every table and compares the total: a row that vanished leaves no
// wrong sum behind, but it leaves a wrong total.
func loadAll(ctx context.Context, q querier) (st State, err error) {
	if st.Version, err = metaNumber(ctx, q, "version"); err != nil {
		return State{}, err
	}
	want, err := metaNumber(ctx, q, "total")
	if err != nil {
		return State{}, err
	}
	off, err := metaText(ctx, q, locationsKey)
	if err != nil {
		return State{}, err
	}
	total := locationsSum(off)
	var rows []trustRow
	if err := errors.Join(
		collect(ctx, q, skillStates(), &st.Switches, &total),
		collect(ctx, q, profiles(), &st.Profiles, &total),
		collect(ctx, q, choices(), &st.Choices, &total),
		collect(ctx, q, trusts(), &rows, &total),
	); err != nil {
		return State{}, err
	}
	if total != uint64(want) {
		return State{}, &rowDamage{"meta", "total"}
	}
	st.Folders, st.Grants, st.Locations = folders(rows), grants(rows), readLocations(off)
	return st, nil
}

func collect[R any](ctx context.Context, q querier, t table[R], rows *[]R, total *uint64) error {
	err := t.each(ctx, q, "", nil, func(r R, sum uint64) {
		*rows = append(*rows, r)
		*total += sum
	})
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	return nil
}

func sortBy[T any, K cmp.Ordered](rows []T, key func(T) K) {
	slices.SortFunc(rows, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}
