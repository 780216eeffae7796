package sandbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// marker is in everything that must not be read.
const marker = "SECRET-7d1f"

// world is what an attacker is told: more than one in earnest would know.
type world struct {
	Self, Workspace, Outside, Home, Secret, Later, Hard string
	Host, TCP, TCP6, UDP, Shared                        int
	Abstract, Path, Setuid                              string
}

// try is one way out: it gives nil when it got out.
type try struct {
	name string
	do   func(w world) error
}

var attacks = map[string][]try{
	"write": writeTries, "read": readTries, "network": networkTries, "processes": processTries,
	"later": laterTries, "loaders": loaderTries, "jail": jailTries,
}

// attack makes every try of a group and says which got out.
func attack(group, arg string) {
	var w world
	if err := json.Unmarshal([]byte(arg), &w); err != nil {
		panic(err)
	}
	for _, t := range attacks[group] {
		if err := t.do(w); err == nil {
			fmt.Println("ESCAPED", t.name)
		} else {
			fmt.Println("held", t.name+":", err)
		}
	}
	fmt.Println("done")
}

// sees gives nil if text holds what must not be read.
func sees(text []byte, err error) error {
	if err != nil {
		return err
	}
	if !bytes.Contains(text, []byte(marker)) {
		return errors.New("nothing of the secret")
	}
	return nil
}

// firstOf gives nil if any of the errors is nil, else the last.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return errs[len(errs)-1]
}

func no(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

var writeTries = []try{
	{"absolute", func(w world) error { return os.WriteFile(w.Outside+"/file", []byte("x"), 0o600) }},
	{"new file", func(w world) error { return os.WriteFile(w.Outside+"/new", []byte("x"), 0o600) }},
	{"dot dot", func(w world) error {
		rel, _ := filepath.Rel(w.Workspace, w.Outside+"/file")
		return os.WriteFile(rel, []byte("x"), 0o600)
	}},
	{"link", func(w world) error {
		_ = os.Symlink(w.Outside, w.Workspace+"/open/link")
		return os.WriteFile(w.Workspace+"/open/link/file", []byte("x"), 0o600)
	}},
	{"rename out", func(w world) error {
		_ = os.WriteFile(w.Workspace+"/open/a", []byte("x"), 0o600)
		return os.Rename(w.Workspace+"/open/a", w.Outside+"/a")
	}},
	{"rename in", func(w world) error { return os.Rename(w.Outside+"/file", w.Workspace+"/open/in") }},
	{"hard link", func(w world) error { return os.Link(w.Outside+"/file", w.Workspace+"/open/hard") }},
	{"hard link out", func(w world) error {
		_ = os.WriteFile(w.Workspace+"/open/b", []byte("x"), 0o600)
		return os.Link(w.Workspace+"/open/b", w.Outside+"/b")
	}},
	{"tmpfile", func(w world) error {
		fd, err := unix.Open(w.Outside, unix.O_TMPFILE|unix.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, w.Outside+"/t", unix.AT_SYMLINK_FOLLOW)
	}},
	{"tmpfile inside, link out", func(w world) error {
		fd, err := unix.Open(w.Workspace+"/open", unix.O_TMPFILE|unix.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, w.Outside+"/t2", unix.AT_SYMLINK_FOLLOW)
	}},
	{"truncate", func(w world) error { return os.Truncate(w.Outside+"/file", 0) }},
	{"xattr", func(w world) error { return unix.Setxattr(w.Outside+"/file", "user.x", []byte("x"), 0) }},
	{"chmod", func(w world) error { return os.Chmod(w.Outside+"/file", 0o777) }},
	{"fchmod", func(w world) error {
		f, err := os.Open(w.Outside + "/file")
		if err != nil {
			return err
		}
		return f.Chmod(0o777)
	}},
	{"utime", func(w world) error { return os.Chtimes(w.Outside+"/file", time.Unix(1, 0), time.Unix(1, 0)) }},
	{"futime", func(w world) error {
		f, err := os.Open(w.Outside + "/file")
		if err != nil {
			return err
		}
		times := [2]unix.Timespec{{Sec: 1}, {Sec: 1}}
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, f.Fd(), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
		return no(errno)
	}},
	{"flags of a file", func(w world) error {
		f, err := os.Open(w.Outside + "/file")
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0x40) // not to be in a backup
	}},
	{"verity", func(w world) error {
		f, err := os.Open(w.Outside + "/file")
		if err != nil {
			return err
		}
		arg := [16]uint64{0: 1 | 1<<32, 1: 4096}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.FS_IOC_ENABLE_VERITY, uintptr(unsafe.Pointer(&arg)))
		return no(errno)
	}},
	{"rc file", func(w world) error { return os.WriteFile(w.Home+"/.bashrc", []byte("x"), 0o600) }},
	{"settings of deft", func(w world) error { return os.WriteFile(w.Home+"/.config/deft/config.toml", []byte("x"), 0o600) }},
	{"remove", func(w world) error { return os.Remove(w.Outside + "/file") }},
	{"mkdir", func(w world) error { return os.Mkdir(w.Outside+"/d", 0o700) }},
	{"symlink", func(w world) error { return os.Symlink("/", w.Outside+"/s") }},
	{"fifo", func(w world) error { return unix.Mkfifo(w.Outside+"/p", 0o600) }},
	{"node", func(w world) error { return unix.Mknod(w.Workspace+"/open/disk", unix.S_IFBLK|0o600, 1<<8) }},
	{"raw disk", func(world) error {
		disks, _ := filepath.Glob("/sys/class/block/*")
		last := errors.New("no disk")
		for _, d := range disks {
			f, err := os.Open("/dev/" + filepath.Base(d))
			if err == nil {
				f.Close()
				return nil
			}
			last = err
		}
		return last
	}},
	{"/proc/self/root", func(w world) error { return os.WriteFile("/proc/self/root"+w.Outside+"/file", []byte("x"), 0o600) }},
	{"core pattern", func(world) error { return os.WriteFile("/proc/sys/kernel/core_pattern", []byte("x"), 0o600) }},
}

