package sandbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/command/sandbox"
)

func TestTheEnvironmentHoldsNoSecretAndNoWritablePath(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	host := []string{"HOME=/home/u", "LC_ALL=C", "ENV=/x", "BASH_ENV=/x", "TMPDIR=/x", "PASSED=1", "PATH=" + workspace + ":/:relative:/no/such"}
	for i := range 50 {
		host = append(host, fmt.Sprintf("SECRET_%d=planted", i))
	}
	got := sandbox.Environment(host, []string{workspace}, []string{"PASSED"})
	for _, want := range []string{"HOME=/home/u", "LC_ALL=C", "PASSED=1", "PATH=/", "CI=1", "GIT_TERMINAL_PROMPT=0"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %v", want, got)
		}
	}
	if text := strings.Join(got, "\n"); strings.Contains(text, "planted") || strings.Contains(text, "=/x") {
		t.Errorf("too much: %v", got)
	}
}

func TestALevelIsReadByItsName(t *testing.T) {
	t.Parallel()
	for l := sandbox.None; l <= sandbox.Full; l++ {
		if got, err := sandbox.ParseLevel(l.String()); err != nil || got != l {
			t.Errorf("%v: %v %v", l, got, err)
		}
	}
	if got, err := sandbox.ParseLevel("softer"); err == nil || got != sandbox.Full {
		t.Errorf("%v %v", got, err)
	}
}
