package sandbox

import (
	"context"
	"os/exec"
	"sync"
	"time"
)

// Options says how a [Box] works. The zero value confines nothing above [None], since
// there is no helper.
type Options struct {
	// HelperPath is what [Helper] returned in this process's main, or a program whose
	// main calls Helper first. Empty: no level above None.
	HelperPath string
	// TempRoot is where private temporary folders are made; empty means /tmp.
	TempRoot string
	// BwrapPlaces are the files that may be bubblewrap, by which full is there where this
	// process may make no namespaces; nil means the places where systems put it. One that
	// somebody else than the superuser could replace is not used.
	BwrapPlaces []string
	// OnlyBwrap leaves namespaces alone, as on a machine that bars them. It exists to
	// prove and measure that way.
	OnlyBwrap bool
	// KillWait is how long the end of killed processes is waited for, since one that hangs
	// in the kernel must not hang its host; 0 is 2 s.
	KillWait time.Duration
	// Probe replaces finding out what the machine can do; nil tries it.
	Probe func(context.Context) Findings
	// Start replaces starting a process; nil is (*exec.Cmd).Start.
	Start func(*exec.Cmd) error
}

// Box runs commands. It finds out once what the machine can hold. Safe for concurrent use.
type Box struct {
	o Options

	mu    sync.Mutex
	found *Findings
}

// New returns a box. Nothing is tried before the first run or [Box.Probe].
func New(o Options) *Box {
	if o.TempRoot == "" {
		o.TempRoot = "/tmp"
	}
	if o.BwrapPlaces == nil {
		o.BwrapPlaces = bwrapPlaces
	}
	o.KillWait = orElse(o.KillWait, 2*time.Second)
	if o.Start == nil {
		o.Start = (*exec.Cmd).Start
	}
	b := &Box{o: o}
	if b.o.Probe == nil {
		b.o.Probe = b.probe
	}
	return b
}

// Probe says what this machine can hold, and what of it is missing. The first call tries
// it, which takes some tens of milliseconds; later ones remember, unless ctx ended the first.
func (b *Box) Probe(ctx context.Context) Findings {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.found != nil {
		return *b.found
	}
	f := b.o.Probe(ctx)
	if ctx.Err() == nil {
		b.found = &f
	}
	return f
}

// Level is the highest level that works here.
func (b *Box) Level(ctx context.Context) Level { return b.Probe(ctx).Level }

// Run runs c and waits for its end. Whatever happened to a program that was started is in
// the Result. The error is for what did not start: [ErrUnavailable], [ErrPolicy],
// a [*StartError], or the context's end before the start. When Run returns no process of
// the run is left (at None: none of its process group) and its temporary folder is gone.
func (b *Box) Run(ctx context.Context, c Command) (Result, error) {
	none := Result{Exit: -1}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	c = c.withDefaults()
	found := b.Probe(ctx)
	level := min(found.Level, c.AtMost)
	if level < c.Level {
		return none, &UnavailableError{Wanted: c.Level, Present: level, Why: found.Missing(c.Level)}
	}
	return b.run(ctx, c, level, found.by(level))
}