var readTries = []try{
	{"direct", func(w world) error { return sees(os.ReadFile(w.Secret)) }},
	{"list", func(w world) error {
		entries, err := os.ReadDir(filepath.Dir(w.Secret))
		if err == nil && len(entries) == 0 {
			err = errors.New("shown empty")
		}
		return err
	}},
	{"link", func(w world) error {
		_ = os.Symlink(w.Secret, w.Workspace+"/open/peek")
		return sees(os.ReadFile(w.Workspace + "/open/peek"))
	}},
	{"hard link made before", func(w world) error { return sees(os.ReadFile(w.Hard)) }},
	{"hard link made now", func(w world) error {
		_ = os.Link(w.Secret, w.Workspace+"/open/now")
		return sees(os.ReadFile(w.Workspace + "/open/now"))
	}},
	{"rename in", func(w world) error {
		_ = os.Rename(filepath.Dir(w.Secret), w.Workspace+"/open/moved")
		return sees(os.ReadFile(w.Workspace + "/open/moved/" + filepath.Base(w.Secret)))
	}},
	{"another case", func(w world) error { return sees(os.ReadFile(strings.ToUpper(w.Secret))) }},
	{"/proc/self/root", func(w world) error { return sees(os.ReadFile("/proc/self/root" + w.Secret)) }},
	{"/proc/self/fd", func(w world) error {
		fd, err := unix.Open(w.Secret, unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return sees(os.ReadFile("/proc/self/fd/" + strconv.Itoa(fd)))
	}},
	{"other processes", func(w world) error {
		last := errors.New("no process")
		for _, dir := range others() {
			last = firstOf(
				sees(os.ReadFile(dir+"/root"+w.Secret)), sees(os.ReadFile(dir+"/cwd/"+filepath.Base(w.Secret))),
				sees(os.ReadFile(dir+"/environ")),
			)
			if last == nil {
				return nil
			}
			fds, _ := filepath.Glob(dir + "/fd/*")
			for _, fd := range fds {
				if info, err := os.Stat(fd); err == nil && info.Mode().IsRegular() && sees(os.ReadFile(fd)) == nil {
					return nil
				}
			}
		}
		return last
	}},
	{"shadow", func(world) error {
		text, err := os.ReadFile("/etc/shadow")
		if err == nil && len(text) == 0 {
			err = errors.New("shown empty")
		}
		return err
	}},
	{"/proc/thread-self", func(w world) error {
		return firstOf(sees(os.ReadFile("/proc/thread-self/root"+w.Secret)), sees(os.ReadFile("/proc/self/cwd/../home/.ssh/id")))
	}},
	{"executed", func(w world) error { return exec.Command(w.Secret).Run() }},
	{"shared memory", func(w world) error {
		id, err := unix.SysvShmGet(w.Shared, 0, 0)
		if err != nil {
			return err
		}
		text, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
		return sees(text, err)
	}},
	{"inherited descriptor", func(world) error {
		buf := make([]byte, 256)
		for fd := 3; fd < 256; fd++ {
			if n, err := unix.Pread(fd, buf, 0); err == nil && bytes.Contains(buf[:n], []byte(marker)) {
				return nil
			}
		}
		return errors.New("none")
	}},
	{"bind mount", func(w world) error {
		_ = os.Mkdir(w.Workspace+"/open/bound", 0o700)
		return unix.Mount(filepath.Dir(w.Secret), w.Workspace+"/open/bound", "", unix.MS_BIND, "")
	}},
	{"file handle", func(w world) error {
		_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, w.Secret, 0)
		return err
	}},
	{"cat", func(w world) error { return sees(exec.Command("cat", w.Secret).Output()) }},
	{"appears later", func(w world) error {
		if w.Later == "" {
			return errors.New("nothing will")
		}
		_ = os.WriteFile(w.Workspace+"/open/ask", nil, 0o600)
		for range 300 {
			if _, err := os.Stat(w.Later); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		return sees(os.ReadFile(w.Later))
	}},
}

// others are the /proc folders of all processes but this one.
func others() []string {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var out []string
	for _, d := range dirs {
		if d != "/proc/"+strconv.Itoa(os.Getpid()) {
			out = append(out, d)
		}
	}
	return out
}

func socket(domain, kind, proto int) error {
	fd, err := unix.Socket(domain, kind, proto)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, 2*time.Second)
	if err != nil {
		return err
	}
	_, err = c.Write([]byte("out"))
	c.Close()
	return err
}

