//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/command/sandbox"
)

// eachLevel runs f at each level that is there.
func eachLevel(t *testing.T, list []wall, f func(t *testing.T, run func(ctx context.Context, c sandbox.Command) sandbox.Result, dir string)) {
	atEach(t, list, func(t *testing.T, w wall) {
		dir, temp := public(t), public(t)
		box := w.box(t, temp)
		f(t, func(ctx context.Context, c sandbox.Command) sandbox.Result {
			t.Helper()
			c.Dir, c.Env, c.Level, c.AtMost = dir, []string{"PATH=" + os.Getenv("PATH")}, w.level, w.level
			c.Policy.Write = []string{dir}
			res, err := box.Run(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			if res.Level != w.level {
				t.Fatalf("level %v", res.Level)
			}
			return res
		}, dir)
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left in the folder for temporary files: %v %v", left, err)
		}
	})
}

// alive returns the processes whose command line holds text.
func alive(text string) []string {
	var out []string
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, l := range lines {
		if cmd, err := os.ReadFile(l); err == nil && strings.Contains(string(cmd), text) {
			out = append(out, l+": "+strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return out
}

func TestNothingOutlivesARun(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"nohup":               "nohup sleep N >/dev/null 2>&1 &",
		"double fork":         "(sleep N & sleep N &) &",
		"own session":         "setsid sleep N & setsid setsid sleep N &",
		"holds the output":    "sleep N & echo",
		"started at the last": "trap 'setsid sleep N & exit' TERM; while :; do sleep 0.05; done",
		"ignores TERM":        "trap '' TERM; sleep N & setsid sleep N & while :; do sleep N; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachLevel(t, helped, func(t *testing.T, run func(context.Context, sandbox.Command) sandbox.Result, dir string) {
				// A number that is in no other command line.
				number := fmt.Sprintf("98765.%d%d", os.Getpid(), time.Now().UnixNano())
				run(t.Context(), sandbox.Command{
					Argv: []string{"sh", "-c", strings.ReplaceAll(script, "N", number)}, Timeout: 300 * time.Millisecond, Grace: 100 * time.Millisecond,
				})
				if left := alive(number); len(left) > 0 {
					t.Errorf("alive: %v", left)
				}
			})
		})
	}
}

// Every bound is there when the program begins: it asks first thing.
func TestAProgramBeginsWithItsBounds(t *testing.T) {
	t.Parallel()
	eachLevel(t, helped, func(t *testing.T, run func(context.Context, sandbox.Command) sandbox.Result, _ string) {
		for range 5 {
			res := run(t.Context(), sandbox.Command{
				Argv: []string{"cat", "/proc/self/limits"}, Timeout: time.Minute, Memory: 1 << 31, OpenFiles: 77, FileSize: 1 << 21,
			})
			got := strings.Join(strings.Fields(string(res.Stdout)), " ")
			for _, want := range []string{
				"address space 2147483648 2147483648", "cpu time 61 61", "file size 2097152 2097152", "open files 77 77", "core file size 0 0",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in %s", want, got)
				}
			}
			if strings.Contains(got, "processes unlimited") {
				t.Errorf("no bound on processes: %s", got)
			}
		}
	})
}

// With the network allowed a program reaches its host's, at every level.
func TestANetworkThatIsAllowedIsReached(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	script := fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", listener.Addr().(*net.TCPAddr).Port)
	// The subtests end before the listener does.
	t.Run("at", func(t *testing.T) {
		eachLevel(t, walls, func(t *testing.T, run func(context.Context, sandbox.Command) sandbox.Result, _ string) {
			res := run(t.Context(), sandbox.Command{Argv: []string{"bash", "-c", script}, Timeout: time.Minute, Policy: sandbox.Policy{Network: true}})
			if res.Exit != 0 {
				t.Errorf("%s %+v", res.Stderr, res)
			}
		})
	})
}

// host runs a program that goes on until its host is killed.
func host(wallName, dir, number string) {
	for _, w := range helped {
		if w.String() != wallName {
			continue
		}
		res, err := sandbox.New(w.options(dir)).Run(context.Background(), sandbox.Command{
			Argv: []string{"sh", "-c", "setsid sleep " + number + " & echo > started; sleep " + number}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")},
			Level: w.level, AtMost: w.level, Timeout: time.Hour, Policy: sandbox.Policy{Write: []string{dir}},
		})
		fmt.Println(res, err)
	}
}

