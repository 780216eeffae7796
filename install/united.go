package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrLockMerge is a lock file with the marks of a merge, of which both sides say different
// things of one name: a person has to say which one holds.
var ErrLockMerge = errors.New("lock_conflict")

// The marks of a merge, as git writes them.
const (
	markOurs   = "<<<<<<< "
	markBase   = "||||||| "
	markHalf   = "======="
	markTheirs = ">>>>>>> "
)

// united is a lock file as it is, or where it holds the marks of a merge that is not done,
// what both sides say together. The error is ErrLockMerge.
func united(at string, src []byte) ([]byte, error) {
	ours, theirs, ok := sides(src)
	if !ok {
		return src, nil
	}
	a, errA := object(ours)
	b, errB := object(theirs)
	if errA != nil || errB != nil {
		return src, nil // no JSON on one side: whoever reads it says so
	}
	var differ []string
	whole := union(a, b, func(key string) {
		x, errX := object(a[key])
		y, errY := object(b[key])
		if errX != nil || errY != nil {
			differ = append(differ, key)
			return
		}
		part, err := encoded(union(x, y, func(name string) { differ = append(differ, name) }))
		if err != nil {
			differ = append(differ, key)
		}
		a[key] = part
	})
	if len(differ) > 0 {
		slices.Sort(differ)
		return nil, fmt.Errorf("%w: both sides of the merge in %s differ on %s; remove one side of each and its marks", ErrLockMerge, at, strings.Join(differ, ", "))
	}
	return encoded(whole)
}

// union is a with what b alone has; apart settles what both have with other values, in a.
func union(a, b map[string]json.RawMessage, apart func(key string)) map[string]json.RawMessage {
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if have, ok := a[key]; !ok {
			a[key] = b[key]
		} else if !bytes.Equal(compact(have), compact(b[key])) {
			apart(key)
		}
	}
	return a
}

func compact(v json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Compact(&out, v) != nil {
		return v
	}
	return out.Bytes()
}

// sides takes a file with the marks of a merge apart; false where there are none.
func sides(src []byte) (ours, theirs []byte, ok bool) {
	const both, first, base, second = 0, 1, 2, 3
	in := both
	for line := range bytes.Lines(src) {
		switch text := string(bytes.TrimRight(line, "\r\n")); {
		case in == both && strings.HasPrefix(text, markOurs):
			in, ok = first, true
		case in == first && strings.HasPrefix(text, markBase):
			in = base
		case (in == first || in == base) && text == markHalf:
			in = second
		case in == second && strings.HasPrefix(text, markTheirs):
			in = both
		default:
			if in == both || in == first {
				ours = append(ours, line...)
			}
			if in == both || in == second {
				theirs = append(theirs, line...)
			}
		}
	}
	return ours, theirs, ok && in == both
}
