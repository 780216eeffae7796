package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// DisabledKey is the key under which a store keeps the skills that are switched off by
// location in dialect minimax.
const DisabledKey = "standalone-skill-disabled-state"

// KeyValues is the part of a store that DisabledState needs: values by key. A nil
// value means that there is none. Implementations are safe for concurrent use.
type KeyValues interface {
	Value(ctx context.Context, key string) ([]byte, error)
	SetValue(ctx context.Context, key string, value []byte) error // nil removes the key
}

// DisabledState switches skills off by the location of their file, so that two links
// to one file share a switch and a renamed folder is on again. It implements
// Deactivator.
type DisabledState struct{ Store KeyValues }

type disabledValue struct {
	Version   int      `json:"version"`
	Locations []string `json:"disabledLocationUris"` // sorted
}

// DisabledLocations returns what is off, sorted. A value that is damaged, of another
// version or cannot be read switches nothing off.
func (d DisabledState) DisabledLocations(ctx context.Context) []string {
	raw, err := d.Store.Value(ctx, DisabledKey)
	var v disabledValue
	if err != nil || json.Unmarshal(raw, &v) != nil || v.Version != 1 {
		return nil
	}
	slices.Sort(v.Locations)
	return slices.Compact(v.Locations)
}

// Set switches the skill at a location off or on again. The key is removed with the
// last location.
func (d DisabledState) Set(ctx context.Context, location string, off bool) error {
	v := disabledValue{1, d.DisabledLocations(ctx)}
	i, has := slices.BinarySearch(v.Locations, location)
	switch {
	case off == has:
		return nil
	case off:
		v.Locations = slices.Insert(v.Locations, i, location)
	default:
		v.Locations = slices.Delete(v.Locations, i, i+1)
	}
	var raw []byte
	if len(v.Locations) > 0 {
		raw, _ = json.Marshal(v) // strings and a number
	}
	if err := d.Store.SetValue(ctx, DisabledKey, raw); err != nil {
		return fmt.Errorf("skill at %s: switch: %w", location, err)
	}
	return nil
}
