package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// What a filter answers. A call that is refused fails like one that the user may not make;
// a call that the filter's tables don't know fails like one that the kernel doesn't have.
const (
	permit  = unix.SECCOMP_RET_ALLOW
	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// Offsets of struct seccomp_data: the number, the processor, and the low and high word of
// each argument. Both processors that are served are little-endian.
const (
	offNumber = 0
	offArch   = 4
)

func lowWord(arg uint32) uint32  { return 16 + 8*arg }
func highWord(arg uint32) uint32 { return lowWord(arg) + 4 }

// newNamespaces are the flags of clone that make a namespace: in one of its own a program
// would have all rights, and more of the kernel to attack.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

func load(off uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
}

func give(verdict uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
}

func mask(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: k}
}

// jump goes on after yes more instructions if the comparison holds, else after no more.
func jump(compare uint16, k uint32, yes, no int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, Jt: uint8(yes), Jf: uint8(no), K: k}
}

const (
	equal   = uint16(unix.BPF_JEQ)
	atLeast = uint16(unix.BPF_JGE)
	anyBit  = uint16(unix.BPF_JSET)
)

// filterOf is the filter of a level. It judges the processor's word first: the numbers of
// another one mean other calls. keeper and thread are the helper and its thread that the
// filter is for: no call that names either of them to signal it gets through.
func filterOf(level Level, network bool, keeper, thread int) []unix.SockFilter {
	if auditArch == 0 {
		return nil
	}
	out := []unix.SockFilter{load(offArch), jump(equal, auditArch, 1, 0), give(refuse), load(offNumber)}
	if foreignFrom != 0 {
		out = append(out, jump(atLeast, foreignFrom, 0, 1), give(refuse))
	}
	out = append(out, jump(atLeast, lastKnown+1, 0, 1), give(unknown))
	numbers := slices.Concat(refusedCalls, refusedBoth, refusedHere)
	if level < Full {
		// Mounts hold these in Full; here nothing else looks at the path.
		numbers = slices.Concat(numbers, metaCalls, metaHere, sharedCalls)
	}
	for _, n := range numbers {
		out = append(out, jump(equal, n, 0, 1), give(refuse))
	}
	for _, c := range append(judgedCalls(level, network), signalCalls(keeper, thread)...) {
		out = append(out, jump(equal, c.number, 0, len(c.judge)))
		out = append(out, c.judge...)
	}
	return append(out, give(permit))
}

// judged is a call that depends on its arguments; judge ends with a verdict.
type judged struct {
	number uint32
	judge  []unix.SockFilter
}

func judgedCalls(level Level, network bool) []judged {
	sockets := []unix.SockFilter{give(refuse)}
	if network {
		sockets = []unix.SockFilter{
			load(lowWord(0)), jump(equal, unix.AF_INET, 1, 0), jump(equal, unix.AF_INET6, 0, 4),
			load(lowWord(1)), mask(0xf), jump(equal, unix.SOCK_STREAM, 2, 0), jump(equal, unix.SOCK_DGRAM, 1, 0),
			give(refuse), give(permit),
		}
	}
	list := []judged{
		{unix.SYS_SOCKET, sockets},
		// Two ends of one stream can't be connected elsewhere; those of datagrams can.
		{unix.SYS_SOCKETPAIR, []unix.SockFilter{
			load(lowWord(1)), mask(0xf), jump(equal, unix.SOCK_STREAM, 1, 0), give(refuse), give(permit),
		}},
		{unix.SYS_CLONE, []unix.SockFilter{
			load(lowWord(0)), jump(anyBit, newNamespaces, 0, 1), give(refuse), give(permit),
		}},
		// Its flags are in memory, which a filter can't see; libraries fall back to clone.
		{unix.SYS_CLONE3, []unix.SockFilter{give(unknown)}},
		{unix.SYS_IOCTL, ioctls(level)},
	}
	for _, c := range ownOnly {
		judge := []unix.SockFilter{load(lowWord(c.argument)), jump(equal, 0, 1, 0), give(refuse), give(permit)}
		if c.argument > 0 {
			judge = append([]unix.SockFilter{load(lowWord(0)), jump(equal, c.kind, 1, 0), give(refuse)}, judge...)
		}
		list = append(list, judged{c.number, judge})
	}
	if level < Full {
		// An open file may be given the time of now, as touch does; a path or another time not.
		list = append(list, judged{unix.SYS_UTIMENSAT, []unix.SockFilter{
			load(lowWord(1)), jump(equal, 0, 0, 6), load(highWord(1)), jump(equal, 0, 0, 4),
			load(lowWord(2)), jump(equal, 0, 0, 2), load(highWord(2)), jump(equal, 0, 1, 0),
			give(refuse), give(permit),
		}})
	}
	return list
}

