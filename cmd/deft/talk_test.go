//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// talk is a conversation of one story: a program that lives beside the story's lines.
type talk struct {
	vars []string // names of the story's variables
	cmd  *exec.Cmd
	in   io.WriteCloser

	mu    sync.Mutex
	heard bytes.Buffer // both of its outputs
	from  int          // where the next hear begins
	more  chan struct{}
	over  chan struct{} // closed when the program has ended
	err   error
}

type talkKey struct{}

// patience is how long a story waits for what must come: nothing is measured by it.
const patience = 30 * time.Second

func (t *talk) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard.Write(p)
	select {
	case t.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

// setUpTalk gives a story room for one conversation, which ends with it.
func setUpTalk(env *testscript.Env) {
	t := &talk{}
	for _, v := range env.Vars {
		name, _, _ := strings.Cut(v, "=")
		t.vars = append(t.vars, name)
	}
	env.Values[talkKey{}] = t
	env.Defer(func() {
		if t.cmd != nil {
			_ = t.cmd.Process.Kill()
			<-t.over
		}
	})
}

// startTalk starts the program: talk PROGRAM ARGS…
func startTalk(ts *testscript.TestScript, neg bool, args []string) {
	t := ts.Value(talkKey{}).(*talk)
	want(ts, !neg && len(args) > 0 && t.cmd == nil, "talk PROGRAM ARGS…, one at a time")
	var env []string
	for _, name := range append(t.vars, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_COMPATIBLE_BASE_URL", "DEFT_HOME") {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	program := args[0]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if at := filepath.Join(dir, program); filepath.Base(program) == program && isProgram(at) {
			program = at
			break
		}
	}
	t.more, t.over = make(chan struct{}, 1), make(chan struct{})
	t.heard.Reset()
	t.from = 0
	c := exec.Command(program, args[1:]...)
	c.Dir, c.Env, c.Stdout, c.Stderr = ts.MkAbs("."), env, t, t
	in, err := c.StdinPipe()
	ts.Check(err)
	ts.Check(c.Start())
	t.cmd, t.in = c, in
	go func() {
		t.err = c.Wait()
		close(t.over)
	}()
}

func isProgram(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// say writes a line to the program: say TEXT
func say(ts *testscript.TestScript, neg bool, args []string) {
	t := ts.Value(talkKey{}).(*talk)
	want(ts, !neg && len(args) == 1 && t.cmd != nil, "say TEXT, while a program runs")
	_, err := io.WriteString(t.in, args[0]+"\n")
	ts.Check(err)
}

// slay kills the program at once, as kill -9 does.
func slay(ts *testscript.TestScript, neg bool, args []string) {
	t := ts.Value(talkKey{}).(*talk)
	want(ts, !neg && len(args) == 0 && t.cmd != nil, "slay, while a program runs")
	ts.Check(t.cmd.Process.Kill())
	<-t.over
	t.cmd = nil
}

// terminate sends the program the signal that ends it in order.
func terminate(ts *testscript.TestScript, neg bool, args []string) {
	t := ts.Value(talkKey{}).(*talk)
	want(ts, !neg && len(args) == 0 && t.cmd != nil, "terminate, while a program runs")
	ts.Check(t.cmd.Process.Signal(syscall.SIGTERM))
}

// interrupt is Ctrl-C.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	t := ts.Value(talkKey{}).(*talk)
	want(ts, !neg && len(args) == 0 && t.cmd != nil, "interrupt, while a program runs")
	ts.Check(t.cmd.Process.Signal(os.Interrupt))
}

// hear waits until what the program writes, after what was heard before, matches.
func hear(ts *testscript.TestScript, neg bool, args []string) {
	t := ts.Value(talkKey{}).(*talk)
	want(ts, !neg && len(args) == 1 && t.cmd != nil, "hear PATTERN, while a program runs")
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	deadline := time.After(patience)
	for {
		t.mu.Lock()
		at := pattern.FindIndex(t.heard.Bytes()[t.from:])
		if at != nil {
			t.from += at[1]
		}
		rest := t.heard.String()[t.from:]
		t.mu.Unlock()
		if at != nil {
			return
		}
		select {
		case <-t.more:
		case <-t.over:
			if pattern.MatchString(rest) {
				return
			}
			ts.Fatalf("the program has ended (%v) and %q was not heard after:\n%s", t.err, args[0], rest)
		case <-deadline:
			ts.Fatalf("%q was not heard after:\n%s", args[0], rest)
		}
	}
}

// heard counts: heard N PATTERN
func heard(ts *testscript.TestScript, neg bool, args []string) {
	t := ts.Value(talkKey{}).(*talk)
	want(ts, !neg && len(args) == 2, "heard N PATTERN")
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	t.mu.Lock()
	text := t.heard.String()
	t.mu.Unlock()
	if n := len(pattern.FindAllString(text, -1)); strconv.Itoa(n) != args[0] {
		ts.Fatalf("%q was heard %d times, want %s, in:\n%s", args[1], n, args[0], text)
	}
}

// bye ends the program's input and waits for its end with that exit code: bye CODE
func bye(ts *testscript.TestScript, neg bool, args []string) {
	t := ts.Value(talkKey{}).(*talk)
	want(ts, !neg && len(args) == 1 && t.cmd != nil, "bye CODE, while a program runs")
	if err := t.in.Close(); !errors.Is(err, os.ErrClosed) { // it may have ended by itself
		ts.Check(err)
	}
	select {
	case <-t.over:
	case <-time.After(patience):
		ts.Fatalf("the program does not end")
	}
	if got := t.cmd.ProcessState.ExitCode(); strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s:\n%s", got, args[0], t.heard.String())
	}
	t.cmd = nil
}
