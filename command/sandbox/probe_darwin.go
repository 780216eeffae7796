package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// probeTime is how long the trial of a level may take.
const probeTime = time.Minute

// secret is what the probe must neither read nor change.
const secret = "denied"

// probe finds out by doing: a shell tries to read and write what it may not.
func (b *Box) probe(ctx context.Context) Findings {
	missing := Finding{Detail: "not on darwin"}
	f := Findings{Landlock: missing, Seccomp: missing, Namespaces: missing, Bwrap: missing}
	if b.o.HelperPath == "" {
		f.Helper.Detail = "no helper: Helper is not called in this program"
		return f
	}
	dir, err := os.MkdirTemp(b.o.TempRoot, "deft-probe-")
	if err != nil {
		f.Helper.Detail = err.Error()
		return f
	}
	defer removeAll(dir)
	if err := b.try(ctx, dir, Limits); err != nil {
		f.Helper.Detail = err.Error()
		return f
	}
	f.Level, f.Helper.OK = Limits, true
	if err := b.try(ctx, dir, Files); err != nil {
		f.Seatbelt.Detail = err.Error()
		return f
	}
	f.Level, f.Seatbelt = Files, Finding{OK: true, Detail: sandboxExec}
	return f
}

func (b *Box) try(ctx context.Context, dir string, level Level) error {
	write := filepath.Join(dir, level.String())
	denied, inside, outside := filepath.Join(write, "denied"), filepath.Join(write, "inside"), filepath.Join(dir, level.String()+"-outside")
	if err := errors.Join(os.Mkdir(write, 0o700), os.WriteFile(denied, []byte(secret), 0o600)); err != nil {
		return err
	}
	c := Command{
		Argv: []string{"/bin/sh", "-c", `cat "$1"; echo written > "$1"; echo > "$2"; echo > "$3"`, "sh", denied, inside, outside}, Dir: write,
		Timeout: probeTime, Policy: Policy{Write: []string{write}, Denied: []string{denied}},
	}.withDefaults()
	res, err := b.run(ctx, c, level, "")
	if err == nil && res.Reason != Exited {
		err = &StartError{"helper", textError("no answer: " + string(res.Reason))}
	}
	if err != nil || level < Files {
		return err
	}
	text, _ := os.ReadFile(denied) // one that is gone was changed
	_, insideErr := os.Stat(inside)
	_, outsideErr := os.Stat(outside)
	switch {
	case strings.Contains(string(res.Stdout), secret), string(text) != secret, outsideErr == nil:
		return &StartError{"seatbelt", textError("a denied file could be reached")}
	case insideErr != nil:
		return &StartError{"seatbelt", insideErr}
	}
	return nil
}
