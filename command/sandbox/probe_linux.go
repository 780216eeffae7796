package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// probeTime is how long the helper may take to say that it is confined.
const probeTime = time.Minute

// probe finds out by doing: a helper confines itself at each level and tries to get out.
// What an administrator, a container or another kernel forbids shows itself that way.
// Bubblewrap is tried where it is the one way to full.
func (b *Box) probe(ctx context.Context) Findings {
	f := Findings{ABI: landlockABI()}
	if b.o.HelperPath == "" {
		missing := Finding{Detail: "no helper: Helper is not called in this program"}
		f.Helper, f.Landlock, f.Seccomp, f.Namespaces, f.Bwrap = missing, missing, missing, missing, missing
		return f
	}
	dir, err := os.MkdirTemp(b.o.TempRoot, "deft-probe-")
	if err != nil {
		f.Helper.Detail = err.Error()
		return f
	}
	defer removeAll(dir)
	errs := [Full + 1]error{Full: textError("left alone")}
	levels := []Level{Limits, Files, Full}
	if b.o.OnlyBwrap {
		levels = levels[:2]
	}
	seen := make(chan bubblewrap, 1)
	go func() { seen <- b.bwrap(ctx) }()
	done := make(chan Level)
	for _, l := range levels {
		go func() { errs[l] = b.try(ctx, dir, l, ""); done <- l }()
	}
	for range levels {
		<-done
	}
	f.judge(errs)
	bwrap := <-seen
	if bwrap.err == nil && f.Level == Files {
		if bwrap.err = b.try(ctx, dir, Full, bwrap.path); bwrap.err == nil {
			f.Level, f.BwrapPath = Full, bwrap.path
		}
	}
	f.Bwrap = found(bwrap.err, bwrap.version+" at "+bwrap.path)
	return f
}

// judge turns what the trials said into findings.
func (f *Findings) judge(errs [Full + 1]error) {
	f.Helper = found(errs[Limits], "")
	step := func(name string) error {
		var s *StartError
		if errors.As(errs[Files], &s) && s.Step != name && f.Helper.OK {
			return nil
		}
		return errs[Files]
	}
	f.Landlock = found(step("landlock"), fmt.Sprintf("ABI %d", f.ABI))
	if f.ABI < leastABI {
		f.Landlock = Finding{Detail: fmt.Sprintf("ABI %d, at least %d is needed", f.ABI, leastABI)}
	}
	f.Seccomp = found(step("seccomp"), "")
	f.Namespaces = found(errs[Full], "")
	for _, l := range []Level{Limits, Files, Full} {
		if errs[l] != nil {
			break
		}
		f.Level = l
	}
}

func found(err error, detail string) Finding {
	if err != nil {
		return Finding{Detail: err.Error()}
	}
	return Finding{OK: true, Detail: detail}
}

// secret is what the probe must neither read nor change.
const secret = "denied"

// try confines a helper at one level in dir, by bubblewrap if by is not empty, and lets it
// try to get out.
func (b *Box) try(ctx context.Context, dir string, level Level, by string) error {
	name := level.String()
	if by != "" {
		name += "-by"
	}
	write, temp := filepath.Join(dir, name), filepath.Join(dir, name+"-temp")
	denied, inside := filepath.Join(write, "denied"), filepath.Join(write, "inside")
	if err := errors.Join(os.MkdirAll(inside, 0o700), os.Mkdir(temp, 0o700), os.WriteFile(denied, []byte(secret), 0o600)); err != nil {
		return err
	}
	c := Command{Policy: Policy{Write: []string{write}, Denied: []string{denied}}}.withDefaults()
	p := plan{Level: level, Try: &trial{Denied: denied, Write: inside}, by: by}
	h, err := p.confineBy(c.Policy, temp)
	if err != nil {
		return err
	}
	said, err := os.Create(filepath.Join(dir, name+"-said"))
	if err != nil {
		h.release()
		return err
	}
	defer said.Close()
	proc, err := b.startHelper(p, &exec.Cmd{Stderr: said}, h)
	if err != nil {
		return err
	}
	c.Timeout = probeTime
	res, err := b.watch(ctx, proc, c, time.Now().Add(probeTime), temp, nil, nil)
	if err == nil && res.Reason != Exited {
		err = &StartError{"helper", textError("no answer: " + string(res.Reason))}
	}
	if text, readErr := os.ReadFile(denied); err == nil && (readErr != nil || string(text) != secret) {
		err = &StartError{"landlock", textError("a denied file could be written")}
	}
	if text, _ := os.ReadFile(said.Name()); err != nil && len(text) > 0 {
		line, _, _ := strings.Cut(string(text), "\n")
		err = fmt.Errorf("%w: %s", err, line) // what bubblewrap says
	}
	return err
}