// ioctls judges requests that paste into a terminal, and below Full those that change what
// no open for writing is needed for.
func ioctls(level Level) []unix.SockFilter {
	requests := []uint32{unix.TIOCSTI, tiocLinux}
	if level < Full {
		requests = append(requests, metaRequests...)
	}
	out := []unix.SockFilter{load(lowWord(1))}
	for _, r := range requests {
		out = append(out, jump(equal, r, 0, 1), give(refuse))
	}
	return append(out, give(permit))
}

// ownOnly are calls that name a process, by argument, and are allowed for the caller
// itself, named 0: the host has the same user, and could be starved by them. Where the
// first argument says of what kind the name is it has to be a process's: the 0 of a user
// would be all of them.
var ownOnly = []struct{ number, argument, kind uint32 }{
	{unix.SYS_PRLIMIT64, 0, 0}, {unix.SYS_SETPRIORITY, 1, unix.PRIO_PROCESS}, {unix.SYS_IOPRIO_SET, 1, ioprioProcess},
	{unix.SYS_SCHED_SETPARAM, 0, 0}, {unix.SYS_SCHED_SETSCHEDULER, 0, 0}, {unix.SYS_SCHED_SETATTR, 0, 0}, {unix.SYS_SCHED_SETAFFINITY, 0, 0},
}

// ioprioProcess is IOPRIO_WHO_PROCESS.
const ioprioProcess = 1

// signalCalls are the calls that signal a process by its number. The thread that starts the
// program is bound as the program is, and so Landlock lets the program signal it for as
// long as it lives, which is a moment longer than the program waits: with it the program
// would end the helper, and whoever it started would outlive the run.
func signalCalls(keeper, thread int) []judged {
	var list []judged
	for _, n := range []uint32{
		unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_OPEN,
	} {
		list = append(list, judged{n, []unix.SockFilter{
			load(lowWord(0)), jump(equal, uint32(keeper), 1, 0), jump(equal, uint32(thread), 0, 1), give(refuse), give(permit),
		}})
	}
	return list
}

// tiocLinux is TIOCLINUX, which can paste into a console.
const tiocLinux = 0x541c

// lastKnown is the highest number that the tables below were made with: calls that came
// later were not judged yet.
const lastKnown = unix.SYS_LISTNS

// refusedCalls reach other processes, the kernel, or around the rules on files.
var refusedCalls = []uint32{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // calls that no filter sees
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
	unix.SYS_KEXEC_LOAD, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_LISTNS,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_PERSONALITY, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_SYSLOG,
	unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_VHANGUP, unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
}

// metaRequests change flags, project, version, encryption and verity of a file that is open
// for reading only.
var metaRequests = []uint32{
	unix.FS_IOC_SETFLAGS, setVersion, setXattr, unix.FS_IOC_ENABLE_VERITY, unix.FS_IOC_SET_ENCRYPTION_POLICY,
}

// FS_IOC_SETVERSION and FS_IOC_FSSETXATTR; the numbers are the same on both processors.
const (
	setVersion = 0x40087602
	setXattr   = 0x401c5820
)

// metaCalls change what Landlock does not look at: modes, owners, attributes.
var metaCalls = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}
