//go:build unix

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unprivileged has the program run as somebody whom modes stop, and gives the home to them.
func (m *installed) unprivileged() {
	m.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	deft, err := exec.LookPath("deft")
	m.check(err)
	m.program = filepath.Join(filepath.Dir(m.home), "deft")
	// By another process, as in readOnly.
	m.check(exec.Command("cp", deft, m.program).Run())
	m.check(os.Chmod(m.program, 0o755))
	for dir := filepath.Dir(m.home); dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		m.check(os.Chmod(dir, 0o755))
	}
	m.check(filepath.WalkDir(m.home, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, nobody, nobody)
		}
		return err
	}))
	m.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// Where a folder can't be written, the skill is as it was, the message names the place, and
// the next run, once it can, has nothing to mend.
func TestR02ReadOnlyTargetsLeaveTheOldState(t *testing.T) {
	t.Parallel()
	m := newInstalled(t)
	m.unprivileged()
	m.do("add", "../src", "--skill", "pdf")
	m.source("second")
	steps := []struct {
		closed string
		args   []string
	}{
		{".agents/skills", []string{"update"}},
		{".agents/skills", []string{"remove", "pdf"}},
		{".", []string{"update"}}, // the lock file
		{".claude/skills", []string{"remove", "pdf"}},
		{".claude/skills", []string{"add", "../src", "--skill", "sheets"}},
		{".agents/skills", []string{"add", "../src", "--skill", "sheets"}},
	}
	for _, s := range steps {
		before := m.seen()
		dir := filepath.Join(m.project, s.closed)
		m.check(os.Chmod(dir, 0o555))
		r := m.run("", s.args...)
		m.check(os.Chmod(dir, 0o755))
		if r.exit == 0 || r.exit == 70 || !strings.Contains(r.errors, dir) {
			t.Errorf("%v where %s is read-only: exit %d: %s%s", s.args, s.closed, r.exit, r.out, r.errors)
		}
		if diff := cmp.Diff(before, m.seen()); diff != "" {
			t.Errorf("%v where %s is read-only: %s", s.args, s.closed, diff)
		}
		if left := m.begun(false); len(left) > 0 {
			t.Errorf("%v where %s is read-only: left behind: %q", s.args, s.closed, left)
		}
	}
	// A skill whose author made its folders read-only is replaced and removed like any other.
	for _, args := range [][]string{{"update"}, {"remove", "pdf"}} {
		for _, dir := range []string{"scripts", "."} {
			m.check(os.Chmod(filepath.Join(m.project, ".agents/skills/pdf", dir), 0o555))
		}
		m.do(args...)
	}
	if left := m.begun(false); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	m.do("verify")
}
