//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/deftskills/deft/internal/modeltest"
	"github.com/deftskills/deft/internal/race"
)

const testModel = "openai-compatible/test-model"

// served gives a run of the program a model server that plays the steps.
func served(cmd *exec.Cmd, steps ...modeltest.Step) *modeltest.Server {
	s := modeltest.NewServer(steps...)
	cmd.Env = append(cmd.Env, "OPENAI_COMPATIBLE_BASE_URL="+s.OpenAI(), "OPENAI_API_KEY=test-key")
	return s
}

func call(name string, input any) modeltest.Step {
	return modeltest.Step{Calls: []modeltest.Call{{Name: name, Input: input}}}
}

// turn runs deft with a model server and returns what came of it.
func (m machine) turn(fault string, steps []modeltest.Step, args ...string) result {
	m.t.Helper()
	cmd, out, errText := m.command(fault, args...)
	s := served(cmd, steps...)
	defer s.Close()
	return m.ended(cmd.Run(), out, errText)
}

// goesOn wants that the newest conversation can be gone on with: the server refuses one in
// which a call has no result.
func (m machine) goesOn(what string) {
	m.t.Helper()
	list := m.run("", "resume", "--list", "--json")
	if list.exit == 1 && gjson.Get(list.out, "sessions.#").Int() == 0 {
		return // nothing was kept yet
	}
	if list.exit != 0 {
		m.t.Errorf("%s: the list exits %d: %s%s", what, list.exit, list.out, list.errors)
	}
	r := m.turn("", []modeltest.Step{{Text: "Still here."}}, "ask", "--resume", "last", "--model", testModel, "and now")
	if r.exit != 0 || !strings.Contains(r.out, "Still here.") {
		m.t.Errorf("%s: it cannot be gone on with, exit %d: %s%s", what, r.exit, r.out, r.errors)
	}
}

// A conversation that is killed at any of its writes goes on with what was said before; a
// disk that is full is said, and loses no answer.
func TestR01KilledConversationGoesOn(t *testing.T) {
	t.Parallel()
	m := decided(t)
	m.write("work/notes.txt", "blue\n")
	steps := []modeltest.Step{
		{Text: "I look.", Calls: []modeltest.Call{{Name: "read", Input: map[string]any{"path": "notes.txt"}}, {Name: "glob", Input: map[string]any{"pattern": "*"}}}},
		{Text: "It is blue."},
	}
	ask := []string{"ask", "--model", testModel, "/tidy and look"}
	files := m.keep(m.stateDir())
	for _, point := range []string{"session.append", "session.sync", "session.save"} {
		kills := 0
		for pass := 1; pass < 3*most; pass++ {
			if race.Enabled && pass > 3 && pass%5 > 0 {
				continue // each is some starts of the program
			}
			m.back(m.stateDir(), files)
			r := m.turn(fmt.Sprintf("%s=kill@%d", point, pass), steps, ask...)
			if !r.killed {
				break
			}
			kills++
			m.goesOn(fmt.Sprintf("%s killed at pass %d", point, pass))
			m.back(m.stateDir(), files)
			full := m.turn(fmt.Sprintf("%s=err:ENOSPC@%d", point, pass), steps, ask...)
			if full.exit != 0 && full.exit != 4 || !strings.Contains(full.out, "It is blue.") {
				t.Errorf("%s, full disk at pass %d: exit %d: %s%s", point, pass, full.exit, full.out, full.errors)
			}
			m.goesOn(fmt.Sprintf("%s full at pass %d", point, pass))
		}
		if kills == 0 {
			t.Errorf("%s is never met", point)
		}
	}
}

// moment is when a signal comes: once the server was asked so often, and the program wrote
// a text.
type moment struct {
	name  string
	steps []modeltest.Step
	args  []string
	say   string // a line of the person, for chat
	asked int
	wrote string
}

