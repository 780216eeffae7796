//go:build !unix

package mcpskills

import "os/exec"

// apart does nothing here: the process alone is ended, and what it started ends with its
// input.
func apart(*exec.Cmd) {}

func askGroup(c *exec.Cmd)  { _ = c.Process.Kill() }
func killGroup(c *exec.Cmd) { _ = c.Process.Kill() }
