//go:build unix

package store

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

func limitFiles(limit string) error {
	n, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
}

// asSomebodyElse makes a command run as an ordinary user where the test runs as the
// superuser, whom no mode stops. The binary is copied to where that user sees it.
func asSomebodyElse(t *testing.T, cmd *exec.Cmd, owned ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	for _, path := range owned {
		must(t, os.Chown(path, nobody, nobody))
	}
	for dir := filepath.Dir(owned[0]); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	binary, err := os.ReadFile(os.Args[0])
	must(t, err)
	cmd.Path = filepath.Join(filepath.Dir(owned[0]), "child.test")
	must(t, os.WriteFile(cmd.Path, binary, 0o755))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}
