//go:build unix

package mcpskills

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// alive reports whether a process runs; one that only waits to be reaped does not.
func alive(pid int) bool {
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		return !bytes.Contains(stat, []byte(") Z "))
	}
	return syscall.Kill(pid, 0) == nil
}
