//go:build linux || darwin

package sandbox

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// bounds are the resource limits of a run.
func (c Command) bounds(level Level) []bound {
	processes := uint64(c.Processes)
	if level < Full {
		processes += tasksOf(os.Getuid()) // the count is the user's; in full it begins anew
	} else {
		processes += helperThreads
	}
	list := []bound{
		{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_NOFILE, uint64(c.OpenFiles)}, {unix.RLIMIT_FSIZE, uint64(c.FileSize)},
		{unix.RLIMIT_CPU, uint64((c.Timeout+time.Second-1)/time.Second + 1)}, {unix.RLIMIT_NPROC, processes},
	}
	if c.Memory > 0 {
		list = append(list, bound{unix.RLIMIT_AS, uint64(c.Memory)})
	}
	return list
}

// helperThreads is more than the helper has; in full they count as the run's.
const helperThreads = 16
