// Package lockfile locks a file between processes.
//
// What happens in a crash, first: the lock belongs to the open file, so the system
// lets go of it when the process ends, however it ends: kill -9 and a lost battery
// included. There is no stale lock to break and no age to judge. The file stays, but
// where it would be litter in somebody's work tree: there the holder removes it before
// it lets go. A lock taken on a file that was removed meanwhile, by whomever, is
// noticed and taken again on the new one.
// The text in the file says who holds the lock, for people; nothing is decided by
// it. A crash leaves the text of the dead holder there until the next one writes.
//
// What belongs here: taking, waiting, letting go, and naming the holder. What may
// not come in: which lock protects what (the room that takes it says so).
//
// Rules for holders: never across the network, a question to a person or a call of
// a model. Fetch first, lock, look again, change.
//
// To change how long a wait naps open lockfile.go; the system's calls are in
// lock_unix.go and lock_windows.go.
package lockfile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrBusy is wrapped by the error for a lock that somebody else held until the wait
// was over: try again later. The error itself is a *BusyError.
var ErrBusy = errors.New("lock is held")

// DefaultWait is how long a lock is waited for when Options.Wait is 0.
const DefaultWait = 10 * time.Second

// The naps of a wait double from the first to the last. Short, because most holders
// write one row; capped, because a wait must end soon after the lock is free.
const (
	firstNap = time.Millisecond
	lastNap  = 16 * time.Millisecond
)

// Holder is who holds an exclusive lock, as written in the file.
type Holder struct {
	PID   int       `json:"pid"`
	Verb  string    `json:"verb"` // what it is doing, such as "update"
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// BusyError says which lock was not free and who holds it. Holder.PID is 0 when that
// is not known: the holder shares the lock, or is only just taking it.
type BusyError struct {
	Path   string
	Holder Holder
}

func (e *BusyError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("%s: %v by another process", e.Path, ErrBusy)
	}
	return fmt.Sprintf("%s: %v by deft %s (pid %d, since %s)", e.Path, ErrBusy,
		e.Holder.Verb, e.Holder.PID, e.Holder.Since.Format(time.TimeOnly))
}

// Unwrap returns ErrBusy.
func (e *BusyError) Unwrap() error { return ErrBusy }

// Options configures taking a lock. The zero value waits DefaultWait.
type Options struct {
	Verb string           // written for people who meet the lock; "" = "run"
	Wait time.Duration    // 0 = DefaultWait, negative = do not wait
	Now  func() time.Time // nil = time.Now
	Mode fs.FileMode      // of a file that is made; 0 = 0600
}

// Lock is a held lock. One goroutine releases it, once.
type Lock struct {
	f         *os.File
	path      string
	exclusive bool
}

// Exclusive takes the lock for one holder. It makes the file, mode 0600, but not its
// directory. It returns a *BusyError after the wait, and the cause when ctx ends
// first. Two locks of one process exclude each other like those of two processes.
func Exclusive(ctx context.Context, path string, o Options) (*Lock, error) {
	l, err := take(ctx, path, o, true)
	if err != nil {
		return nil, err
	}
	l.sign(o)
	return l, nil
}

// Shared takes the lock together with other sharers and against Exclusive. All else
// is as for Exclusive.
func Shared(ctx context.Context, path string, o Options) (*Lock, error) {
	return take(ctx, path, o, false)
}

// Release lets go of the lock.
func (l *Lock) Release() error {
	if l.exclusive {
		// The text is for people: that it stays behind is no failure.
		_ = l.f.Truncate(0)
	}
	return l.f.Close()
}

// Remove removes the file of an exclusive lock, and lets go of it. A file that may not be
// removed stays.
func (l *Lock) Remove() error {
	_ = os.Remove(l.path)
	return l.Release()
}

// Read returns who holds the exclusive lock at path by what stands in the file; ok
// is false when nothing readable does. It takes no lock: the answer may be old.
func Read(path string) (h Holder, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return Holder{}, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil || json.Unmarshal(text, &h) != nil || h.PID == 0 {
		return Holder{}, false
	}
	return h, true
}

func take(ctx context.Context, path string, o Options, exclusive bool) (*Lock, error) {
	wait := o.Wait
	if wait == 0 {
		wait = DefaultWait
	}
	patience := time.NewTimer(max(wait, 0))
	defer patience.Stop()
	for nap := firstNap; ; nap = min(2*nap, lastNap) {
		f, err := try(path, exclusive, o.Mode)
		if err != nil {
			return nil, err
		}
		if f != nil {
			return &Lock{f, path, exclusive}, nil
		}
		if wait < 0 {
			return nil, busy(path)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", path, context.Cause(ctx))
		case <-patience.C:
			return nil, busy(path)
		case <-time.After(nap):
		}
	}
}

func busy(path string) error {
	h, _ := Read(path)
	return &BusyError{Path: path, Holder: h}
}

// try returns the locked file, or nil when it is not free, or not the file that the
// path names any more.
func try(path string, exclusive bool, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(filepath.Clean(path), os.O_RDWR|os.O_CREATE|noFollow, cmp.Or(mode, 0o600))
	if errors.Is(err, fs.ErrPermission) {
		// Another person's file can be read: enough to lock it.
		if read, readErr := os.OpenFile(filepath.Clean(path), os.O_RDONLY|noFollow, 0); readErr == nil {
			f, err = read, nil
		}
	}
	if err != nil {
		return nil, err
	}
	free, err := flock(f, exclusive)
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	if free && named(f, path) {
		return f, nil
	}
	return nil, f.Close()
}

func named(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// sign writes the holder's text in place: a new file would not be the locked one.
func (l *Lock) sign(o Options) {
	now, verb := o.Now, o.Verb
	if now == nil {
		now = time.Now
	}
	if verb == "" {
		verb = "run"
	}
	host, _ := os.Hostname()
	text, err := json.Marshal(Holder{PID: os.Getpid(), Verb: verb, Host: host, Since: now().Truncate(time.Second)})
	if err != nil {
		return
	}
	if l.f.Truncate(0) == nil {
		_, _ = l.f.WriteAt(append(text, '\n'), 0)
	}
}
