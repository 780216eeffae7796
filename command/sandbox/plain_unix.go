//go:build unix

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func setGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(cmd *exec.Cmd, hard bool) {
	sig := syscall.SIGTERM
	if hard {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-cmd.Process.Pid, sig) // a group that is gone is what was wanted
}

func signalOf(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return signalName(ws.Signal())
	}
	return ""
}

func signalName(s syscall.Signal) string { return strings.TrimPrefix(unix.SignalName(s), "SIG") }

// plain is a process of the level none: nobody stands between it and the host.
type plain struct {
	cmd    *exec.Cmd
	happen chan event
}

func startPlain(b *Box, cmd *exec.Cmd) (process, error) {
	setGroup(cmd)
	if err := b.o.Start(cmd); err != nil {
		return nil, &StartError{"exec", err}
	}
	p := &plain{cmd, make(chan event, 1)}
	go func() {
		defer close(p.happen)
		err := cmd.Wait()
		p.kill() // of the group, what the program left behind
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) && cmd.ProcessState == nil {
			p.happen <- event{Step: "wait", Error: err.Error()}
			return
		}
		p.happen <- event{Ended: true, Exit: cmd.ProcessState.ExitCode(), Signal: signalOf(cmd.ProcessState)}
	}()
	return p, nil
}

func (p *plain) events() <-chan event { return p.happen }
func (p *plain) terminate()           { signalGroup(p.cmd, false) }
func (p *plain) kill()                { signalGroup(p.cmd, true) }
func (p *plain) abandon()             { p.kill() }
