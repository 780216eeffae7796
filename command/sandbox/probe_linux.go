package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// probeTime is how long the helper may take to say that it is confined.
const probeTime = 5 * time.Second

// probe finds out by doing: a helper confines itself at each level and tries to get out.
// What an administrator, a container or another kernel forbids shows itself that way.
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
	errs := [Full + 1]error{}
	done := make(chan Level)
	for _, l := range []Level{Limits, Files, Full} {
		go func() { errs[l] = b.try(ctx, dir, l); done <- l }()
	}
	for range 3 {
		<-done
	}
	f.judge(errs)
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
	f.Bwrap = Finding{Detail: "not used: namespaces are made without it"}
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

// try confines a helper at one level in dir, and lets it try to get out.
func (b *Box) try(ctx context.Context, dir string, level Level) error {
	write, temp := filepath.Join(dir, level.String()), filepath.Join(dir, level.String()+"-temp")
	denied, inside := filepath.Join(write, "denied"), filepath.Join(write, "inside")
	if err := errors.Join(os.MkdirAll(inside, 0o700), os.Mkdir(temp, 0o700), os.WriteFile(denied, []byte(secret), 0o600)); err != nil {
		return err
	}
	c := Command{Policy: Policy{Write: []string{write}, Denied: []string{denied}}}.withDefaults()
	p := plan{Level: level, Try: &trial{Denied: denied, Write: inside}}
	h, err := p.confineBy(c.Policy, temp)
	if err != nil {
		return err
	}
	proc, err := b.startHelper(p, &exec.Cmd{}, h)
	if err != nil {
		return err
	}
	c.Timeout = probeTime
	res, err := watch(ctx, proc, c, time.Now().Add(probeTime), temp, nil, nil)
	if err == nil && res.Reason != Exited {
		err = &StartError{"helper", textError("no answer: " + string(res.Reason))}
	}
	if text, readErr := os.ReadFile(denied); err == nil && (readErr != nil || string(text) != secret) {
		err = &StartError{"landlock", textError("a denied file could be written")}
	}
	return err
}
