package sandbox_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/command/sandbox"
)

func TestWhatCannotBeHeldIsNotStarted(t *testing.T) {
	t.Parallel()
	there, masked := sandbox.Finding{OK: true}, sandbox.Finding{Detail: "masked"}
	for name, c := range map[string]struct {
		wanted sandbox.Level
		found  sandbox.Findings
		why    string
	}{
		"no helper":   {sandbox.Limits, sandbox.Findings{}, "helper"},
		"no Landlock": {sandbox.Files, sandbox.Findings{Level: sandbox.Limits, Helper: there, Landlock: masked, Namespaces: masked, Bwrap: masked}, "landlock: masked"},
		"no seccomp":  {sandbox.Files, sandbox.Findings{Level: sandbox.Limits, Helper: there, Landlock: there, Seccomp: masked}, "seccomp: masked"},
		"no namespaces": {sandbox.Full, sandbox.Findings{
			Level: sandbox.Files, Helper: there, Landlock: there, Seccomp: there, Namespaces: masked, Bwrap: masked,
		}, "namespaces: masked; bwrap: masked"},
		"nothing": {sandbox.Full, sandbox.Findings{}, "helper"},
	} {
		started := 0
		box := sandbox.New(sandbox.Options{
			TempRoot: t.TempDir(), Probe: func(context.Context) sandbox.Findings { return c.found },
			Start: func(*exec.Cmd) error { started++; return errors.New("started") },
		})
		_, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"true"}, Dir: t.TempDir(), Level: c.wanted})
		var missing *sandbox.UnavailableError
		if !errors.Is(err, sandbox.ErrUnavailable) || !errors.As(err, &missing) || missing.Wanted != c.wanted || missing.Present != c.found.Level {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.HasPrefix(missing.Why, c.why) {
			t.Errorf("%s: %s", name, missing.Why)
		}
		if started != 0 {
			t.Errorf("%s: %d processes were started", name, started)
		}
	}
}

func TestACallThatIsOverStartsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	cancel()
	box := sandbox.New(sandbox.Options{TempRoot: t.TempDir(), Start: func(*exec.Cmd) error {
		t.Error("started")
		return errors.New("started")
	}})
	if _, err := box.Run(ctx, sandbox.Command{Argv: []string{"true"}, Dir: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
