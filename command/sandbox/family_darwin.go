package sandbox

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// family is who belongs to a run: its first process, all in its group, and all whose
// parent was seen to belong. A member is known by its number and the time of its start,
// since numbers come again. Safe for concurrent use.
type family struct {
	head int

	mu   sync.Mutex
	born map[int32]unix.Timeval
}

// living are the processes of this user.
func living() map[int32]unix.KinfoProc {
	list, _ := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid()) // what can't be asked is nobody
	out := make(map[int32]unix.KinfoProc, len(list))
	for _, p := range list {
		out[p.Proc.P_pid] = p
	}
	return out
}

// look takes in new members.
func (f *family) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.born == nil {
		f.born = map[int32]unix.Timeval{}
	}
	now := living()
	for grown := true; grown; {
		grown = false
		for pid, p := range now {
			_, known := f.born[pid]
			_, parent := f.born[p.Eproc.Ppid]
			if !known && (parent || int(p.Eproc.Pgid) == f.head) {
				f.born[pid] = p.Proc.P_starttime
				grown = true
			}
		}
	}
}

// end kills every member that lives, and returns how many there were.
func (f *family) end() int {
	f.look()
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for pid, p := range living() {
		if start, ok := f.born[pid]; ok && start == p.Proc.P_starttime && int(pid) != f.head {
			_ = syscall.Kill(int(pid), syscall.SIGKILL) // gone meanwhile: fine
			n++
		}
	}
	return n
}

// tasksOf counts the processes of a user, which is what the kernel's limit counts.
func tasksOf(uid int) uint64 {
	list, _ := unix.SysctlKinfoProcSlice("kern.proc.uid", uid) // none: the limit is the tighter
	return uint64(len(list))
}
