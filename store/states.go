package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
)

// Switch is what a person saved about a skill.
type Switch string

// The switches. Deny is hard: no later layer lifts it.
const (
	On   Switch = "on"
	Off  Switch = "off"
	Deny Switch = "deny"
)

// SkillState is one saved switch: of every skill of a name, or of the one that a
// source has.
type SkillState struct {
	Key       string       // set by Set: Key(Name, Source)
	Name      string       // as typed
	Source    string       // id of the source; "" = every source
	Switch    Switch       //
	Tree      skill.Digest // of the skill when it was switched; "" = not known, follows no rename
	Reason    string       // as typed; may be ""
	UpdatedAt time.Time    // UTC, set by Set
	UpdatedBy string       // who, such as "cli"; may be ""
}

// Key returns the key of a switch: the name's comparison form, and "@" with the
// source's id when it is for that source alone.
func Key(name, source string) string {
	if source == "" {
		return fold.Key(name)
	}
	return fold.Key(name) + "@" + source
}

func skillStates() table[SkillState] {
	return table[SkillState]{
		"skill_state",
		[]string{"key", "name", "source_id", "switch", "tree_digest", "reason", "updated_at", "updated_by"},
		func(r *SkillState) []column {
			return []column{
				text(&r.Key), text(&r.Name), text(&r.Source), text(&r.Switch), text(&r.Tree), text(&r.Reason),
				at(&r.UpdatedAt), text(&r.UpdatedBy),
			}
		},
	}
}

// States are the saved switches of a Store.
type States struct{ s *Store }

// States returns the saved switches.
func (s *Store) States() States { return States{s} }

// Get returns the switch with a key, ErrNotFound without one.
func (t States) Get(ctx context.Context, key string) (SkillState, error) {
	return one(ctx, t.s, skillStates(), key)
}

// List returns every switch in the order of keys.
func (t States) List(ctx context.Context) ([]SkillState, error) {
	return listed(ctx, t.s, skillStates(), "")
}

// Set saves switches, each over the one with its key: all of them or, on error, none.
func (t States) Set(ctx context.Context, rows ...SkillState) error {
	rows = slices.Clone(rows)
	for i := range rows {
		r := &rows[i]
		r.Key = Key(r.Name, r.Source)
		if fold.Key(r.Name) == "" {
			return fmt.Errorf("%w: a switch without a name", ErrInvalid)
		}
		switch r.Switch {
		case On, Off, Deny:
		default:
			return fmt.Errorf("%w: switch %q of %s; want on, off or deny", ErrInvalid, r.Switch, r.Key)
		}
		if err := checkDigest("tree digest", r.Tree, true); err != nil {
			return err
		}
	}
	return t.s.update(ctx, "state.save", func(c *change) error {
		for _, r := range rows {
			r.UpdatedAt = c.now
			if err := skillStates().put(c, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Clear forgets the switch with a key. None there is no error.
func (t States) Clear(ctx context.Context, key string) error {
	return t.s.update(ctx, "state.save", func(c *change) error {
		return skillStates().drop(c, "key = ?", key)
	})
}

// Follow hands a switch on to the new name of a renamed skill, and reports whether
// it did: only when the tree is exactly the one that was switched, and the new key
// has no switch of its own. Whether the old name is gone is for the caller to know.
func (t States) Follow(ctx context.Context, oldKey, name, source string, tree skill.Digest) (followed bool, err error) {
	err = t.s.update(ctx, "state.save", func(c *change) error {
		rows, err := skillStates().list(ctx, c.tx, "key IN (?, ?)", oldKey, Key(name, source))
		if err != nil || len(rows) != 1 || rows[0].Key != oldKey || tree == "" || rows[0].Tree != tree ||
			fold.Key(name) == "" {
			return err
		}
		r := rows[0]
		if err := skillStates().drop(c, "key = ?", oldKey); err != nil {
			return err
		}
		r.Key, r.Name, r.Source, followed = Key(name, source), name, source, true
		return skillStates().put(c, r)
	})
	return followed && err == nil, err
}

// one returns the row with a key, ErrNotFound without one.
func one[R any](ctx context.Context, s *Store, t table[R], key string) (R, error) {
	rows, err := listed(ctx, s, t, t.columns[0]+" = ?", key)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%s %q: %w", t.name, key, ErrNotFound)
	}
	if err != nil {
		var none R
		return none, err
	}
	return rows[0], nil
}

func listed[R any](ctx context.Context, s *Store, t table[R], where string, args ...any) (rows []R, err error) {
	err = s.readState(ctx, func(q querier) error {
		rows, err = t.list(ctx, q, where, args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// checkDigest wants "sha256:" and 64 lower-case hex digits.
func checkDigest(what string, d skill.Digest, mayBeEmpty bool) error {
	if d == "" && mayBeEmpty {
		return nil
	}
	hex, ok := strings.CutPrefix(string(d), "sha256:")
	for i := 0; ok && i < len(hex); i++ {
		ok = hex[i] >= '0' && hex[i] <= '9' || hex[i] >= 'a' && hex[i] <= 'f'
	}
	if !ok || len(hex) != 64 {
		return fmt.Errorf("%w: %s %q; want sha256:<64 hex>", ErrInvalid, what, string(d))
	}
	return nil
}
