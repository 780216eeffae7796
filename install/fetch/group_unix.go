//go:build unix

package fetch

import (
	"os/exec"
	"syscall"
)

// ownGroup has the whole of what git starts end with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
