//go:build unix

package mcpskills

import (
	"os/exec"
	"syscall"
)

// apart gives a process a group of its own, so that all of it can be ended and a Ctrl-C at
// the terminal ends only the program itself, which then ends the servers.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// askGroup asks all of the group to end; killGroup ends it. A group that is gone is fine.
func askGroup(c *exec.Cmd)  { _ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
func killGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
