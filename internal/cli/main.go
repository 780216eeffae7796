package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"
)

// lastWait is how long an interrupted run may take to end in order: a call into the
// system that never returns must not keep the process.
const lastWait = 5 * time.Second

// Main runs the process's command line and returns its exit code; helper is what
// deft.Helper returned. A first
// interrupt ends the run in order, with exit code 130; a second one ends it at
// once. A reader that closes standard output is no error and no noise.
func Main(helper string) int {
	paceCollections(os.Getenv)
	// With a receiver, a write to a closed pipe is an error of that write, not the end
	// of the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var patience atomic.Int64
	patience.Store(int64(lastWait))
	context.AfterFunc(ctx, func() {
		stop() // a second signal has its default effect
		time.AfterFunc(time.Duration(patience.Load()), func() { os.Exit(int(Interrupted)) })
	})
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
		Width: width, Now: time.Now, Helper: helper, Patience: func(d time.Duration) { patience.Store(int64(d)) },
		OpenTerminal: func() (io.Writer, error) { return os.OpenFile("/dev/tty", os.O_WRONLY, 0) },
	}))
}