func TestARunEndsWithItsHost(t *testing.T) {
	t.Parallel()
	atEach(t, helped, func(t *testing.T, w wall) {
		dir := public(t)
		_ = w.box(t, dir) // skips what is not there
		number := fmt.Sprintf("98764.%d%d", os.Getpid(), time.Now().UnixNano())
		c := exec.CommandContext(t.Context(), attacker(), "host", w.String(), dir, number)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		for {
			if _, err := os.Stat(dir + "/started"); err == nil {
				break
			}
			select {
			case err := <-ended:
				t.Fatalf("the host ended before: %v", err)
			case <-time.After(5 * time.Millisecond):
			}
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		deadline := time.Now().Add(time.Minute)
		for len(alive(number)) > 0 && time.Now().Before(deadline) {
			time.Sleep(5 * time.Millisecond)
		}
		if left := alive(number); len(left) > 0 {
			t.Errorf("alive: %v", left)
		}
	})
}

func TestACancelledRunEndsWithoutItsLastStep(t *testing.T) {
	t.Parallel()
	eachLevel(t, helped, func(t *testing.T, run func(context.Context, sandbox.Command) sandbox.Result, dir string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				if _, err := os.Stat(dir + "/started"); err == nil {
					cancel()
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
		res := run(ctx, sandbox.Command{Argv: []string{"sh", "-c", "echo > started; sleep 3000 && echo yes > marker"}, Timeout: 5 * time.Minute})
		if res.Reason != sandbox.Cancelled {
			t.Errorf("%+v", res)
		}
		if _, err := os.Stat(dir + "/marker"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("marker: %v", err)
		}
	})
}

func TestBoundsOfARun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		with   sandbox.Command
		want   func(res sandbox.Result, dir string) bool
	}{
		"output": {"exec cat /dev/zero", sandbox.Command{Timeout: time.Minute, MaxOutput: 1 << 16},
			func(res sandbox.Result, _ string) bool {
				return res.Reason == sandbox.OutputCap && res.Truncated && len(res.Stdout) == 1<<16
			}},
		"file": {"exec cat /dev/zero > big", sandbox.Command{Timeout: time.Minute, FileSize: 1 << 20},
			func(res sandbox.Result, dir string) bool {
				info, err := os.Stat(dir + "/big")
				return err == nil && info.Size() <= 1<<20 && (res.Signal == "XFSZ" || res.Exit != 0)
			}},
		"files": {`i=0; while :; do i=$((i+1)); : > "$TMPDIR/$i"; done`, sandbox.Command{Timeout: time.Minute, TempFiles: 300},
			func(res sandbox.Result, _ string) bool { return res.Reason == sandbox.Quota && res.Why == "temp" }},
		"memory": {"exec dd if=/dev/zero of=/dev/null bs=2G count=1", sandbox.Command{Timeout: time.Minute},
			func(res sandbox.Result, _ string) bool { return res.Reason == sandbox.Exited && res.Exit != 0 }},
		"processor": {"while :; do :; done", sandbox.Command{Timeout: 300 * time.Millisecond},
			func(res sandbox.Result, _ string) bool { return res.Reason == sandbox.TimedOut }},
		"core": {"ulimit -c unlimited || ulimit -c; kill -SEGV $$", sandbox.Command{Timeout: time.Minute},
			func(res sandbox.Result, _ string) bool {
				return res.Signal == "SEGV" && res.Exit == -1 && strings.TrimSpace(string(res.Stdout)) == "0"
			}},
		"descriptors": {"ls /proc/self/fd | wc -l; umask", sandbox.Command{Timeout: time.Minute},
			func(res sandbox.Result, _ string) bool { return string(res.Stdout) == "4\n0077\n" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachLevel(t, helped, func(t *testing.T, run func(context.Context, sandbox.Command) sandbox.Result, dir string) {
				command := c.with // of this level: they run at the same time
				command.Argv = []string{"sh", "-c", c.script}
				res := run(t.Context(), command)
				if !c.want(res, dir) {
					t.Errorf("%s %s: %s", res.Stdout[:min(len(res.Stdout), 80)], res.Stderr[:min(len(res.Stderr), 400)], fmt.Sprint(res.Reason, res.Exit, res.Signal, res.Why))
				}
			})
		})
	}
}

