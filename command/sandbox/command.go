package sandbox

import "time"

// Command is one program to run. Argv, Dir and Level decide what; zero limits mean the
// defaults named at each field.
type Command struct {
	// Argv is the program and its arguments; no shell reads it. A program without a
	// slash is looked up in the PATH of Env.
	Argv []string
	// Dir is the absolute working directory; it has to exist.
	Dir string
	// Env is the whole environment, KEY=value; nothing of the host's is added but
	// TMPDIR, which names the private temporary folder.
	Env []string
	// Stdin is what the program reads; nil is an empty input.
	Stdin []byte

	// Level is the least level that will do. The run takes the highest that works here.
	Level Level
	// AtMost bounds the level from above; None means no bound. It exists for measurements
	// and for what needs a service that full hides.
	AtMost Level
	// Policy is what the run may reach. Levels below Files can't hold it.
	Policy Policy

	Timeout   time.Duration // from the call of Run; 0 is 10 s
	Grace     time.Duration // between SIGTERM and SIGKILL; 0 is 200 ms
	MaxOutput int64         // bytes kept of each stream; at the bound the run is stopped; 0 is 64 KiB
	Memory    int64         // bytes of address space of each process; 0 is 1 GiB, below 0 no bound
	Processes int           // processes beyond those the user has already; 0 is 64
	FileSize  int64         // bytes of one written file; 0 is 256 MiB
	OpenFiles int           // open descriptors of a process; 0 is 256
	TempFiles int           // entries of the private temporary folder; 0 is 20,000
	TempBytes int64         // bytes of the private temporary folder; 0 is 1 GiB
}

func (c Command) withDefaults() Command {
	c.Timeout = orElse(c.Timeout, 10*time.Second)
	c.Grace = orElse(c.Grace, 200*time.Millisecond)
	c.MaxOutput = orElse(c.MaxOutput, 64<<10)
	c.Memory = orElse(c.Memory, 1<<30)
	c.Processes = orElse(c.Processes, 64)
	c.FileSize = orElse(c.FileSize, 256<<20)
	c.OpenFiles = orElse(c.OpenFiles, 256)
	c.TempFiles = orElse(c.TempFiles, 20_000)
	c.TempBytes = orElse(c.TempBytes, 1<<30)
	if c.AtMost == None || c.AtMost < c.Level {
		c.AtMost = Full
	}
	return c
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// Reason is why a run ended.
type Reason string

// The reasons.
const (
	Exited    Reason = "exit"      // by itself; Exit has the code
	Signalled Reason = "signal"    // by a signal that the host did not send; Signal names it
	TimedOut  Reason = "timeout"   // stopped at the deadline
	Cancelled Reason = "cancelled" // stopped because the context ended
	OutputCap Reason = "output"    // stopped at MaxOutput; what was kept is whole up to there
	Quota     Reason = "quota"     // stopped: too many processes, or too much in the temporary folder
)

// Result is what a run gave.
type Result struct {
	Stdout, Stderr []byte // at most MaxOutput each, as written: not cleaned
	Exit           int    // the exit code; -1 when the run did not end by itself
	Signal         string // the signal's name without SIG: SEGV, KILL, …
	Reason         Reason
	Truncated      bool // Stdout or Stderr reached MaxOutput
	Duration       time.Duration
	Level          Level  // the level that held the run
	Why            string // for Quota: processes, or temp
	Survivors      int    // processes that had to be killed after the program had ended
}
