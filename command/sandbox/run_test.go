package sandbox_test

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/deftskills/deft/command/sandbox"
)

func TestWhatCannotBeHeldIsNotStarted(t *testing.T) {
	t.Parallel()
	for _, wanted := range []sandbox.Level{sandbox.Limits, sandbox.Files, sandbox.Full} {
		started := 0
		box := sandbox.New(sandbox.Options{
			TempRoot: t.TempDir(), Probe: func(context.Context) sandbox.Findings { return sandbox.Findings{} },
			Start: func(*exec.Cmd) error { started++; return errors.New("started") },
		})
		_, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"true"}, Dir: t.TempDir(), Level: wanted})
		var missing *sandbox.UnavailableError
		if !errors.Is(err, sandbox.ErrUnavailable) || !errors.As(err, &missing) || missing.Wanted != wanted || missing.Present != sandbox.None {
			t.Errorf("%v: %v", wanted, err)
		}
		if started != 0 {
			t.Errorf("%v: %d processes were started", wanted, started)
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
