//go:build unix

package s3test

import (
	"os/exec"
	"syscall"
)

// detach keeps signals of the terminal from cmd: it has to outlive this process.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