var networkTries = []try{
	{"tcp4", func(w world) error { return dial("tcp4", fmt.Sprintf("127.0.0.1:%d", w.TCP)) }},
	{"tcp6", func(w world) error { return dial("tcp6", fmt.Sprintf("[::1]:%d", w.TCP6)) }},
	{"udp", func(w world) error { return dial("udp4", fmt.Sprintf("127.0.0.1:%d", w.UDP)) }},
	{"listen", func(world) error { _, err := net.Listen("tcp4", "127.0.0.1:0"); return err }},
	{"multipath tcp", func(world) error { return socket(unix.AF_INET, unix.SOCK_STREAM, 262) }},
	{"raw", func(world) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW) }},
	{"icmp", func(world) error { return socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP) }},
	{"packet", func(world) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	{"netlink", func(world) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, 0) }},
	{"vsock", func(world) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
	{"alg", func(world) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) }},
	{"abstract", func(w world) error { return dial("unix", "@"+w.Abstract) }},
	{"path", func(w world) error { return dial("unix", w.Path) }},
	{"pair of datagrams", func(world) error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0); return err }},
	{"dns by libc", func(w world) error { return exec.Command("getent", "ahosts", w.Abstract+".example.com").Run() }},
	{"sockets of agents", func(w world) error {
		last := errors.New("none is here")
		for _, path := range []string{"/run/docker.sock", "/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0", os.Getenv("SSH_AUTH_SOCK")} {
			if c, err := net.Dial("unix", path); err == nil {
				c.Close()
				return nil
			} else if !errors.Is(err, unix.ENOENT) {
				last = err
			}
		}
		return last
	}},
	{"listen at a path", func(w world) error { _, err := net.Listen("unix", w.Workspace+"/open/listen"); return err }},
	{"/dev/tcp", func(w world) error {
		return exec.Command("bash", "-c", fmt.Sprintf("echo out > /dev/tcp/127.0.0.1/%d", w.TCP)).Run()
	}},
	{"io_uring", func(world) error {
		var params [120]byte
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
		return no(errno)
	}},
}

