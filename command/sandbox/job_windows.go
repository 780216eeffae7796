package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var bwrapPlaces []string // not on this system

// Helper returns nothing: on this system no helper is needed, a job object holds a run.
func Helper([]string) string { return "" }

func (b *Box) probe(context.Context) Findings {
	missing := Finding{Detail: "not on windows"}
	return Findings{
		Level: Limits, Helper: Finding{OK: true, Detail: "job objects"}, Landlock: missing, Seccomp: missing, Namespaces: missing, Bwrap: missing,
	}
}

// inJob is a run as its host holds it: a job, which everything that the program starts
// belongs to, and which is ended whole.
type inJob struct {
	cmd    *exec.Cmd
	happen chan event

	mu  sync.Mutex
	job windows.Handle // 0 when the run is over
}

func startPlain(b *Box, cmd *exec.Cmd) (process, error) {
	return startInJob(b, cmd, windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{})
}

func startHelped(b *Box, c Command, cmd *exec.Cmd, level Level, _, _ string) (process, error) {
	if level > Limits {
		return nil, &StartError{"helper", errors.ErrUnsupported}
	}
	return startInJob(b, cmd, c.jobLimits())
}

// tick is the unit of times in a job.
const tick = 100 * time.Nanosecond

// jobLimits are the bounds of a run; files and descriptors have none here.
func (c Command) jobLimits() windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION {
	var l windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	l.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS | windows.JOB_OBJECT_LIMIT_PROCESS_TIME
	l.BasicLimitInformation.ActiveProcessLimit = uint32(c.Processes)
	l.BasicLimitInformation.PerProcessUserTimeLimit = int64((c.Timeout + time.Second) / tick)
	if c.Memory > 0 {
		l.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY
		l.ProcessMemoryLimit = uintptr(c.Memory)
	}
	return l
}

// startInJob starts cmd so that it is in the job before its first instruction: suspended,
// and resumed when it belongs to it.
func startInJob(b *Box, cmd *exec.Cmd, limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION) (process, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, &StartError{"job", err}
	}
	// Its end, which also comes when the host is killed, ends all that is in it.
	limits.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return nil, &StartError{"job", err}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow: true, CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
	if err := b.o.Start(cmd); err != nil {
		windows.CloseHandle(job)
		return nil, &StartError{"exec", err}
	}
	pid := uint32(cmd.Process.Pid)
	if err = assign(job, pid); err == nil {
		err = resume(pid)
	}
	if err != nil {
		_ = cmd.Process.Kill() // it has not run yet
		_ = cmd.Wait()
		windows.CloseHandle(job)
		return nil, &StartError{"job", err}
	}
	j := &inJob{cmd: cmd, happen: make(chan event, 1), job: job}
	go j.attend()
	return j, nil
}

func assign(job windows.Handle, pid uint32) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	return windows.AssignProcessToJobObject(job, h)
}

// resume lets the threads of a process run, of which there is one.
func resume(pid uint32) error {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(all)
	e := windows.ThreadEntry32{}
	e.Size = uint32(unsafe.Sizeof(e))
	resumed := false
	for err = windows.Thread32First(all, &e); err == nil; err = windows.Thread32Next(all, &e) {
		if e.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, e.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		windows.CloseHandle(thread)
		if err != nil {
			return err
		}
		resumed = true
	}
	if !resumed {
		return textError("no thread to resume")
	}
	return nil
}

func (j *inJob) attend() {
	defer close(j.happen)
	err := j.cmd.Wait()
	j.kill() // what the program left behind
	j.mu.Lock()
	windows.CloseHandle(j.job)
	j.job = 0
	j.mu.Unlock()
	if j.cmd.ProcessState == nil {
		j.happen <- event{Step: "wait", Error: err.Error()}
		return
	}
	j.happen <- event{Ended: true, Exit: j.cmd.ProcessState.ExitCode()}
}

func (j *inJob) events() <-chan event { return j.happen }

// terminate asks the group; a program without a console does not hear it.
func (j *inJob) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(j.cmd.Process.Pid))
}

func (j *inJob) kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.job != 0 {
		_ = windows.TerminateJobObject(j.job, 1) // one that is over was what was wanted
	}
}

func (j *inJob) abandon() { j.kill() }
