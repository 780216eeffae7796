package sandbox

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// seated is a run whose program took the helper's place: there is nobody between it and
// the host. Who it starts is looked for while it lives, since nobody inherits them.
type seated struct {
	plain
	kin *family
}

// familyLook is how often new members of a run are looked for: a program that leaves its
// group has to be seen before its parent ends.
const familyLook = 20 * time.Millisecond

// startHelped starts cmd by the helper at level.
func startHelped(b *Box, c Command, cmd *exec.Cmd, level Level, temp, _ string) (process, error) {
	p := plan{Argv: append([]string{cmd.Path}, cmd.Args...), Env: cmd.Env, Dir: cmd.Dir, Level: level, Limits: c.bounds(level)}
	if level >= Files {
		var err error
		if p.Profile, err = c.Policy.profileHere(temp); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, &StartError{"plan", err}
	}
	planRead, planWrite, err := os.Pipe()
	if err != nil {
		return nil, &StartError{"pipe", err}
	}
	defer planRead.Close()
	defer planWrite.Close()
	reportRead, reportWrite, err := os.Pipe()
	if err != nil {
		return nil, &StartError{"pipe", err}
	}
	defer reportWrite.Close()
	help := &exec.Cmd{
		Path: b.o.HelperPath, Args: []string{"deft", helperWord}, Dir: "/", Env: []string{"GOGC=off"},
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, WaitDelay: cmd.WaitDelay,
		ExtraFiles: []*os.File{planRead, reportWrite}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := b.o.Start(help); err != nil {
		reportRead.Close()
		return nil, &StartError{"helper", err}
	}
	s := &seated{plain{help, make(chan event, 2)}, &family{head: help.Process.Pid}}
	planRead.Close() // so that writing to a helper that is gone fails
	if _, err := planWrite.Write(append(text, '\n')); err != nil {
		s.kill()
	}
	go s.attend(reportRead)
	return s, nil
}

// profileHere is the profile for the policy as the system resolves it, and temp.
func (p Policy) profileHere(temp string) (string, error) {
	policy, err := p.resolve()
	if err != nil {
		return "", err
	}
	linked, err := policy.linkedSecrets()
	if err != nil {
		return "", err
	}
	policy.Denied = append(policy.Denied, linked...)
	if temp, err = filepath.EvalSymlinks(temp); err != nil {
		return "", &StartError{"temp", err}
	}
	return Profile(policy, temp)
}

// attend passes on what the helper says before it becomes the program, and the program's end.
func (s *seated) attend(report *os.File) {
	defer close(s.happen)
	ready := false
	for lines := bufio.NewScanner(report); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			break
		}
		ready = ready || e.Ready || e.Step != ""
		s.happen <- e
	}
	report.Close()
	done, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		tick := time.NewTicker(familyLook)
		defer tick.Stop()
		for {
			s.kin.look()
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	_ = s.cmd.Wait() // its state has all
	close(done)
	<-looked
	signalGroup(s.cmd, true)
	n := s.kin.end()
	state := s.cmd.ProcessState
	if !ready {
		s.happen <- event{Step: "helper", Error: "ended without a word: " + state.String()}
		return
	}
	s.happen <- event{Ended: true, Exit: state.ExitCode(), Signal: signalOf(state), Survivors: n}
}

func (s *seated) terminate() {
	s.kin.look()
	s.plain.terminate()
}

func (s *seated) kill() {
	s.kin.look()
	s.plain.kill()
	s.kin.end()
}

func (s *seated) abandon() { s.kill() }
