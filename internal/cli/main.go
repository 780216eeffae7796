package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/deftskills/deft/store/blobs"
)

// lastWait is how long an interrupted run may take to end in order: a call into the
// system that never returns must not keep the process.
const lastWait = 5 * time.Second

// Main runs the process's command line and returns its exit code; helper is what
// deft.Helper returned, places are those of Process. A first
// interrupt ends the run in order, with exit code 130; a second one ends it at
// once. A reader that closes standard output is no error and no noise.
func Main(helper string, places func(env func(string) string) blobs.Places) int {
	paceCollections(os.Getenv)
	// With a receiver, a write to a closed pipe is an error of that write, not the end
	// of the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	i := interrupts{patience: lastWait}
	defer i.watch(cancel)()
	dir, err := os.Getwd()
	if err != nil {
		dir = string(os.PathSeparator)
	}
	width, _, _ := term.GetSize(int(os.Stdout.Fd()))
	terminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	return int(Run(ctx, Process{
		Args: os.Args[1:], Environ: os.Environ(), Dir: dir, GOOS: runtime.GOOS,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTerminal: terminal(os.Stdin), StdoutTerminal: terminal(os.Stdout), StderrTerminal: terminal(os.Stderr),
		Width: width, Now: time.Now, Helper: helper, Places: places, Divert: i.divert, Patience: i.wait,
		OpenTerminal: func() (io.Writer, error) { return os.OpenFile("/dev/tty", os.O_WRONLY, 0) },
	}))
}

// interrupts are the signals that end the run, unless something else is to end first.
type interrupts struct {
	mu    sync.Mutex
	first func() // what the next interrupt calls instead; nil = nothing
	mark  int    // of whoever set it

	patience time.Duration // how long the run may take to end
}

// wait sets how long the run may take to end.
func (i *interrupts) wait(d time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.patience = d
}

// divert has the next interrupt call f, once, until restored.
func (i *interrupts) divert(f func()) (restore func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.mark++
	i.first = f
	mine := i.mark
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.mark == mine {
			i.first = nil
		}
	}
}

// take returns what was diverted to, and forgets it.
func (i *interrupts) take() func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	f := i.first
	i.first = nil
	return f
}

// watch ends the run by cancel at the first signal that nothing else is for. The signal
// after that one has its default effect.
func (i *interrupts) watch(cancel func()) (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // it is under nohup
		signal.Notify(c, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-c:
				if f := i.take(); f != nil && s == os.Interrupt {
					f()
					continue
				}
				signal.Stop(c)
				i.mu.Lock()
				patience := i.patience
				i.mu.Unlock()
				time.AfterFunc(patience, func() { os.Exit(int(Interrupted)) })
				cancel()
				return
			}
		}
	}()
	return func() {
		signal.Stop(c)
		close(done)
	}
}
