package applog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"strings"
)

// Format is the version of the files that this release writes and reads.
const Format = 1

// Sentinels. A caller acts on each of them.
var (
	// ErrDamaged: a record in the middle is not as it was written. What stands before it
	// can be read. The error itself is a *DamageError.
	ErrDamaged = errors.New("log is damaged")
	// ErrNewer: a newer release wrote the log. Leave it alone.
	ErrNewer = errors.New("log is of a newer release")
	// ErrForeign: the file is another kind of log, or another one's.
	ErrForeign = errors.New("not this log")
	// ErrFull: the log has its greatest size. Nothing can be added.
	ErrFull = errors.New("log is full")
	// ErrMissing: there is no such log.
	ErrMissing = errors.New("no such log")
)

// DamageError says which file is damaged, and from which byte on.
type DamageError struct {
	Path   string
	Offset int64
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s: %v at byte %d", e.Path, ErrDamaged, e.Offset)
}

// Unwrap returns ErrDamaged.
func (e *DamageError) Unwrap() error { return ErrDamaged }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// lineHead is the length of what stands before a record.
const lineHead = 18

// line writes a record as the file has it.
func line(record []byte) []byte {
	out := make([]byte, 0, lineHead+len(record)+1)
	out = fmt.Appendf(out, "%08x %08x ", len(record), crc32.Checksum(record, castagnoli))
	return append(append(out, record...), '\n')
}

// cut takes the first record off src; n = 0 where there is no whole one.
func cut(src []byte) (record []byte, n int) {
	if len(src) < lineHead+1 || src[8] != ' ' || src[17] != ' ' {
		return nil, 0
	}
	size, ok := hexOf(src[:8])
	if !ok || int64(size) >= int64(len(src)-lineHead) {
		return nil, 0
	}
	sum, ok := hexOf(src[9:17])
	end := lineHead + int(size)
	if !ok || src[end] != '\n' {
		return nil, 0
	}
	record = src[lineHead:end]
	if crc32.Checksum(record, castagnoli) != sum {
		return nil, 0
	}
	return record, end + 1
}

// hexOf reads digits as line writes them; others are a flipped bit.
func hexOf(digits []byte) (n uint32, ok bool) {
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		n = n<<4 | uint32(c)
	}
	return n, true
}

// torn reports whether nothing good stands in what follows a bad record: then it is the
// tail that a crash left, else damage.
func torn(rest []byte) bool {
	for {
		at := bytes.IndexByte(rest, '\n')
		if at < 0 {
			return true
		}
		rest = rest[at+1:]
		if _, n := cut(rest); n > 0 {
			return false
		}
	}
}

// head is the first record of every file.
type head struct {
	Format int    `json:"format"`
	Kind   string `json:"kind"`
	ID     string `json:"id"`
}

// scan serves the records of one file after its head. It returns how many bytes are
// good; good < len(src) with no error is a torn tail, and 0 a file without a head.
func scan(path string, src []byte, want head, yield func([]byte) bool) (good int64, err error) {
	first, n := cut(src)
	if n == 0 {
		if !torn(src) {
			return 0, &DamageError{path, 0}
		}
		return 0, nil
	}
	var h head
	if err := json.Unmarshal(first, &h); err != nil {
		return 0, &DamageError{path, 0}
	}
	switch {
	case h.Format > Format:
		return 0, fmt.Errorf("%s: %w: format %d, this release reads %d", path, ErrNewer, h.Format, Format)
	case h.Format != want.Format || h.Kind != want.Kind || want.ID != "" && h.ID != want.ID:
		return 0, fmt.Errorf("%s: %w: it says %s %q", path, ErrForeign, h.Kind, h.ID)
	}
	for at := n; ; at += n {
		var record []byte
		if record, n = cut(src[at:]); n == 0 {
			if at < len(src) && !torn(src[at:]) {
				return int64(at), &DamageError{path, int64(at)}
			}
			return int64(at), nil
		}
		if !yield(record) {
			return int64(at + n), nil
		}
	}
}

// Read serves the records of the log at path, oldest first, and takes no lock. A torn tail
// is left out. The sequence ends with an error for damage, after everything before it, and
// for a log that is not there. The caller may keep a record and must not change it.
func Read(path string, o Options) iter.Seq2[[]byte, error] {
	o = o.withDefaults()
	return func(yield func([]byte, error) bool) {
		stopped := false
		one := func(r []byte) bool {
			stopped = !yield(r, nil)
			return !stopped
		}
		found := false
		for n := 1; ; n++ {
			name, last := part(path, n), false
			src, err := o.disk.read(name)
			if missing(err) {
				name, last = path, true
				src, err = o.disk.read(path)
			}
			switch {
			case missing(err) && found:
				return // a crash came between two parts
			case missing(err):
				yield(nil, fmt.Errorf("%s: %w", path, ErrMissing))
				return
			case err != nil:
				yield(nil, err)
				return
			}
			found = true
			good, err := scan(name, src, o.head(), one)
			if err == nil && !last && !stopped && good < int64(len(src)) {
				err = &DamageError{name, good} // a part was whole when it was closed
			}
			if err != nil && !stopped {
				yield(nil, err)
			}
			if err != nil || stopped || last {
				return
			}
		}
	}
}

// part names the n-th closed part of a log.
func part(path string, n int) string {
	return fmt.Sprintf("%s.%d.jsonl", strings.TrimSuffix(path, ".jsonl"), n)
}
