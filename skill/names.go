package skill

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
)

// PrefixNames is a Names that can also answer for a pattern with a trailing "*".
type PrefixNames interface {
	Names
	// HasPrefix reports whether at least one name of the set starts with prefix.
	HasPrefix(prefix string) bool
}

// NameSet is an immutable Names, safe for concurrent use. The zero value holds nothing.
type NameSet struct {
	names  []string // sorted, without doubles
	digest [32]byte
}

var _ PrefixNames = (*NameSet)(nil)

// NewNameSet returns the set of names; order and doubles have no influence.
func NewNameSet(names ...string) *NameSet {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	h := sha256.New()
	for _, n := range sorted {
		h.Write([]byte(n))
		h.Write([]byte{0})
	}
	s := &NameSet{names: sorted}
	h.Sum(s.digest[:0])
	return s
}

// Has reports whether name is in the set. It may be called on nil.
func (s *NameSet) Has(name string) bool {
	if s == nil {
		return false
	}
	_, ok := slices.BinarySearch(s.names, name)
	return ok
}

// HasPrefix reports whether a name of the set starts with prefix. It may be called on nil.
func (s *NameSet) HasPrefix(prefix string) bool {
	if s == nil {
		return false
	}
	i, _ := slices.BinarySearch(s.names, prefix)
	return i < len(s.names) && strings.HasPrefix(s.names[i], prefix)
}

// Digest identifies the set.
func (s *NameSet) Digest() [32]byte {
	if s == nil {
		return [32]byte{}
	}
	return s.digest
}

// List returns the names in bytewise order.
func (s *NameSet) List() []string {
	if s == nil {
		return nil
	}
	return slices.Clone(s.names)
}

// VersionNames is a Names that knows versions too.
type VersionNames interface {
	Names
	// Version returns the version of a name of the set, "" where it has none; ok is false
	// where that is not known.
	Version(name string) (version string, ok bool)
}

// VersionSet is an immutable set of names with their versions, safe for concurrent use.
type VersionSet struct {
	*NameSet
	versions map[string]string
	digest   [32]byte
}

var _ VersionNames = (*VersionSet)(nil)

// NewVersionSet returns the set of the names in of, with their versions; "" is none. of is
// not to be changed afterwards.
func NewVersionSet(of map[string]string) *VersionSet {
	s := &VersionSet{NameSet: NewNameSet(slices.Collect(maps.Keys(of))...), versions: of}
	h := sha256.New()
	for _, n := range s.names {
		h.Write([]byte(n + "\x00" + of[n] + "\x00"))
	}
	h.Sum(s.digest[:0])
	return s
}

// Version implements VersionNames.
func (s *VersionSet) Version(name string) (string, bool) {
	v, ok := s.versions[name]
	return v, ok
}

// Digest identifies the set.
func (s *VersionSet) Digest() [32]byte { return s.digest }
