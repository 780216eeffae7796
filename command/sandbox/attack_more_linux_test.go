package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func put(name string) func(world) error {
	return func(w world) error {
		path := filepath.Join(w.Workspace, name)
		_ = os.MkdirAll(filepath.Dir(path), 0o700)
		return os.WriteFile(path, []byte("changed"), 0o700)
	}
}

func move(name string) func(world) error {
	return func(w world) error {
		return os.Rename(filepath.Join(w.Workspace, name), w.Workspace+"/open/moved-"+filepath.Base(name))
	}
}

// laterTries change what somebody else runs or believes afterwards.
var laterTries = []try{
	{"git hook", put(".git/hooks/pre-commit")},
	{"core.hooksPath", func(w world) error {
		return exec.Command("git", "-C", w.Workspace, "config", "core.hooksPath", "open").Run()
	}},
	{"core.fsmonitor by file", put(".git/config")},
	{"config of a worktree", put(".git/config.worktree")},
	{"another common directory", func(w world) error {
		_ = os.Remove(w.Workspace + "/.git/commondir")
		return os.WriteFile(w.Workspace+"/.git/commondir", []byte("../open"), 0o600)
	}},
	{"config of a submodule", put(".git/modules/a/b/config")},
	{"hook of a submodule", put(".git/modules/a/b/hooks/post-checkout")},
	{"git info", put(".git/info/attributes")},
	{"submodule", put(".gitmodules")},
	{"agent settings", put(".claude/settings.json")},
	{"agent settings that are there", put(".codex/config.toml")},
	{"servers", put(".mcp.json")},
	{"instructions", put("AGENTS.md")},
	{"direnv", put(".envrc")},
	{"editor", put(".vscode/tasks.json")},
	{"skill text", put("skills/x/SKILL.md")},
	{"new file of a skill", put("skills/x/new.sh")},
	{"remove a skill", func(w world) error { return os.RemoveAll(w.Workspace + "/skills/x") }},
	{"rename a skill", move("skills/x")},
	{"rename the skills", move("skills")},
	{"rename .git", move(".git")},
	{"rename hooks", move(".git/hooks")},
	{"rename settings", move(".codex")},
	{"replace .git by a file", func(w world) error {
		_ = os.RemoveAll(w.Workspace + "/.git/hooks")
		_ = os.Remove(w.Workspace + "/.git")
		return os.WriteFile(w.Workspace+"/.git", []byte("gitdir: open"), 0o600)
	}},
	{"link for a missing name", func(w world) error { return os.Symlink("open", w.Workspace+"/.agents") }},
	{"exchange", func(w world) error {
		_ = os.Mkdir(w.Workspace+"/open/other", 0o700)
		return unix.Renameat2(unix.AT_FDCWD, w.Workspace+"/open/other", unix.AT_FDCWD, w.Workspace+"/.git", unix.RENAME_EXCHANGE)
	}},
	{"rename the workspace", func(w world) error { return os.Rename(w.Workspace, w.Workspace+"-moved") }},
}

var loaderTries = []try{
	{"dynamic loader", func(w world) error {
		last := errors.New("no loader")
		for _, l := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
			if last = sees(exec.Command(l, "/bin/cat", w.Secret).Output()); last == nil {
				return nil
			}
		}
		return last
	}},
	{"LD_PRELOAD", func(w world) error {
		c := exec.Command("cat", w.Secret)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "LD_PRELOAD=" + w.Workspace + "/open/none.so"}
		return sees(c.Output())
	}},
	{"memfd", func(w world) error {
		fd, err := unix.MemfdCreate("cat", 0)
		if err != nil {
			return err
		}
		program, err := exec.LookPath("cat")
		if err != nil {
			return err
		}
		text, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		if _, err := unix.Write(fd, text); err != nil {
			return err
		}
		return sees(exec.Command("/proc/self/fd/"+strconv.Itoa(fd), w.Secret).Output())
	}},
	{"static program", func(w world) error {
		w.Later = ""
		arg, _ := json.Marshal(w)
		out, _ := exec.Command(w.Self, "attack", "read", string(arg)).Output()
		if strings.Contains(string(out), "ESCAPED") {
			return nil
		}
		return errors.New("held")
	}},
	{"setuid program", func(w world) error {
		if w.Setuid == "" {
			return errors.New("only a superuser's test can make one")
		}
		out, err := exec.Command(w.Setuid, "-u").Output()
		if err != nil {
			return err
		}
		if got := strings.TrimSpace(string(out)); got == strconv.Itoa(os.Getuid()) {
			return errors.New("user " + got)
		}
		return nil
	}},
	{"no new privileges", func(world) error {
		status, err := os.ReadFile("/proc/self/status")
		if err == nil && strings.Contains(string(status), "NoNewPrivs:\t1") && strings.Contains(string(status), "CapEff:\t0000000000000000") {
			return errors.New("none")
		}
		return err
	}},
	{"chain of #!", func(w world) error {
		a, b := w.Workspace+"/open/a.sh", w.Workspace+"/open/b.sh"
		_ = os.WriteFile(a, []byte("#!"+b+"\n"), 0o700)
		_ = os.WriteFile(b, []byte("#!/bin/sh\ncat "+w.Secret+"\n"), 0o700)
		return sees(exec.Command(a).Output())
	}},
}

