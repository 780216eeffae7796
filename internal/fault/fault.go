// Package fault stops the program at named points, so that tests can see what a
// crash or a full disk leaves behind there.
//
// What belongs here: the names of the points and what an armed one does. What may
// not come in: reading the environment. Only a test's main arms a point; in a
// released binary nobody calls Arm, whatever DEFT_FAULT says, and a point costs one
// atomic load.
//
// A new point: call Point or Err with its name, add the name to Names; a test fails
// when one of the two is missing.
package fault

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Names returns every point, in the order of the work they interrupt. A write of
// state meets its point twice: before the commit and after it ("@2").
func Names() []string {
	return []string{
		"migrate.step", "state.save", "trust.save", "trust.revoke", "grant.save", "damage.move", "queue.insert", "queue.complete",
		"grant.use", "confirm.open", "confirm.resolve", "audit.insert", "audit.retain",
		"atomic.temp", "atomic.write", "atomic.rename", "atomic.dirsync",
		"session.append", "session.sync", "session.save",
		"memory.save", "agent.save", "scan.save", "usage.save",
		"blob.put.temp", "blob.put.rename", "journal.write", "journal.clear", "install.stage", "install.verify", "install.provenance", "install.swap", "install.swapped",
		"install.drop", "install.link", "install.symlink", "install.lock", "install.publiclock", "install.aside", "swap.between", "plugin.swap", "install.ledger",
		"publish.blobs", "publish.tx", "gc.mark", "gc.delete",
	}
}

type armed struct {
	name, action, arg string
	at                int64 // fires at this pass; 1 = the first
	passes            atomic.Int64
}

// current is the armed point. It is the one variable of the library that changes:
// a failpoint handed down as an argument would be in every signature. Only tests
// set it.
var current atomic.Pointer[armed]

// Arm makes one point act and returns how to disarm it. The form is
// NAME=ACTION[:ARG][@PASS] with the actions kill (SIGKILL of the own process), panic,
// sleep (a duration) and err (ENOSPC, EIO, EACCES, EPERM or EROFS, for Err alone). PASS counts from 1.
// NAME * is every point: its passes are counted together. It is for tests only, one
// point at a time.
func Arm(spec string) (disarm func(), err error) {
	name, rest, ok := strings.Cut(spec, "=")
	a := &armed{name: name, at: 1}
	rest, pass, counted := strings.Cut(rest, "@")
	a.action, a.arg, _ = strings.Cut(rest, ":")
	if counted {
		if a.at, err = strconv.ParseInt(pass, 10, 64); err != nil {
			return nil, fmt.Errorf("fault %q: pass %q is not a number", spec, pass)
		}
	}
	switch a.action {
	case "kill", "panic":
	case "sleep":
		_, err = time.ParseDuration(a.arg)
	case "err":
		if _, known := errnos()[a.arg]; !known {
			err = fmt.Errorf("error %q is not known", a.arg)
		}
	default:
		ok = false
	}
	if !ok || err != nil {
		return nil, fmt.Errorf("fault %q: want NAME=kill|panic|sleep:TIME|err:CODE[@PASS]", spec)
	}
	current.Store(a)
	return func() { current.CompareAndSwap(a, nil) }, nil
}

// Point acts when it is armed: it kills the process, panics or sleeps.
func Point(name string) {
	if a := current.Load(); a != nil {
		_ = a.pass(name)
	}
}

// Err is Point for a place that can fail: an armed error is returned.
func Err(name string) error {
	if a := current.Load(); a != nil {
		return a.pass(name)
	}
	return nil
}

func (a *armed) pass(name string) error {
	if a.name != name && a.name != "*" || a.passes.Add(1) != a.at {
		return nil
	}
	switch a.action {
	case "kill":
		if p, err := os.FindProcess(os.Getpid()); err == nil && p.Kill() == nil {
			select {} // the signal is on its way
		}
	case "panic":
		panic("fault " + name)
	case "sleep":
		d, _ := time.ParseDuration(a.arg)
		time.Sleep(d)
	case "err":
		return fmt.Errorf("fault %s: %w", name, errnos()[a.arg])
	}
	return nil
}

func errnos() map[string]error {
	return map[string]error{
		"ENOSPC": syscall.ENOSPC, "EIO": syscall.EIO, "EACCES": syscall.EACCES, "EROFS": syscall.EROFS, "EPERM": syscall.EPERM,
	}
}
