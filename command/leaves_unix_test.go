//go:build unix

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deftskills/deft/command/sandbox"
)

// confined is a runner at the highest level that the machine has, and where its temporary
// folders are made.
func (p *place) confined(t testing.TB) (*Runner, string) {
	t.Helper()
	temp := t.TempDir()
	r, err := New(Options{
		Box:   sandbox.New(sandbox.Options{HelperPath: sandbox.Helper(os.Args), TempRoot: temp}),
		Roots: []string{p.work}, Home: p.home, Host: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home}, Least: &p.least, TempRoot: temp,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, temp
}

// running reports whether a process of this machine has a word among its arguments; where
// there is no /proc nothing is seen.
func running(word string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains("\x00"+string(text), "\x00"+word+"\x00") {
			return true
		}
	}
	return false
}

func TestACancelledLoadLeavesNoProcessAndNoLaterEffect(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r, temp := p.confined(t)
	if err := os.Mkdir(filepath.Join(p.work, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, marker := filepath.Join(p.work, "out", "ready"), filepath.Join(p.work, "out", "marker")
	word := lasting("3")
	go func() {
		defer cancel()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(ready); err == nil {
				return
			}
		}
	}()
	body := "!`touch out/ready; trap '' TERM; sleep " + word + " && echo yes > out/marker` !`touch out/marker`"
	got, err := Expand(ctx, body, ExpandOptions{Rule: Rule{On: true, Timeout: 2 * time.Minute}, Dir: p.work, Gate: &judge{}, Runs: r})
	if !errors.Is(err, context.Canceled) || strings.Count(got.Text(), "(unavailable: cancelled)") != 2 {
		t.Errorf("%q %v", got.Text(), err)
	}
	if _, err := os.Stat(ready); err != nil {
		t.Errorf("the command did not start: %v", err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the command went on after its load was cancelled")
	}
	if running(word) {
		t.Error("a process is left")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("temporary folders are left: %v %v", left, err)
	}
}

// lasting is the argument of a command that would outlive its run; nobody else's has it.
func lasting(kind string) string { return fmt.Sprintf("86%d.%s", os.Getpid(), kind) }

// endings are texts whose commands end in every way.
var endings = []string{
	"!`echo a` !`exit 3` !`kill -SEGV $$`", "!`yes` !`no-such-program`", "!`echo a & exec sleep " + lasting("1") + "`",
	"!`(setsid sleep " + lasting("2") + " &) ; echo b`", "!`cat; echo c >&2` !`exec >&-; exec 2>&-; echo d`",
}

// ended runs the texts n times and reports what is left of it.
func ended(t testing.TB, n int) {
	t.Helper()
	p := &place{home: t.TempDir(), work: t.TempDir()}
	r, temp := p.confined(t)
	o := ExpandOptions{Rule: Rule{On: true, Timeout: time.Second, Parallel: true}, Dir: p.work, Gate: &judge{}, Runs: r}
	run := func(i int) {
		if _, err := Expand(t.Context(), endings[i%len(endings)], o); err != nil {
			t.Fatal(err)
		}
	}
	for i := range endings {
		run(i) // what is opened once, such as the machine's level, is no leak
	}
	before := descriptors()
	for i := range n {
		run(i)
	}
	after := descriptors()
	for deadline := time.Now().Add(time.Minute); after > before && time.Now().Before(deadline); after = descriptors() {
		time.Sleep(10 * time.Millisecond) // the runtime closes some of them a moment later
	}
	if after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("temporary folders are left: %v %v", left, err)
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("a child is left: %d %v", pid, err)
	}
	for _, word := range []string{lasting("1"), lasting("2")} {
		if running(word) {
			t.Errorf("sleep %s runs still", word)
		}
	}
}

// descriptors counts the open ones; 0 where the system does not tell.
func descriptors() int {
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(dir); err == nil {
			return len(entries)
		}
	}
	return 0
}

// It is not parallel: it counts what the whole process has.
func TestRunsLeaveNothingBehind(t *testing.T) { ended(t, 2*len(endings)) }

// BenchmarkRunsLeaveNothingBehind is the same, as often as is asked for.
func BenchmarkRunsLeaveNothingBehind(b *testing.B) { ended(b, b.N) }
