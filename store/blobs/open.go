package blobs

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Places are further kinds of places, by the scheme of their addresses.
type Places map[string]func(address string) (Store, error)

// Open returns the store at a place: "file:PATH", an absolute path, or "mem:", which ends
// with the process; others may be added. Damaged files of a folder go to aside. ErrDSN.
func Open(place, aside string, more Places) (Store, error) {
	scheme, rest, ok := strings.Cut(place, ":")
	switch {
	case ok && scheme == "file":
		if !filepath.IsAbs(rest) {
			return nil, fmt.Errorf("%w: %q is not an absolute path", ErrDSN, rest)
		}
		return &Dir{Path: filepath.Clean(rest), Aside: aside}, nil
	case ok && scheme == "mem" && rest == "":
		return NewMemory(), nil
	case ok && more[scheme] != nil:
		return more[scheme](place)
	}
	if !ok {
		scheme = ""
	}
	// What follows the scheme may hold a secret.
	known := append([]string{"file", "mem"}, slices.Sorted(maps.Keys(more))...)
	return nil, fmt.Errorf("%w: unknown scheme %q; want one of %s", ErrDSN, scheme, strings.Join(known, ", "))
}
