// Package merge3 merges two changes of one text, line by line.
//
// What belongs here: finding which lines both sides kept, and what each made of the
// rest. What may not come in: files, names, and any decision about a conflict.
package merge3

import (
	"bytes"
)

// The marks around both sides of a conflict, as people know them from git.
const (
	markLocal  = "<<<<<<< local\n"
	markSplit  = "=======\n"
	markRemote = ">>>>>>> remote\n"
)

// maxCells bounds the table of the comparison: two texts of 4,000 changed lines each.
const maxCells = 16 << 20

// Merge returns what comes of base when both changes are made. ok is false when both
// changed the same lines in different ways: out then holds both sides between marks.
// Line endings stay as they are. Texts too long to compare count as one conflict.
func Merge(base, local, remote []byte) (out []byte, ok bool) {
	b, l, r := lines(base), lines(local), lines(remote)
	toLocal, okL := match(b, l)
	toRemote, okR := match(b, r)
	if !okL || !okR {
		return conflict(nil, local, remote), false
	}
	ok = true
	var bi, li, ri int
	for bi <= len(b) {
		// The next base line that both sides kept ends the region before it.
		at := bi
		for at < len(b) && (toLocal[at] < 0 || toRemote[at] < 0) {
			at++
		}
		le, re := len(l), len(r)
		if at < len(b) {
			le, re = toLocal[at], toRemote[at]
		}
		fits := true
		out, fits = region(out, b[bi:at], l[li:le], r[ri:re])
		ok = ok && fits
		if at == len(b) {
			break
		}
		out = append(out, b[at]...)
		bi, li, ri = at+1, le+1, re+1
	}
	return out, ok
}

// region adds what comes of a stretch that at least one side changed.
func region(out []byte, b, l, r [][]byte) ([]byte, bool) {
	switch {
	case same(l, r), same(b, r):
		return join(out, l), true
	case same(b, l):
		return join(out, r), true
	}
	return conflict(out, join(nil, l), join(nil, r)), false
}

func conflict(out, local, remote []byte) []byte {
	out = append(out, markLocal...)
	out = ended(append(out, local...))
	out = append(out, markSplit...)
	out = ended(append(out, remote...))
	return append(out, markRemote...)
}

// ended is a text that ends with its line, so that a mark stands on one of its own.
func ended(b []byte) []byte {
	if len(b) > 0 && b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	return b
}

func lines(b []byte) [][]byte {
	var out [][]byte
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n') + 1
		if end == 0 {
			end = len(b)
		}
		out = append(out, b[:end])
		b = b[end:]
	}
	return out
}

func same(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func join(out []byte, list [][]byte) []byte {
	for _, l := range list {
		out = append(out, l...)
	}
	return out
}

// match returns for each line of a its line in b, -1 where it is not kept: a longest
// common subsequence, the ends taken off first.
func match(a, b [][]byte) ([]int, bool) {
	to := make([]int, len(a))
	for i := range to {
		to[i] = -1
	}
	from := 0
	for from < len(a) && from < len(b) && bytes.Equal(a[from], b[from]) {
		to[from] = from
		from++
	}
	endA, endB := len(a), len(b)
	for endA > from && endB > from && bytes.Equal(a[endA-1], b[endB-1]) {
		endA, endB = endA-1, endB-1
		to[endA] = endB
	}
	n, m := endA-from, endB-from
	if n == 0 || m == 0 {
		return to, true
	}
	if n*m > maxCells {
		return nil, false
	}
	width := m + 1
	longest := make([]int32, (n+1)*width)
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if bytes.Equal(a[from+i], b[from+j]) {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case bytes.Equal(a[from+i], b[from+j]):
			to[from+i] = from + j
			i, j = i+1, j+1
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return to, true
}
