package sandbox

import (
	"bufio"
	"encoding/json"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var bwrapPlaces []string // not on this system

// sandboxExec is the system's program that confines itself by a profile and becomes another.
const sandboxExec = "/usr/bin/sandbox-exec"

// lastFD is above every descriptor that a host hands on by mistake.
const lastFD = 4096

// Helper turns this process into the helper, and does not return, when args (the
// process's os.Args) say so. Else it returns the path to give to [Options].HelperPath. A
// program that wants levels above None calls it first in its main: what ran before it
// would run again for every command.
func Helper(args []string) string {
	if len(args) == 2 && args[1] == helperWord {
		os.Exit(help())
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}

// help becomes the program of the plan. It returns only when that failed.
func help() int {
	var p plan
	report := json.NewEncoder(os.NewFile(reportFD, "report"))
	line, err := bufio.NewReader(os.NewFile(planFD, "plan")).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p)
	}
	if err != nil {
		err = &stepError{"plan", err}
	} else {
		err = p.become(report)
	}
	_ = report.Encode(failure(err)) // without a reader there is nobody to tell
	return 2
}

// become takes on the limits and the profile and becomes the program. No step may be left
// out: the first error ends the run before it began.
func (p plan) become(report *json.Encoder) error {
	program, argv := p.Argv[0], p.Argv[1:]
	if err := unix.Access(program, unix.X_OK); err != nil {
		return &stepError{"exec", &os.PathError{Op: "exec", Path: program, Err: err}}
	}
	if err := syscall.Chdir(p.Dir); err != nil {
		return &stepError{"directory", err}
	}
	for fd := planFD; fd < lastFD; fd++ {
		syscall.CloseOnExec(fd) // one that is not open needs it not
	}
	syscall.Umask(0o077)
	if p.Level >= Files {
		argv = append([]string{"sandbox-exec", "-p", p.Profile, program}, argv[1:]...)
		program = sandboxExec
	}
	for _, b := range p.Limits {
		var l syscall.Rlimit
		err := syscall.Getrlimit(b.Resource, &l)
		if err == nil {
			l.Max = min(b.Value, l.Max)
			l.Cur = l.Max
			err = syscall.Setrlimit(b.Resource, &l)
		}
		if err != nil {
			return &stepError{"rlimit", err}
		}
	}
	if err := report.Encode(event{Ready: true}); err != nil {
		return &stepError{"report", err}
	}
	err := syscall.Exec(program, argv, p.Env)
	return &stepError{"exec", &os.PathError{Op: "exec", Path: program, Err: err}}
}
