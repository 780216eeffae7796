package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// spawn starts the program from a thread that is confined first and ends after it: a
// confined thread of the helper would be a way to the helper's memory.
func (h *helper) spawn() error {
	type started struct {
		pid int
		err error
	}
	result := make(chan started)
	onOwnThread(func() {
		var s started
		if s.err = h.confine(); s.err == nil {
			_ = h.report.Encode(event{Ready: true})
			s.pid, s.err = h.start()
		}
		result <- s
	})
	s := <-result
	if s.err != nil {
		return s.err
	}
	h.pid = s.pid
	_ = h.report.Encode(event{Group: h.pid}) // whom the host ends should the helper be gone
	return nil
}

// start starts the program from the calling thread.
func (h *helper) start() (int, error) {
	l, err := newLaunch(h.plan)
	if err != nil {
		return 0, err
	}
	return l.start(h.plan.Argv[0])
}

// onOwnThread runs f on a thread that is not the process's first one and that ends with f.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			onOwnThread(f)
			select {} // keeps this thread, so that f gets another
		}
		f()
	}()
}

// confine binds the calling thread, and so what it starts.
func (h *helper) confine() error {
	p := h.plan
	for _, s := range []struct {
		name string
		from Level
		do   func() error
	}{
		{"landlock", Files, func() error { return landlock(p.Rules, p.Network) }},
		{"capabilities", Limits, dropCapabilities},
		{"no-new-privs", Limits, func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"seccomp", Files, func() error { return seccomp(filterOf(p.Level, p.Network, os.Getpid(), unix.Gettid())) }},
	} {
		if p.Level < s.from {
			continue
		}
		if err := s.do(); err != nil {
			return &stepError{s.name, err}
		}
	}
	return nil
}

// dropCapabilities leaves the thread, and all that it starts, without any special right:
// a superuser's program is then bound by the modes of files, and can't trace, mount or
// reach raw devices.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); c <= 63; c++ {
		// EINVAL: past the kernel's last one. EPERM: not a superuser's thread, for whom
		// the set has no meaning since no new privileges are given.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			break
		}
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&hdr, &none[0])
}

// try confines a thread and tries to get out of it, for the probe.
func (h *helper) try() {
	result := make(chan error)
	onOwnThread(func() {
		err := h.confine()
		if err == nil {
			err = h.plan.Try.escape(h.plan.Level)
		}
		result <- err
	})
	if err := <-result; err != nil {
		h.fail(err)
		return
	}
	_ = h.report.Encode(event{Ready: true})
	_ = h.report.Encode(event{Ended: true})
}

// escape does what must fail, and what must not.
func (t *trial) escape(level Level) error {
	if level >= Files {
		if text, err := os.ReadFile(t.Denied); err == nil && len(text) > 0 {
			return &stepError{"landlock", textError("a denied file could be read")}
		}
		_ = os.WriteFile(t.Denied, []byte("written"), 0o600) // the host looks whether it was
		if fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0); err == nil {
			unix.Close(fd)
			return &stepError{"seccomp", textError("a socket could be made")}
		}
	}
	if err := os.WriteFile(filepath.Join(t.Write, "tried"), nil, 0o600); err != nil {
		return &stepError{"landlock", err}
	}
	return nil
}

// seccomp installs a filter for the calling thread and what it starts.
func seccomp(filter []unix.SockFilter) error {
	if len(filter) == 0 {
		return textError("no table of system calls for this processor")
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, no := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if no != 0 {
		return no
	}
	return nil
}
