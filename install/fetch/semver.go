package fetch

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// semver is a version: three numbers, and the parts of a prerelease.
type semver struct {
	n   [3]uint64
	pre []string
}

var versionForm = regexp.MustCompile(`^v?(\d{1,15})\.(\d{1,15})\.(\d{1,15})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$`)

func parseVersion(s string) (v semver, ok bool) {
	m := versionForm.FindStringSubmatch(s)
	if m == nil {
		return v, false
	}
	for i := range v.n {
		v.n[i], _ = strconv.ParseUint(m[i+1], 10, 64) // fifteen digits
	}
	if m[4] != "" {
		v.pre = strings.Split(m[4], ".")
	}
	return v, true
}

// compare is the order of versions: a prerelease comes before what it precedes.
func (v semver) compare(w semver) int {
	if c := slices.Compare(v.n[:], w.n[:]); c != 0 {
		return c
	}
	switch {
	case len(v.pre) == 0 || len(w.pre) == 0:
		return cmp.Compare(len(w.pre), len(v.pre)) // none is after any
	}
	return slices.CompareFunc(v.pre, w.pre, func(a, b string) int {
		x, errX := strconv.ParseUint(a, 10, 64)
		y, errY := strconv.ParseUint(b, 10, 64)
		switch {
		case errX == nil && errY == nil:
			return cmp.Compare(x, y)
		case errX == nil:
			return -1
		case errY == nil:
			return 1
		}
		return cmp.Compare(a, b)
	})
}

// versions are those from low on and below high; high nil = without an end.
type versions struct {
	low  semver
	high *semver
}

var rangeForm = regexp.MustCompile(`^(\^|~|>=|>|<=|<|=)?v?(\d{1,15}|[xX*])(?:\.(\d{1,15}|[xX*]))?(?:\.(\d{1,15}|[xX*]))?(-[0-9A-Za-z.-]+)?$`)

// parseRange reads one comparison of npm's: ^1.2, ~1.2.3, 1.x, >=2, *.
func parseRange(s string) (r versions, ok bool) {
	m := rangeForm.FindStringSubmatch(s)
	if m == nil {
		return r, false
	}
	given := 0 // how many numbers are
	var at semver
	for _, part := range m[2:5] {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			break
		}
		at.n[given] = n
		given++
	}
	if m[5] != "" {
		if given < 3 {
			return r, false
		}
		at.pre = strings.Split(m[5][1:], ".")
	}
	if given == 0 {
		return versions{}, m[1] != "<" && m[1] != ">"
	}
	switch m[1] {
	case ">=":
		return versions{low: at}, true
	case ">":
		low := at.above(given - 1)
		if len(at.pre) == 0 {
			low.pre = nil
		}
		return versions{low: low}, true
	case "<":
		if len(at.pre) == 0 {
			at.pre = []string{"0"}
		}
		return versions{high: &at}, true
	case "<=":
		high := at.above(given - 1)
		return versions{high: &high}, true
	case "^":
		first := slices.IndexFunc(at.n[:given], func(n uint64) bool { return n != 0 })
		if first < 0 {
			first = given - 1
		}
		high := semver{n: at.n}.above(first)
		return versions{at, &high}, true
	case "~":
		high := at.above(min(1, given-1))
		return versions{at, &high}, true
	}
	high := at.above(given - 1)
	return versions{at, &high}, true
}

// above is the first version that is greater at one of the numbers, its prereleases
// included.
func (v semver) above(at int) semver {
	out := semver{pre: []string{"0"}}
	copy(out.n[:], v.n[:at+1])
	if at == 2 && len(v.pre) > 0 {
		out.pre = append(slices.Clone(v.pre), "0") // the prerelease itself is the last one below
		return out
	}
	out.n[at]++
	return out
}

// has reports whether a version is one of r. A prerelease is only where r begins with one
// of the same version.
func (r versions) has(v semver) bool {
	if len(v.pre) > 0 && (len(r.low.pre) == 0 || r.low.n != v.n) {
		return false
	}
	return v.compare(r.low) >= 0 && (r.high == nil || v.compare(*r.high) < 0)
}

// newest is the greatest of a list that a range has, "" where none is.
func (r versions) newest(list []string) string {
	best, at := "", semver{}
	for _, s := range list {
		if v, ok := parseVersion(s); ok && r.has(v) && (best == "" || v.compare(at) > 0) {
			best, at = s, v
		}
	}
	return best
}
