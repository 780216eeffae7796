//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deftskills/deft/command/sandbox"
)

// wall is a level, and the way to it.
type wall struct {
	level sandbox.Level
	bwrap bool // full by bubblewrap, as where namespaces are barred
}

func (w wall) String() string {
	if w.bwrap {
		return w.level.String() + "-by-bwrap"
	}
	return w.level.String()
}

// What is tried against each of them. One that this machine can't reach is skipped by the
// name of what is missing.
var (
	all    = []wall{{sandbox.None, false}, {sandbox.Limits, false}, {sandbox.Files, false}, {sandbox.Full, false}, {sandbox.Full, true}}
	helped = all[1:] // by the helper
	walls  = all[2:] // holding files and the network
)

func (w wall) options(temp string) sandbox.Options {
	o := sandbox.Options{HelperPath: "/proc/self/exe", TempRoot: temp, OnlyBwrap: w.bwrap, KillWait: time.Minute}
	if w.level == sandbox.None {
		o.HelperPath = ""
	}
	return o
}

// What this machine can do is found out once for each way, in earnest.
var (
	findOut = sync.OnceValue(func() sandbox.Findings {
		return sandbox.New(wall{sandbox.Full, false}.options("")).Probe(context.Background())
	})
	findOutBwrap = sync.OnceValue(func() sandbox.Findings {
		return sandbox.New(wall{sandbox.Full, true}.options("")).Probe(context.Background())
	})
)

// box is a box in which the wall's level is reached the wall's way, with its temporary
// folders in temp. Without the level the test is skipped.
func (w wall) box(t *testing.T, temp string) *sandbox.Box {
	t.Helper()
	found := findOut
	switch {
	case w.level == sandbox.None:
		found = func() sandbox.Findings { return sandbox.Findings{} }
	case w.bwrap:
		found = findOutBwrap
	}
	if f := found(); f.Level < w.level {
		t.Skip(f.Missing(w.level))
	}
	o := w.options(temp)
	o.Probe = func(context.Context) sandbox.Findings { return found() }
	return sandbox.New(o)
}

// atEach runs f against each of the walls.
func atEach(t *testing.T, list []wall, f func(t *testing.T, w wall)) {
	for _, w := range list {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			f(t, w)
		})
	}
}

// public is a folder that every user can reach, since the attackers run as several.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "deft-escape-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// attacker is this program, where every user can read it and no attack has anything else.
var attacker = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "deft-attacker-")
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	path := dir + "/attacker"
	syscall.ForkLock.RLock() // see writeProgram
	err = errors.Join(os.WriteFile(path, text, 0o755), os.Chmod(path, 0o755), os.Chmod(dir, 0o755))
	syscall.ForkLock.RUnlock()
	if err != nil {
		panic(err)
	}
	return path
})

func cleanUp() { os.RemoveAll(filepath.Dir(attacker())) }
