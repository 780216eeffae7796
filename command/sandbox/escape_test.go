//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deftskills/deft/command/sandbox"
)

// stage is a world for one attack, and the wall around it.
type stage struct {
	world
	base   string
	box    *sandbox.Box
	policy sandbox.Policy
	came   atomic.Int32 // what reached the host by a socket
}

func newStage(t *testing.T, w wall, group string) *stage {
	t.Helper()
	base := public(t)
	s := &stage{base: base, box: w.box(t, base)}
	home := base + "/home"
	s.world = world{
		Workspace: base + "/ws", Outside: base + "/outside", Home: home, Secret: home + "/.ssh/id", Later: home + "/.aws/credentials",
		Hard: base + "/ws/linked/hard-before", Self: attacker(), Host: os.Getpid(),
	}
	for path, text := range map[string]string{
		s.Secret: marker, s.Outside + "/file": "original", s.Outside + "/sub/file": "original",
		s.Workspace + "/open/file": "", s.Workspace + "/.git/hooks/sample": "original", s.Workspace + "/.git/config": "[core]\n",
		s.Workspace + "/.git/info/exclude": "original", s.Workspace + "/.git/HEAD": "ref: refs/heads/main\n",
		s.Workspace + "/.git/modules/a/b/HEAD": "ref: refs/heads/main\n", s.Workspace + "/.git/modules/a/b/config": "[core]\n",
		home + "/.config/deft/config.toml": "original", s.Workspace + "/.codex/config.toml": "original", s.Workspace + "/AGENTS.md": "original", s.Workspace + "/skills/x/SKILL.md": "original",
	} {
		write(t, path, text)
	}
	write(t, filepath.Dir(s.Hard)+"/file", "original")
	// A second name of a secret closes its directory for new entries; other groups need it open.
	if group == "read" || group == "loaders" {
		if err := os.Link(s.Secret, s.Hard); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		s.Setuid = s.Outside + "/id"
		program, err := exec.LookPath("id")
		if err != nil {
			t.Fatal(err)
		}
		copyProgram(t, program, s.Setuid, 0o755)
		if err := os.Chown(s.Setuid, 4242, 4242); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(s.Setuid, 0o4755); err != nil {
			t.Fatal(err)
		}
	}
	s.policy = sandbox.Policy{
		Read: []string{filepath.Dir(s.Self), home, s.Outside}, Write: []string{s.Workspace},
		Denied:    sandbox.Denied(home, []string{s.Workspace}),
		Protected: append(sandbox.Protected(s.Workspace, home), s.Workspace+"/skills/x"),
	}
	s.serve(t)
	s.share(t)
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyProgram(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	writeProgram(t, to, text, mode)
}

func writeProgram(t *testing.T, to string, text []byte, mode os.FileMode) {
	t.Helper()
	write(t, to, "")
	// A process that another test starts now would have the file open for writing for a
	// moment, and the kernel runs no such file.
	syscall.ForkLock.RLock()
	err := os.WriteFile(to, text, mode)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, mode); err != nil {
		t.Fatal(err)
	}
}

// serve listens on everything that an attacker may try to reach.
func (s *stage) serve(t *testing.T) {
	t.Helper()
	s.Abstract, s.Path = "deft-escape-"+filepath.Base(s.base), s.Outside+"/socket"
	for _, l := range []struct {
		network, address string
		port             *int
	}{{"tcp4", "127.0.0.1:0", &s.TCP}, {"tcp6", "[::1]:0", &s.TCP6}, {"unix", "@" + s.Abstract, nil}, {"unix", s.Path, nil}} {
		listener, err := net.Listen(l.network, l.address)
		if err != nil {
			t.Logf("no %s here: %v", l.network, err)
			continue
		}
		t.Cleanup(func() { listener.Close() })
		if l.port != nil {
			*l.port = listener.Addr().(*net.TCPAddr).Port
		}
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				s.came.Add(1)
				c.Close()
			}
		}()
	}
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { udp.Close() })
	s.UDP = udp.LocalAddr().(*net.UDPAddr).Port
	go func() {
		for buf := make([]byte, 16); ; {
			if _, _, err := udp.ReadFrom(buf); err != nil {
				return
			}
			s.came.Add(1)
		}
	}()
}

