package sandbox

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// launch is a program that is ready to start: the system calls that a new process makes
// before the program is in it. Limits bind a whole process, so that a helper that took them
// itself could not answer for the run any more; and set from outside, once the program
// runs, they would come a moment late. So the new process takes them, in the moment between
// its making and the program, in which nothing of Go may run but these calls.
type launch struct {
	calls  []call
	failed int       // where a call that failed is told: its place in calls, and the error
	answer [2]uint32 // what is told
	before uint64    // signals that the thread blocks
	none   uint64
	all    uint64
	keep   []any // what the arguments point to
}

// call is one system call; step names it when it fails.
type call struct {
	step   string
	number uintptr
	arg    [4]uintptr
}

// lastSignal is the highest number of a signal.
const lastSignal = 64

// answerBytes is the size of an answer.
const answerBytes = 8

// maskBytes is the size of a set of signals.
const maskBytes = 8

func (l *launch) add(step string, number uintptr, arg ...uintptr) {
	c := call{step: step, number: number}
	copy(c.arg[:], arg)
	l.calls = append(l.calls, c)
}

// at is the address of something that is kept until the program has started; memory that
// is not on a stack does not move.
func at[T any](l *launch, p *T) uintptr {
	l.keep = append(l.keep, p)
	return uintptr(unsafe.Pointer(p))
}

// newLaunch prepares the start of what p names. The program begins with every signal as the
// system has it, whatever its host ignores.
func newLaunch(p plan) (*launch, error) {
	l := &launch{all: ^uint64(0)}
	path, pathErr := syscall.BytePtrFromString(p.Argv[0])
	argv, argvErr := syscall.SlicePtrFromStrings(p.Argv[1:])
	env, envErr := syscall.SlicePtrFromStrings(p.Env)
	dir, dirErr := syscall.BytePtrFromString(p.Dir)
	if err := errors.Join(pathErr, argvErr, envErr, dirErr); err != nil {
		return nil, &stepError{"plan", err}
	}
	byDefault := at(l, new([32]byte)) // no handler, no flags, nothing blocked meanwhile
	for s := uintptr(1); s <= lastSignal; s++ {
		if s != uintptr(unix.SIGKILL) && s != uintptr(unix.SIGSTOP) {
			l.add("signals", unix.SYS_RT_SIGACTION, s, byDefault, 0, maskBytes)
		}
	}
	l.add("signals", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, at(l, &l.none), 0, maskBytes)
	l.add("session", unix.SYS_SETSID)
	l.add("directory", unix.SYS_CHDIR, at(l, dir))
	for _, b := range p.Limits {
		var was unix.Rlimit
		if err := unix.Prlimit(0, b.Resource, nil, &was); err != nil {
			return nil, &stepError{"rlimit", err}
		}
		value := min(b.Value, was.Max)
		l.add("rlimit", unix.SYS_PRLIMIT64, 0, uintptr(b.Resource), at(l, &unix.Rlimit{Cur: value, Max: value}), 0)
	}
	l.add("exec", unix.SYS_EXECVE, at(l, path), at(l, &argv[0]), at(l, &env[0]))
	return l, nil
}

// start makes the process and waits until the program is in it.
func (l *launch) start(program string) (int, error) {
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		return 0, &stepError{"pipe", err}
	}
	defer syscall.Close(pipe[0])
	l.failed = pipe[1]
	syscall.ForkLock.Lock()
	pid, no := l.fork()
	syscall.ForkLock.Unlock()
	syscall.Close(pipe[1])
	runtime.KeepAlive(l)
	if no != 0 {
		return 0, &stepError{"fork", no}
	}
	var answer [answerBytes]byte
	n, err := syscall.Read(pipe[0], answer[:])
	for errors.Is(err, syscall.EINTR) {
		n, err = syscall.Read(pipe[0], answer[:])
	}
	if n < len(answer) {
		return int(pid), nil // the end of the pipe: it closed when the program began
	}
	_, _ = syscall.Wait4(int(pid), nil, 0, nil) // it ends after its answer
	step := l.calls[binary.NativeEndian.Uint32(answer[:])].step
	err = syscall.Errno(binary.NativeEndian.Uint32(answer[4:]))
	if step == "exec" {
		err = &os.PathError{Op: "exec", Path: program, Err: err}
	}
	return 0, &stepError{step, err}
}

// fork makes the process. No signal may reach a handler of Go in it, and nothing may move
// or grow a stack: this and child are all that runs.
//
//go:nosplit
//go:norace
//go:noinline
func (l *launch) fork() (uintptr, syscall.Errno) {
	flags, stack := uintptr(syscall.SIGCHLD), uintptr(0)
	if runtime.GOARCH == "s390x" {
		flags, stack = stack, flags // the one processor with another order
	}
	_, _, no := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(&l.all)), uintptr(unsafe.Pointer(&l.before)), maskBytes, 0, 0)
	if no != 0 {
		return 0, no
	}
	pid, _, no := syscall.RawSyscall6(unix.SYS_CLONE, flags, stack, 0, 0, 0, 0)
	if no == 0 && pid == 0 {
		l.child()
	}
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&l.before)), 0, maskBytes, 0, 0)
	return pid, no
}

// child makes the calls in the new process and does not return.
//
//go:nosplit
//go:norace
//go:noinline
func (l *launch) child() {
	for i := range l.calls {
		c := &l.calls[i]
		if _, _, no := syscall.RawSyscall6(c.number, c.arg[0], c.arg[1], c.arg[2], c.arg[3], 0, 0); no != 0 {
			l.answer[0], l.answer[1] = uint32(i), uint32(no)
			_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(l.failed), uintptr(unsafe.Pointer(&l.answer)), answerBytes)
			break
		}
	}
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 127, 0, 0)
	}
}
