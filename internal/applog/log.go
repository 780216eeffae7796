package applog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/internal/lockfile"
)

// ErrBusy is wrapped where another process, or another Log of this one, writes the log.
var ErrBusy = lockfile.ErrBusy

// Options says what a log is. Kind is required.
type Options struct {
	Kind string // of the records, written in each file; another kind is ErrForeign
	ID   string // as Kind; "" when reading = whoever's

	Part    int64            // bytes after which a file becomes a closed part; 0 = 64 MiB
	Max     int64            // bytes of all parts, then ErrFull; 0 = 256 MiB
	Damaged string           // folder for the bytes of a torn tail; "" = the log's own
	Verb    string           // what its holder does, for who meets the lock; "" = "run"
	Now     func() time.Time // nil = time.Now

	disk disk
	lock func(ctx context.Context, path string) (release func() error, err error)
}

func (o Options) withDefaults() Options {
	if o.Part <= 0 {
		o.Part = 64 << 20
	}
	if o.Max <= 0 {
		o.Max = 256 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.disk == nil {
		o.disk = system{}
	}
	if o.lock == nil {
		o.lock = func(ctx context.Context, path string) (func() error, error) {
			// Without waiting: who writes a log writes it for long.
			l, err := lockfile.Exclusive(ctx, path, lockfile.Options{Verb: o.Verb, Wait: -1, Now: o.Now})
			if err != nil {
				return nil, err
			}
			return l.Release, nil
		}
	}
	return o
}

func (o Options) head() head { return head{Format, o.Kind, o.ID} }

// Torn is a tail that was cut because it was not whole.
type Torn struct {
	Path  string // of the log
	Bytes int64
	Saved string // where the bytes are now
}

// Log is a log that is open for writing. Safe for concurrent use.
type Log struct {
	o       Options
	path    string
	release func() error

	mu     sync.Mutex
	f      file
	size   int64 // of the file that is written
	closed int64 // bytes of the closed parts
	parts  int
	count  int64 // of records in all parts
	torn   *Torn
	broken error // a write failed and could not be taken back
	done   bool
}

// Open opens the log at path, NAME.jsonl, for the one writer, and makes it and its folder
// where there is none. It cuts a torn tail. It returns ErrBusy at once where somebody else
// writes.
func Open(ctx context.Context, path string, o Options) (_ *Log, err error) {
	o = o.withDefaults()
	if err := o.disk.mkdir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	release, err := o.lock(ctx, strings.TrimSuffix(path, ".jsonl")+".lock")
	if err != nil {
		return nil, err
	}
	l := &Log{o: o, path: path, release: release}
	if err := l.open(); err != nil {
		if l.f != nil {
			err = errors.Join(err, l.f.Close())
		}
		return nil, errors.Join(err, release())
	}
	return l, nil
}

func (l *Log) open() error {
	for {
		n, err := l.o.disk.size(part(l.path, l.parts+1))
		if missing(err) {
			break
		}
		if err != nil {
			return err
		}
		l.parts, l.closed = l.parts+1, l.closed+n
		src, err := l.o.disk.read(part(l.path, l.parts))
		if err != nil {
			return err
		}
		good, err := scan(part(l.path, l.parts), src, l.o.head(), l.counts)
		if err == nil && good < int64(len(src)) {
			err = &DamageError{part(l.path, l.parts), good} // it was whole when it was closed
		}
		if err != nil {
			return err
		}
	}
	src, err := l.o.disk.read(l.path)
	if err != nil && !missing(err) {
		return err
	}
	good, err := scan(l.path, src, l.o.head(), l.counts)
	if err != nil {
		return err
	}
	if rest := src[good:]; len(rest) > 0 {
		if err := l.aside(rest, good); err != nil {
			return err
		}
	}
	if l.f, err = l.o.disk.open(l.path); err != nil {
		return err
	}
	if l.size = good; good < int64(len(src)) {
		if err := errors.Join(l.f.Truncate(good), l.f.Sync()); err != nil {
			return fmt.Errorf("%s: its torn tail stays: %w", l.path, err)
		}
	}
	return l.begin()
}

func (l *Log) counts([]byte) bool { l.count++; return true }

// Count is how many records all parts hold.
func (l *Log) Count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// begin writes the head of a file that has none yet.
func (l *Log) begin() error {
	if l.size > 0 {
		return nil
	}
	h, err := json.Marshal(l.o.head())
	if err != nil {
		return err
	}
	if err := l.write(line(h)); err != nil {
		return err
	}
	if err := l.f.Sync(); err != nil {
		return fmt.Errorf("%s: %w", l.path, err)
	}
	return l.o.disk.sync(filepath.Dir(l.path))
}

// aside saves the bytes of a torn tail.
func (l *Log) aside(rest []byte, at int64) error {
	dir := l.o.Damaged
	if dir == "" {
		dir = filepath.Dir(l.path)
	} else if err := l.o.disk.mkdir(dir); err != nil {
		return err
	}
	name := fmt.Sprintf("%s.torn-%s-%d", filepath.Base(l.path), l.o.Now().UTC().Format("20060102T150405"), at)
	l.torn = &Torn{Path: l.path, Bytes: int64(len(rest)), Saved: filepath.Join(dir, name)}
	return l.o.disk.save(l.torn.Saved, rest)
}

// Torn says what was cut when the log was opened; nil = nothing.
func (l *Log) Torn() *Torn { return l.torn }

// Size is how many bytes all parts have.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed + l.size
}

