package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// locationsKey is where the dialect minimax keeps which skills are off: by location,
// so that a skill that moved is on again, and two links to one target share it.
const locationsKey = "dialect/minimax/standalone-skill-disabled-state"

// locations is the value under locationsKey, in the form that dialect knows.
type locations struct {
	Version  int      `json:"version"`
	Disabled []string `json:"disabledLocationUris"` // sorted, each once
}

// SwitchLocations turns the skills at locations off or on again, for the dialect
// minimax: all of them or, on error, none. The uris are compared as they stand.
func (s *Store) SwitchLocations(ctx context.Context, off bool, uris ...string) error {
	if slices.Contains(uris, "") {
		return fmt.Errorf("%w: a location without a uri", ErrInvalid)
	}
	return s.update(ctx, "state.save", func(c *change) error {
		value, err := metaText(ctx, c.tx, locationsKey)
		if err != nil {
			return err
		}
		before := readLocations(value)
		after := slices.DeleteFunc(slices.Clone(before), func(uri string) bool { return slices.Contains(uris, uri) })
		if off {
			after = append(after, uris...)
			slices.Sort(after)
			after = slices.Compact(after)
		}
		if slices.Equal(before, after) {
			return nil
		}
		return putLocations(c, value, after)
	})
}

// putLocations writes the list over the value before; an empty list leaves no row.
func putLocations(c *change, before string, uris []string) error {
	c.changed = true
	c.note("meta", locationsKey)
	c.total -= locationsSum(before)
	if len(uris) == 0 {
		_, err := c.tx.ExecContext(c.ctx, "DELETE FROM meta WHERE "+tenant+" AND key = ?", locationsKey)
		return err
	}
	value, err := json.Marshal(locations{1, uris})
	if err != nil {
		return err
	}
	c.total += locationsSum(string(value))
	return putMeta(c, locationsKey, string(value))
}

// readLocations returns the list of a value. A value that is none turns nothing off,
// as that dialect has it.
func readLocations(value string) []string {
	var l locations
	if json.Unmarshal([]byte(value), &l) != nil || l.Version != 1 {
		return nil
	}
	slices.Sort(l.Disabled)
	return slices.Compact(l.Disabled)
}

// locationsSum is the value's part in the total; a row that is not there has none.
func locationsSum(value string) uint64 {
	if value == "" {
		return 0
	}
	return digestSum(digestText([]byte(locationsKey), value))
}

// metaText returns a value of the table meta, "" when it is not there.
func metaText(ctx context.Context, q querier, key string) (string, error) {
	var v string
	err := q.QueryRowContext(ctx, "SELECT value FROM meta WHERE "+tenant+" AND key = ?", key).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return v, err
}

func putMeta(c *change, key, value string) error {
	_, err := c.tx.ExecContext(c.ctx, "INSERT INTO meta (tenant, key, value) VALUES (:tenant, ?, ?)"+
		" ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value", key, value)
	return err
}
