package sandbox

import (
	"os"
	"os/exec"
	"syscall"
)

func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// signalGroup ends the process; there is no gentle way to ask a group here.
func signalGroup(cmd *exec.Cmd, _ bool) { _ = cmd.Process.Kill() }

func signalOf(*os.ProcessState) string { return "" }