// share puts a secret in memory that programs of one user share by a number.
func (s *stage) share(t *testing.T) {
	t.Helper()
	s.Shared = int(time.Now().UnixNano() & 0x7fffffff)
	id, err := unix.SysvShmGet(s.Shared, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
	if err != nil {
		t.Logf("no shared memory here: %v", err)
		return
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	text, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	copy(text, marker)
	if err := unix.SysvShmDetach(text); err != nil {
		t.Fatal(err)
	}
}

// signalled counts the signals that came to this process by no doing of its own.
var signalled = sync.OnceValue(func() *atomic.Int32 {
	var n atomic.Int32
	came := make(chan os.Signal, 16)
	signal.Notify(came, unix.SIGWINCH)
	go func() {
		for range came {
			n.Add(1)
		}
	}()
	return &n
})

// fingerprint tells everything about a tree that an attacker may have changed.
func fingerprint(t *testing.T, roots ...string) string {
	t.Helper()
	var out strings.Builder
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			st := info.Sys().(*syscall.Stat_t)
			fmt.Fprintf(&out, "%s %v %d:%d", path, info.Mode(), st.Uid, st.Gid)
			if info.Mode().IsRegular() {
				text, _ := os.ReadFile(path)
				n, _ := unix.Listxattr(path, nil)
				fmt.Fprintf(&out, " %d %d %d %x", info.ModTime().UnixNano(), st.Nlink, n, text[:min(len(text), 64)])
			}
			out.WriteByte('\n')
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// protectedTree is what of the workspace has to be as before.
func (s *stage) protectedTree(t *testing.T) string {
	t.Helper()
	var kept []string
	for line := range strings.Lines(fingerprint(t, s.Workspace, s.Outside, s.base+"/home", filepath.Dir(s.Self))) {
		if !strings.HasPrefix(line, s.Workspace+"/open") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	covered := 0
	for _, w := range walls {
		for group := range attacks {
			t.Run(w.String()+"/"+group, func(t *testing.T) {
				t.Parallel()
				testAttack(t, w, group)
			})
		}
		found := findOut()
		if w.bwrap {
			found = findOutBwrap()
		}
		if found.Level >= w.level {
			covered++
			t.Logf("covered: level %s as user %d", w, os.Getuid())
		} else {
			t.Logf("not covered: level %s as user %d: %s", w, os.Getuid(), found.Missing(w.level))
		}
	}
	if covered == 0 && os.Getenv("CI") != "" {
		t.Error("no level that holds anything was covered")
	}
}

func testAttack(t *testing.T, w wall, group string) {
	s, level := newStage(t, w, group), w.level
	leak, err := unix.Open(s.Secret, unix.O_RDONLY, 0) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	before, signals := s.protectedTree(t), signalled().Load()
	stopSibling := s.sibling(t, level)
	later := make(chan struct{})
	go func() {
		defer close(later)
		for range 500 {
			if _, err := os.Stat(s.Workspace + "/open/ask"); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
			if group != "read" {
				return
			}
		}
		_ = os.MkdirAll(filepath.Dir(s.Later), 0o755)
		_ = os.WriteFile(s.Later, []byte(marker), 0o644)
	}()
	arg, err := json.Marshal(s.world)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.box.Run(t.Context(), sandbox.Command{
		Argv: []string{s.Self, "attack", group, string(arg)}, Dir: s.Workspace, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.base + "/home"},
		Level: level, AtMost: level, Policy: s.policy, Timeout: 5 * time.Minute, Memory: -1, MaxOutput: 1 << 20,
	})
	stopSibling()
	<-later
	if err != nil || res.Level != level {
		t.Fatalf("level %v: %v", res.Level, err)
	}
	if !bytes.HasSuffix(res.Stdout, []byte("done\n")) || bytes.Contains(res.Stdout, []byte("ESCAPED")) {
		t.Errorf("%s\n%s\n%+v", res.Stdout, res.Stderr, res.Reason)
	}
	_ = os.RemoveAll(filepath.Dir(s.Later))
	if after := s.protectedTree(t); after != before {
		t.Errorf("changed:\n%s\nwas:\n%s\n%s", after, before, res.Stdout)
	}
	if n := signalled().Load() - signals; n > 0 {
		t.Errorf("%d signals came", n)
	}
	if n := s.came.Load(); n > 0 {
		t.Errorf("%d connections came", n)
	}
}

// sibling keeps another run going, which the attack may not reach either.
func (s *stage) sibling(t *testing.T, level sandbox.Level) func() {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.box.Run(ctx, sandbox.Command{
			Argv: []string{"sleep", "1000"}, Dir: s.Outside, Env: []string{"PATH=" + os.Getenv("PATH"), "SIBLING=" + marker},
			Level: level, AtMost: level, Timeout: 5 * time.Minute, Policy: sandbox.Policy{Read: []string{s.Outside}},
		})
	}()
	return func() { cancel(); <-done }
}

// A superuser's wall is another one than a user's: what a superuser's test proves has to
// be proved again for somebody without rights.
func TestEscapesAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Log("this test runs as an ordinary user already")
		return
	}
	dir := public(t)
	copyProgram(t, attacker(), dir+"/sandbox.test", 0o755)
	somebody := 40_000 + os.Getpid()%20_000 // nobody's, and not that of another run of this test
	if err := os.Mkdir(dir+"/temp", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir+"/temp", somebody, somebody); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), dir+"/sandbox.test", "-test.v", "-test.run=^Test(Escapes|Nothing|A|Bounds|Bwrap)")
	c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir + "/temp", "CI=" + os.Getenv("CI")}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(somebody), Gid: uint32(somebody)}}
	out, err := c.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "covered: level") {
			t.Log(strings.TrimSpace(line))
		}
	}
	// A program that counts its coverage says so after its last line.
	if err != nil || !bytes.Contains(out, []byte("\nPASS\n")) {
		t.Errorf("as user %s: %v\n%s", strconv.Itoa(somebody), err, out)
	}
}