func moments(pipe string) []moment {
	hang := modeltest.Step{Hang: true}
	look := call("read", map[string]any{"path": "notes.txt"})
	ask := []string{"ask", "--model", testModel, "--auto", "ALWAYS_CONFIRM", "look"}
	chat := []string{"chat", "--model", testModel, "--auto", "ALWAYS_CONFIRM"}
	return []moment{
		{name: "ask, before the first word", steps: []modeltest.Step{hang}, args: ask, asked: 1},
		{name: "ask, within a word", steps: []modeltest.Step{{Text: "some words of it", Stall: true}}, args: ask, asked: 1, wrote: "some w"},
		{name: "ask, after a tool", steps: []modeltest.Step{look, hang}, args: ask, asked: 2},
		{name: "ask, in a tool", steps: []modeltest.Step{call("bash", map[string]any{"command": "cat " + pipe})}, args: ask, asked: 1, wrote: "→ bash"},
		{name: "chat, after a turn", steps: []modeltest.Step{{Text: "Hello."}}, args: chat, say: "hello\n", asked: 1, wrote: "Hello."},
		{name: "chat, in a turn", steps: []modeltest.Step{hang}, args: chat, say: "hello\n", asked: 1},
	}
}

// Whenever a signal comes, the program ends with 130, leaves no child, and the conversation
// can be gone on with.
func TestR09Interrupt(t *testing.T) {
	t.Parallel()
	m := decided(t)
	m.write("work/notes.txt", "blue\n")
	pipe := filepath.Join(m.project, "never")
	m.check(syscall.Mkfifo(pipe, 0o600))
	for i, at := range moments(pipe) {
		for j, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			if race.Enabled && (i+j)%3 > 0 {
				continue // each is some starts of the program
			}
			if signal.Ignored(s) {
				continue // as under nohup: then the program goes on, as it should
			}
			m.interrupt(at, s)
			if left := holders(pipe); len(left) > 0 {
				t.Errorf("%s, %s: a child is left: %v", at.name, s, left)
			}
			m.goesOn(fmt.Sprintf("%s, %s", at.name, s))
			if r := m.run("", "doctor", "--json"); r.exit != 0 && r.exit != 1 {
				t.Errorf("%s, %s: doctor exits %d: %s%s", at.name, s, r.exit, r.out, r.errors)
			}
		}
	}
}

// heard is what a program writes, for who waits for a part of it.
type heardText struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (h *heardText) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(p)
	select {
	case h.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (h *heardText) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

func (m machine) interrupt(at moment, s syscall.Signal) {
	m.t.Helper()
	cmd, _, _ := m.command("", at.args...)
	server := served(cmd, at.steps...)
	defer server.Close()
	text := &heardText{more: make(chan struct{}, 1)}
	cmd.Stdout, cmd.Stderr = text, text
	in, err := cmd.StdinPipe()
	m.check(err)
	m.check(cmd.Start())
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	if at.say != "" {
		_, err := in.Write([]byte(at.say))
		m.check(err)
	}
	long := time.After(2 * time.Minute)
	wait := func(what string, ready func() bool) {
		for !ready() {
			select {
			case <-text.more:
			case <-server.Asked():
			case err := <-over:
				m.t.Fatalf("%s: it has ended before %s: %v\n%s", at.name, what, err, text)
			case <-long:
				_ = cmd.Process.Kill()
				m.t.Fatalf("%s: no %s:\n%s", at.name, what, text)
			}
		}
	}
	wait("moment", func() bool {
		return len(server.Requests()) >= at.asked && strings.Contains(text.String(), at.wrote)
	})
	m.check(cmd.Process.Signal(s))
	for ended, again := false, false; !ended; {
		select {
		case <-over:
			ended = true
		case <-text.more:
			if !again && strings.Contains(text.String(), "the turn was cancelled") { // and nothing else
				again = true
				m.check(cmd.Process.Signal(s))
			}
		case <-long:
			_ = cmd.Process.Kill()
			m.t.Fatalf("%s, %s: it does not end:\n%s", at.name, s, text)
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		m.t.Errorf("%s, %s: exit %d:\n%s", at.name, s, code, text)
	}
}

// holders are the processes whose command line names a file. A killed one may take a
// moment to go.
func holders(name string) (left []string) {
	for range 600 {
		left = nil
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range lines {
			if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(name)) {
				left = append(left, file)
			}
		}
		if len(left) == 0 {
			return nil
		}
		<-time.After(100 * time.Millisecond)
	}
	return left
}
