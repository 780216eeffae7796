//go:build !linux && !darwin && !windows

package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
)

var bwrapPlaces []string // not on this system

// Helper returns nothing: on this system there is no level above None.
func Helper([]string) string { return "" }

func startHelped(*Box, Command, *exec.Cmd, Level, string, string) (process, error) {
	return nil, &StartError{"helper", errors.ErrUnsupported}
}

func (b *Box) probe(context.Context) Findings {
	missing := Finding{Detail: "not on " + runtime.GOOS}
	return Findings{Helper: missing, Landlock: missing, Seccomp: missing, Namespaces: missing, Bwrap: missing}
}
