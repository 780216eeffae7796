package sandbox

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Helper turns this process into the helper, and does not return, when args (the
// process's os.Args) say so. Else it returns the path to give to [Options].HelperPath. A
// program that wants levels above None calls it first in its main: what ran before it
// would run again for every command.
func Helper(args []string) string {
	if len(args) == 2 && args[1] == helperWord {
		syscall.Exit(help()) // at once: the race detector would make every run a second longer
	}
	return "/proc/self/exe" // the program that runs, also when its file has been replaced
}

// helper is the process that stands between the host and a run.
type helper struct {
	plan   plan
	orders *bufio.Reader
	report *json.Encoder
	pid    int // of the program
}

// help is the helper's life: read the plan, confine, start, wait, leave nothing behind. It
// keeps its main thread out of all that binds the run: that one answers to the host.
func help() int {
	runtime.LockOSThread()
	h := helper{
		orders: bufio.NewReader(os.NewFile(planFD, "plan")),
		report: json.NewEncoder(os.NewFile(reportFD, "report")),
	}
	line, err := h.orders.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &h.plan)
	}
	if err != nil {
		h.fail(&stepError{"plan", err})
		return 2
	}
	if err := h.prepare(); err != nil {
		h.fail(err)
		return 2
	}
	if h.plan.Try != nil {
		h.try()
		return 0
	}
	if err := h.spawn(); err != nil {
		h.fail(err)
		return 2
	}
	go h.obey()
	if h.plan.Processes > 0 {
		go h.count()
	}
	_ = h.report.Encode(h.wait()) // a host that is gone needs no answer
	return 0
}

func (h *helper) fail(err error) {
	_ = h.report.Encode(failure(err)) // without a reader there is nobody to tell
}

// prepare does what binds the helper as well. No step may be left out: the first error
// ends the run before it began.
func (h *helper) prepare() error {
	for _, s := range []struct {
		name string
		do   func() error
	}{
		// The helper's memory and descriptors are closed to the run, which has the same user.
		{"dumpable", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
		// Whatever the run leaves behind becomes a child of the helper, so that it is found.
		{"subreaper", func() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }},
		{"descriptors", func() error {
			return unix.CloseRange(planFD, ^uint(0)>>1&0x7fffffff, unix.CLOSE_RANGE_CLOEXEC)
		}},
		{"umask", func() error { syscall.Umask(0o077); return nil }},
		{"mount", func() error { return h.plan.Mounts.enter(h.plan.Network) }},
	} {
		if err := s.do(); err != nil {
			return &stepError{s.name, err}
		}
	}
	return nil
}

// obey carries out the host's orders. Their end, which also comes when the host is killed,
// ends the run.
func (h *helper) obey() {
	for {
		order, err := h.orders.ReadByte()
		if err != nil {
			h.signal(unix.SIGKILL) // the program's end ends wait, which ends the others
			return
		}
		if order == 'T' {
			h.signal(unix.SIGTERM)
		}
	}
}
