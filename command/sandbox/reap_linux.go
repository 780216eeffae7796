package sandbox

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// wait waits for the program, then ends and collects all that it left behind. It returns
// when the helper has no child any more: since what is left behind becomes a child of the
// helper, nothing of the run is alive then.
func (h *helper) wait() event {
	e := event{Ended: true}
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if errors.Is(err, syscall.ECHILD) {
			return e
		}
		if pid != h.pid {
			continue
		}
		if ws.Signaled() {
			e.Signal = signalName(ws.Signal())
		} else {
			e.Exit = ws.ExitStatus()
		}
		e.Survivors = h.clear()
		return e
	}
}

// clear kills until no child is left, and returns how many were there at first. Mostly
// there is none, and then no process is looked for.
func (h *helper) clear() int {
	for first := 0; ; {
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) {
				return first
			}
			if pid <= 0 && !errors.Is(err, syscall.EINTR) {
				break
			}
		}
		first = max(first, h.signal(unix.SIGKILL))
		time.Sleep(time.Millisecond) // a killed process takes a moment to end
	}
}

// signal sends sig to every process of the run and returns how many there are. A process
// that starts others meanwhile is met again by the next call.
func (h *helper) signal(sig syscall.Signal) int {
	// At once those that can be named together: nobody among them starts another meanwhile.
	switch {
	case os.Getpid() == 1:
		_ = syscall.Kill(-1, sig)
	case h.pid > 1:
		_ = syscall.Kill(-h.pid, sig)
	}
	family := descendants(os.Getpid())
	for _, pid := range family {
		_ = syscall.Kill(pid, sig) // gone meanwhile: fine
	}
	return len(family)
}

// countEvery is how often the processes of the whole system are counted, which is one call.
const countEvery = 5 * time.Millisecond

// count ends the run when it has more processes than planned. The kernel's own limit does
// not hold a superuser. A family is only looked up when the system has grown.
func (h *helper) count() {
	var info unix.Sysinfo_t
	_ = unix.Sysinfo(&info)
	base := int(info.Procs)
	for range time.Tick(countEvery) {
		if unix.Sysinfo(&info) == nil && int(info.Procs)-base < h.plan.Processes {
			continue
		}
		if len(descendants(os.Getpid())) <= h.plan.Processes {
			base = int(info.Procs) // others have grown
			continue
		}
		_ = h.report.Encode(event{Quota: "processes"})
		h.signal(unix.SIGKILL)
	}
}

// descendants returns the living processes below pid, parents before children.
func descendants(pid int) []int {
	children := map[int][]int{}
	eachProcess(func(s processStat) {
		if s.state != 'Z' {
			children[s.parent] = append(children[s.parent], s.pid)
		}
	})
	var out []int
	for next := children[pid]; len(next) > 0; {
		out = append(out, next...)
		var after []int
		for _, p := range next {
			after = append(after, children[p]...)
		}
		next = after
	}
	return out
}

type processStat struct {
	pid, parent, threads int
	state                byte
}

// eachProcess calls f for each process that /proc shows.
func eachProcess(f func(processStat)) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read counts
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // gone meanwhile
		}
		// The name in parentheses may hold anything; the rest follows the last one.
		rest := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(rest) < 18 {
			continue
		}
		parent, _ := strconv.Atoi(rest[1])
		threads, _ := strconv.Atoi(rest[17])
		f(processStat{pid, parent, threads, rest[0][0]})
	}
}
