package sandbox

import (
	"context"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// process is a run as the host holds it.
type process interface {
	// events gives what happens; it is closed when no process of the run is left.
	events() <-chan event
	terminate() // asks all of the run to end
	kill()      // ends all of the run; events is closed soon after
	abandon()   // ends the process that answers for the run
}

// tempLook is how often the temporary folder is counted, at least.
const tempLook = 250 * time.Millisecond

// watch waits for the end of p and stops it at the deadline, at the end of ctx, and at
// every bound: SIGTERM, the grace, SIGKILL.
func (b *Box) watch(ctx context.Context, p process, c Command, deadline time.Time, temp string, full ...<-chan struct{}) (Result, error) {
	w := watcher{p: p, grace: c.Grace, killWait: b.o.KillWait, res: Result{Exit: -1}}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	look := time.NewTimer(tempLook)
	defer look.Stop()
	done := ctx.Done()
	for {
		select {
		case e, ok := <-p.events():
			if !ok || w.take(e) {
				return w.end()
			}
		case <-done:
			done = nil
			w.stop(Cancelled, timer)
		case <-full[0]:
			full[0] = nil
			w.stop(OutputCap, timer)
		case <-full[1]:
			full[1] = nil
			w.stop(OutputCap, timer)
		case <-look.C:
			began := time.Now()
			if tooMuch(temp, c.TempFiles, c.TempBytes) {
				w.res.Why = "temp"
				w.stop(Quota, timer)
			}
			look.Reset(max(tempLook, 10*time.Since(began)))
		case <-timer.C:
			if w.next(timer) {
				return w.end()
			}
		}
	}
}

// watcher is how far the stop of one run has come.
type watcher struct {
	p               process
	grace, killWait time.Duration
	res             Result
	killed          bool
	failed          error
}

// stop begins to end the run; only the first reason counts.
func (w *watcher) stop(why Reason, timer *time.Timer) {
	if w.res.Reason != "" {
		return
	}
	w.res.Reason = why
	w.p.terminate()
	timer.Reset(w.grace)
}

// next is the end of a time: of the run, of the grace, of the wait. True: nothing is
// waited for any more.
func (w *watcher) next(timer *time.Timer) bool {
	switch {
	case w.res.Reason == "":
		w.stop(TimedOut, timer)
	case !w.killed:
		w.killed = true
		w.p.kill()
		timer.Reset(w.killWait)
	default:
		w.p.abandon()
		return true
	}
	return false
}

// take notes an event. True: there is nothing more to come.
func (w *watcher) take(e event) bool {
	switch {
	case e.Step != "":
		w.failed = &StartError{e.Step, cause(e)}
		w.p.kill()
	case e.Quota != "":
		if w.res.Reason == "" {
			w.res.Reason, w.res.Why = Quota, e.Quota
		}
	case e.Ended:
		w.res.Survivors = e.Survivors
		if w.res.Reason != "" {
			break
		}
		w.res.Reason, w.res.Exit = Exited, e.Exit
		if e.Signal != "" {
			w.res.Reason, w.res.Exit, w.res.Signal = Signalled, -1, e.Signal
		}
	}
	return false
}

func (w *watcher) end() (Result, error) {
	if w.failed == nil && w.res.Reason == "" {
		// The one who answers for the run is gone without an answer.
		w.res.Reason, w.res.Signal = Signalled, "KILL"
	}
	return w.res, w.failed
}

func cause(e event) error {
	if e.Errno != 0 {
		return &fs.PathError{Op: e.Step, Path: e.Error, Err: syscall.Errno(e.Errno)}
	}
	return textError(e.Error)
}

type textError string

func (t textError) Error() string { return string(t) }

// tooMuch reports whether dir holds more than files entries or more than size bytes. It
// looks at no more than it has to.
func tooMuch(dir string, files int, size int64) bool {
	var n int
	var bytes int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone meanwhile, or closed to us
		}
		n++
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if n > files || bytes > size {
			return fs.SkipAll
		}
		return nil
	})
	return n > files || bytes > size
}