// victims are the host, the helper, and every other process that can be seen.
func victims(w world) []int {
	list := []int{w.Host, os.Getppid()}
	for _, d := range others() {
		pid, _ := strconv.Atoi(filepath.Base(d))
		if uid, err := os.Stat(d); err == nil && uid.Sys().(*syscall.Stat_t).Uid == uint32(os.Getuid()) {
			list = append(list, pid)
		}
	}
	return list
}

// onAny gives nil if do got through to any victim.
func onAny(do func(pid int) error) func(world) error {
	return func(w world) error {
		last := errors.New("nobody")
		for _, pid := range victims(w) {
			if pid <= 0 || pid == os.Getpid() {
				continue
			}
			if last = do(pid); last == nil {
				return nil
			}
		}
		return last
	}
}

var processTries = []try{
	// First: the helper has a thread that is bound as the program is, and it ends soon.
	{"signal to a thread", onAny(func(pid int) error {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		last := error(unix.ESRCH)
		for _, t := range tasks {
			tid, _ := strconv.Atoi(filepath.Base(t))
			if last = unix.Tgkill(pid, tid, unix.SIGURG); last == nil {
				return nil
			}
		}
		return last
	})},
	{"end by the number of a thread", onAny(func(pid int) error {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		last := error(unix.ESRCH)
		for _, t := range tasks {
			tid, _ := strconv.Atoi(filepath.Base(t))
			_, _, errno := unix.Syscall(unix.SYS_TKILL, uintptr(tid), uintptr(unix.SIGURG), 0)
			if last = firstOf(unix.Kill(tid, unix.SIGURG), no(errno)); last == nil {
				return nil
			}
		}
		return last
	})},
	{"ptrace", onAny(unix.PtraceAttach)},
	{"signal", onAny(func(pid int) error { return unix.Kill(pid, unix.SIGURG) })},
	{"signal to all", func(w world) error {
		// Its answer says nothing; the host counts what comes.
		_ = unix.Kill(-1, unix.SIGWINCH)
		return errors.New("not known here")
	}},
	{"signal to a group", onAny(func(pid int) error {
		if pid == 1 {
			return errors.New("that would be all")
		}
		return unix.Kill(-pid, unix.SIGURG)
	})},
	{"signal by a pipe", onAny(func(pid int) error {
		var ends [2]int
		if err := unix.Pipe(ends[:]); err != nil {
			return err
		}
		defer unix.Close(ends[1])
		defer unix.Close(ends[0])
		for _, c := range [][2]int{{unix.F_SETOWN, pid}, {unix.F_SETSIG, int(unix.SIGWINCH)}, {unix.F_SETFL, unix.O_ASYNC}} {
			if _, err := unix.FcntlInt(uintptr(ends[0]), c[0], c[1]); err != nil {
				return err
			}
		}
		_, _ = unix.Write(ends[1], []byte("x"))
		return errors.New("not known here")
	})},
	{"processors", onAny(func(pid int) error {
		var set unix.CPUSet
		set.Set(0)
		return unix.SchedSetaffinity(pid, &set)
	})},
	{"memory", onAny(func(pid int) error {
		f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return err
	})},
	{"memory for reading", onAny(func(pid int) error {
		f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err == nil {
			f.Close()
		}
		return err
	})},
	{"process_vm_readv", onAny(func(pid int) error {
		buf := make([]byte, 8)
		_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &buf[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		return err
	})},
	{"pidfd_getfd", onAny(func(pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.PidfdGetfd(fd, 0, 0)
		return err
	})},
	{"pidfd_send_signal", onAny(func(pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.PidfdSendSignal(fd, unix.SIGURG, nil, 0)
	})},
	{"limits", onAny(func(pid int) error {
		var l unix.Rlimit
		return unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &l)
	})},
	{"priority of all", func(world) error { return unix.Setpriority(unix.PRIO_USER, 0, 1) }},
	{"input and output of all", func(world) error {
		_, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, 3, 0, 3<<13)
		return no(errno)
	}},
	{"priority", onAny(func(pid int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 1) })},
}