// Append writes records, each JSON on one line, all of them or none. They outlive the
// process at once, and the machine after Sync.
func (l *Log) Append(records ...[]byte) error {
	var text []byte
	for _, r := range records {
		if len(r) == 0 || bytes.IndexByte(r, '\n') >= 0 {
			return fmt.Errorf("%s: a record is one line of JSON", l.path)
		}
		text = append(text, line(r)...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.done:
		return fmt.Errorf("%s: log is closed", l.path)
	case l.broken != nil:
		return l.broken
	case l.closed+l.size+int64(len(text)) > l.o.Max:
		return fmt.Errorf("%s: %w: %d bytes, at most %d", l.path, ErrFull, l.closed+l.size, l.o.Max)
	}
	if err := l.rotate(len(text)); err != nil {
		return err
	}
	if err := l.begin(); err != nil {
		return err
	}
	if err := l.write(text); err != nil {
		return err
	}
	l.count += int64(len(records))
	return nil
}

// write adds whole lines, or none.
func (l *Log) write(text []byte) error {
	err := fault.Err("session.append")
	if err == nil {
		_, err = l.f.Write(text)
	}
	if err == nil {
		l.size += int64(len(text))
		return nil
	}
	if back := l.f.Truncate(l.size); back != nil {
		l.broken = fmt.Errorf("%s: a part of a record could not be taken back: %w", l.path, errors.Join(err, back))
		return l.broken
	}
	return fmt.Errorf("%s: %w", l.path, err)
}

// rotate closes the file as a part where n more bytes are too many for it.
func (l *Log) rotate(n int) error {
	h := int64(lineHead + len(l.o.Kind) + len(l.o.ID) + 64) // a head, with room
	if l.size+int64(n) <= l.o.Part || l.size <= h {
		return nil
	}
	if err := l.f.Sync(); err != nil {
		return fmt.Errorf("%s: %w", l.path, err)
	}
	_ = l.f.Close() // all of it is on disk
	err := l.o.disk.rename(l.path, part(l.path, l.parts+1))
	if err != nil {
		err = fmt.Errorf("%s: %w", l.path, err)
	} else {
		l.parts, l.closed, l.size = l.parts+1, l.closed+l.size, 0
	}
	f, opened := l.o.disk.open(l.path)
	if opened != nil {
		l.broken = fmt.Errorf("%s: %w", l.path, errors.Join(err, opened))
		return l.broken
	}
	l.f = f
	return err
}

// Sync brings everything that was appended to disk.
func (l *Log) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	err := fault.Err("session.sync")
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.path, err)
	}
	return nil
}

// Close lets go of the log. It is idempotent and brings nothing to disk that Sync did not.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	l.done = true
	return errors.Join(l.f.Close(), l.release())
}

// Remove removes a log with all its parts; ErrBusy while it is written. The lock's file
// stays, as every lock's does.
func Remove(ctx context.Context, path string, o Options) error {
	o = o.withDefaults()
	release, err := o.lock(ctx, strings.TrimSuffix(path, ".jsonl")+".lock")
	if err != nil {
		return err
	}
	// The one that is written goes first: parts without it are a log that a crash left.
	err = os.Remove(path)
	for n := 1; err == nil || missing(err); n++ {
		if err = os.Remove(part(path, n)); missing(err) {
			err = nil
			break
		}
	}
	return errors.Join(err, o.disk.sync(filepath.Dir(path)), release())
}