var jailTries = []try{
	{"unshare", func(world) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{"unshare mounts", func(world) error { return unix.Unshare(unix.CLONE_NEWNS) }},
	{"clone", func(world) error {
		c := exec.Command("true")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS}
		return c.Run()
	}},
	{"clone3", func(world) error {
		args := [11]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)}
		pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
		if errno == 0 && pid == 0 {
			for {
				_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}
		return no(errno)
	}},
	{"mount", func(w world) error { return unix.Mount("tmpfs", w.Workspace+"/open", "tmpfs", 0, "") }},
	{"new mount", func(world) error { _, err := unix.Fsopen("tmpfs", 0); return err }},
	{"open_tree", func(world) error { _, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); return err }},
	{"unmount", func(w world) error { return unix.Unmount(filepath.Dir(w.Secret), unix.MNT_DETACH) }},
	{"pivot_root", func(w world) error { return unix.PivotRoot(w.Workspace, w.Workspace+"/open") }},
	{"chroot", func(w world) error { return unix.Chroot(w.Workspace) }},
	{"setns", func(world) error {
		f, err := os.Open("/proc/self/ns/mnt")
		if err != nil {
			return err
		}
		return unix.Setns(int(f.Fd()), 0)
	}},
	{"x32", func(world) error {
		if runtime.GOARCH != "amd64" {
			return errors.New("not on this processor")
		}
		_, _, errno := unix.RawSyscall(0x40000000+unix.SYS_GETPID, 0, 0, 0)
		return no(errno)
	}},
	{"32 bit", func(w world) error {
		path := w.Workspace + "/open/old"
		if err := os.WriteFile(path, program32(), 0o700); err != nil {
			return errors.New("the program can't be written: " + err.Error() + "; nothing was tried")
		}
		return exec.Command(path).Run()
	}},
	{"seccomp off", func(world) error { return unix.Prctl(unix.PR_SET_SECCOMP, 0, 0, 0, 0) }},
	{"new privileges", func(world) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) }},
	{"capabilities", func(world) error {
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		all := [2]unix.CapUserData{{Effective: 1 << unix.CAP_DAC_OVERRIDE, Permitted: 1 << unix.CAP_DAC_OVERRIDE}}
		return unix.Capset(&hdr, &all[0])
	}},
	{"a softer plan", func(w world) error {
		r, out, err := os.Pipe()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, `{"argv":["/bin/cat","cat",%q],"env":[],"dir":"/","level":"none"}`+"\n", w.Secret)
		c := exec.Command(w.Self, "__exec")
		c.ExtraFiles = []*os.File{r, os.Stderr}
		text, err := c.Output()
		return sees(text, errors.Join(err, out.Close()))
	}},
	{"terminal", func(world) error {
		f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return err
	}},
	{"TIOCSTI", func(world) error {
		if err := unix.IoctlSetPointerInt(0, unix.TIOCSTI, 'x'); !errors.Is(err, unix.EPERM) {
			return nil
		}
		return unix.EPERM
	}},
	{"keyring", func(world) error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err }},
	{"bpf", func(world) error { _, _, errno := unix.Syscall(unix.SYS_BPF, 0, 0, 0); return asEPERM(errno) }},
	{"userfaultfd", func(world) error { _, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, 1, 0, 0); return no(errno) }},
	{"personality", func(world) error {
		_, _, errno := unix.Syscall(unix.SYS_PERSONALITY, 0x0400000, 0, 0)
		return no(errno)
	}},
}

// asEPERM gives nil for any answer but a refusal: the kernel has looked at the call.
func asEPERM(errno syscall.Errno) error {
	if errno == unix.EPERM {
		return errno
	}
	return nil
}

// program32 is a static program for the 32-bit calls of this processor: it asks for its
// number and exits with 0 if it may. If it may not it can't exit either, and faults.
func program32() []byte {
	code := []byte{
		0xb8, 20, 0, 0, 0, // mov eax, getpid
		0xcd, 0x80, // int 0x80
		0xb8, 1, 0, 0, 0, // mov eax, exit
		0x31, 0xdb, // xor ebx, ebx
		0xcd, 0x80, // int 0x80
		0xf4, // hlt
	}
	const base, header = 0x08048000, 84
	le := func(v uint32) []byte { return []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)} }
	out := append([]byte{0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0}, le(1)...)
	for _, v := range []uint32{base + header, 52, 0, 0} {
		out = append(out, le(v)...)
	}
	out = append(out, 52, 0, 32, 0, 1, 0, 0, 0, 0, 0, 0, 0)
	size := uint32(header + len(code))
	for _, v := range []uint32{1, 0, base, base, size, size, 5, 0x1000} {
		out = append(out, le(v)...)
	}
	return append(out, code...)
}