func TestATemporaryFolderThatIsClosedIsRemoved(t *testing.T) {
	t.Parallel()
	// That it is gone eachLevel looks for itself.
	eachLevel(t, all, func(t *testing.T, run func(context.Context, sandbox.Command) sandbox.Result, _ string) {
		run(t.Context(), sandbox.Command{Argv: []string{"sh", "-c", `mkdir "$TMPDIR/a"; echo > "$TMPDIR/a/b"; chmod 0 "$TMPDIR/a" "$TMPDIR"`}, Timeout: time.Minute})
	})
}

// bomb, with a word for N that is in no other command line, doubles its processes nine times: enough to be stopped, and no danger to the
// machine should it not be.
const bomb = `N() { [ $1 -lt 9 ] && { N $(($1+1)) & N $(($1+1)) & }; sleep 3; }; N 0`

// Not in parallel: a user's processes are counted together.
func TestAForkBombEnds(t *testing.T) {
	for _, w := range helped {
		t.Run(w.String(), func(t *testing.T) {
			dir := public(t)
			box := w.box(t, public(t))
			word := fmt.Sprintf("bomb_%d_%d", os.Getpid(), time.Now().UnixNano())
			res, err := box.Run(t.Context(), sandbox.Command{
				Argv: []string{"sh", "-c", strings.ReplaceAll(bomb, "N", word)}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")},
				Level: w.level, AtMost: w.level, Timeout: 2 * time.Second, Processes: 20, Policy: sandbox.Policy{Write: []string{dir}},
			})
			if err != nil || res.Reason == sandbox.Exited && res.Exit == 0 {
				t.Errorf("%v %+v", err, res)
			}
			if left := alive(word); len(left) > 0 {
				t.Errorf("alive: %d", len(left))
			}
		})
	}
}

func TestAResultTellsHowARunEnded(t *testing.T) {
	t.Parallel()
	eachLevel(t, all, func(t *testing.T, run func(context.Context, sandbox.Command) sandbox.Result, _ string) {
		res := run(t.Context(), sandbox.Command{Argv: []string{"sh", "-c", "cat; echo err >&2; exit 3"}, Stdin: []byte("in"), Timeout: time.Minute})
		if string(res.Stdout) != "in" || string(res.Stderr) != "err\n" || res.Exit != 3 || res.Reason != sandbox.Exited {
			t.Errorf("%+v", res)
		}
		if res := run(t.Context(), sandbox.Command{Argv: []string{"sh", "-c", "kill -TERM $$"}, Timeout: time.Minute}); res.Reason != sandbox.Signalled || res.Signal != "TERM" {
			t.Errorf("%+v", res)
		}
	})
}

func TestAMissingProgramIsNamed(t *testing.T) {
	t.Parallel()
	atEach(t, all, func(t *testing.T, w wall) {
		dir := public(t)
		box := w.box(t, public(t))
		for _, name := range []string{"no-such-program", "/no/such/program", "./no-such"} {
			_, err := box.Run(t.Context(), sandbox.Command{
				Argv: []string{name}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Timeout: time.Minute, Level: w.level, AtMost: w.level, Policy: sandbox.Policy{Write: []string{dir}},
			})
			var start *sandbox.StartError
			if !errors.As(err, &start) || start.Step != "exec" || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Not in parallel: what other tests open would count.
func TestManyRunsLeaveNothing(t *testing.T) {
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	runs := func(n int) {
		t.Run("runs", func(t *testing.T) { // which ends when all of them have
			eachLevel(t, all, func(t *testing.T, run func(context.Context, sandbox.Command) sandbox.Result, dir string) {
				for range n {
					if res := run(t.Context(), sandbox.Command{Argv: []string{"true"}, Timeout: time.Minute}); res.Reason != sandbox.Exited || res.Exit != 0 {
						t.Fatalf("%+v", res)
					}
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("left in the workspace: %v %v", left, err)
				}
			})
		})
	}
	runs(1) // what is opened once
	before := open()
	runs(10)
	if after := open(); after > before {
		t.Errorf("%d descriptors, before %d", after, before)
	}
	if dead := zombies(t); len(dead) > 0 {
		t.Errorf("not collected: %v", dead)
	}
}

// zombies are children of this process that have ended and were not waited for.
func zombies(t *testing.T) []string {
	t.Helper()
	var out []string
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		rest := string(text[bytes.LastIndexByte(text, ')')+1:])
		if strings.HasPrefix(rest, fmt.Sprintf(" Z %d ", os.Getpid())) {
			out = append(out, string(text))
		}
	}
	return out
}
