//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/command/sandbox"
)

// script writes a program that could pass for bubblewrap.
func script(t *testing.T, path, text string) {
	t.Helper()
	writeProgram(t, path, []byte("#!/bin/sh\n"+text+"\n"), 0o755)
}

// onlyBwrap finds out what there is where namespaces are barred and bubblewrap may be at
// path; what is started is told.
func onlyBwrap(t *testing.T, path string) (found sandbox.Findings, started []string) {
	t.Helper()
	list := make(chan string, 100)
	found = sandbox.New(sandbox.Options{
		HelperPath: "/proc/self/exe", TempRoot: public(t), OnlyBwrap: true, BwrapPlaces: []string{path},
		Start: func(c *exec.Cmd) error { list <- c.Path; return c.Start() },
	}).Probe(t.Context())
	close(list)
	for s := range list {
		started = append(started, s)
	}
	return found, started
}

func TestBwrapThatOthersCanReplaceIsNotStarted(t *testing.T) {
	t.Parallel()
	dir := public(t)
	fake := dir + "/bin/bwrap"
	script(t, fake, "echo > "+dir+"/pwned; echo bubblewrap 9.9")
	if err := os.Symlink(fake, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fake, dir + "/link"} {
		found, started := onlyBwrap(t, path)
		if found.Bwrap.OK || found.Level > sandbox.Files || !strings.Contains(found.Bwrap.Detail, "others than root") {
			t.Errorf("%+v", found)
		}
		for _, s := range started {
			if strings.Contains(s, dir) {
				t.Errorf("started: %s", s)
			}
		}
	}
	if _, err := os.Stat(dir + "/pwned"); err == nil {
		t.Error("it ran")
	}
}

func TestAMissingBwrapIsNamed(t *testing.T) {
	t.Parallel()
	found, _ := onlyBwrap(t, "/no/such/bwrap")
	if why := found.Missing(sandbox.Full); found.Bwrap.OK || found.Level > sandbox.Files || why == "" {
		t.Errorf("%+v %q", found, why)
	}
}

// What bubblewrap was asked for is looked at: a program that only starts the helper gives
// no world of its own, and nothing runs.
func TestBwrapThatMakesNoNamespacesIsFoundOut(t *testing.T) {
	t.Parallel()
	if why := findOut().Missing(sandbox.Files); why != "" {
		t.Log(why) // with less than that nothing is started at all
		return
	}
	dir := public(t)
	script(t, dir+"/bwrap", `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`)
	box := sandbox.New(sandbox.Options{HelperPath: "/proc/self/exe", TempRoot: dir, Probe: func(context.Context) sandbox.Findings {
		return sandbox.Findings{Level: sandbox.Full, BwrapPath: dir + "/bwrap"}
	}})
	_, err := box.Run(t.Context(), sandbox.Command{
		Argv: []string{"touch", dir + "/ws/pwned"}, Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: time.Minute, Level: sandbox.Full,
		Policy: sandbox.Policy{Write: []string{dir + "/ws"}},
	})
	var start *sandbox.StartError
	if !errors.As(err, &start) || start.Step != "mount" {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(dir + "/ws/pwned"); err == nil {
		t.Error("it ran")
	}
}
