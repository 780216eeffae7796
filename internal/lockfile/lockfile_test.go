package lockfile

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The child takes the lock, says so and holds it until it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("DEFT_TEST_CHILD"); path != "" {
		l, err := Exclusive(context.Background(), path, Options{Verb: "update"})
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString("held\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		_ = l.Release()
		return
	}
	os.Exit(m.Run())
}

func TestKilledHolderLeavesAFreeLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deft.lock")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "DEFT_TEST_CHILD="+path)
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_, err = Exclusive(t.Context(), path, Options{Wait: -1})
	var busy *BusyError
	if !errors.As(err, &busy) || !errors.Is(err, ErrBusy) {
		t.Fatalf("held by a child: %v", err)
	}
	if busy.Holder.PID != child.Process.Pid || !strings.Contains(err.Error(), "deft update (pid ") {
		t.Errorf("holder %+v, %v", busy.Holder, err)
	}
	if _, err := Shared(t.Context(), path, Options{Wait: -1}); !errors.Is(err, ErrBusy) {
		t.Errorf("shared with an exclusive holder: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	l, err := Exclusive(t.Context(), path, Options{})
	if err != nil {
		t.Fatalf("after the kill: %v", err)
	}
	if h, ok := Read(path); !ok || h.PID != os.Getpid() || h.Verb != "run" {
		t.Errorf("holder %+v, %v", h, ok)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, ok := Read(path); ok {
		t.Error("a released lock names a holder")
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("lock file: %v", err)
	}
}

func TestSharersExcludeTheOneAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deft.lock")
	a, err := Shared(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Shared(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Exclusive(t.Context(), path, Options{Wait: time.Millisecond}); !errors.Is(err, ErrBusy) {
		t.Errorf("exclusive beside sharers: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Exclusive(ctx, path, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := errors.Join(a.Release(), b.Release()); err != nil {
		t.Fatal(err)
	}
	l, err := Exclusive(t.Context(), path, Options{Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Release()
}

func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deft.lock")
	var n atomic.Int64 // read and written in two steps: only the lock makes them one
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				l, err := Exclusive(t.Context(), path, Options{Wait: time.Minute})
				if err != nil {
					t.Error(err)
					return
				}
				before := n.Load()
				runtime.Gosched()
				n.Store(before + 1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n.Load() != 160 {
		t.Errorf("%d of 160", n.Load())
	}
}

func TestLockOfADeletedFileIsTakenAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deft.lock")
	lost, err := Exclusive(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if named(lost.f, path) {
		t.Error("a deleted file counts as the lock")
	}
	l, err := Exclusive(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !named(l.f, path) {
		t.Error("the lock is on another file")
	}
	_ = l.Release()
	_ = lost.Release()
}

func TestLockNamesThePathItCannotMake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none", "deft.lock"), dir} {
		if _, err := Exclusive(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%v", err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := Exclusive(t.Context(), link, Options{}); err == nil {
		t.Error("a link was followed")
	}
}

// A holder that removes its file leaves nothing behind, and nobody who waits is left with the
// lost one.
func TestARemovedLockIsTakenAgainOnANewFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var held atomic.Int32
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 50 {
				l, err := Exclusive(context.Background(), path, Options{Wait: time.Minute, Mode: 0o644})
				if err != nil {
					t.Error(err)
					return
				}
				if n := held.Add(1); n != 1 {
					t.Errorf("%d hold it", n)
				}
				held.Add(-1)
				if err := l.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}
