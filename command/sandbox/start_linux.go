package sandbox

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// helped is a run as its host sees it: through the helper.
type helped struct {
	cmd    *exec.Cmd
	orders *os.File
	report *os.File
	happen chan event
	once   sync.Once
	held   holds
	inner  bool // the helper's numbers are those of its own namespace
}

// startHelped starts cmd by the helper at level, in namespaces that by has made, or its own.
func startHelped(b *Box, c Command, cmd *exec.Cmd, level Level, temp, by string) (process, error) {
	p := plan{
		Argv: append([]string{cmd.Path}, cmd.Args...), Env: cmd.Env, Dir: cmd.Dir, Level: level, Limits: c.bounds(level), Network: c.Policy.Network,
		by: by,
	}
	if os.Getuid() == 0 {
		p.Processes = c.Processes
	}
	h, err := p.confineBy(c.Policy, temp)
	if err != nil {
		return nil, err
	}
	return b.startHelper(p, cmd, h)
}

// confineBy fills in what files and full need.
func (p *plan) confineBy(policy Policy, temp string) (holds, error) {
	if p.Level < Files {
		return holds{}, nil
	}
	policy, err := policy.resolve()
	if err != nil {
		return holds{}, err
	}
	linked, err := policy.linkedSecrets()
	if err != nil {
		return holds{}, err
	}
	policy.Denied = append(policy.Denied, linked...)
	var h holds
	held := func(string) bool { return false }
	if p.Level == Full {
		if h, err = holdAll(policy); err != nil {
			return holds{}, err
		}
		p.Mounts = &mounts{Temp: temp, Write: policy.Write, Hold: h.list, Cover: policy.Denied}
		if p.by != "" {
			p.Mounts.Made = ownWorlds()
		}
		inShown := func(path string) bool { return within(path, shown) }
		for _, path := range policy.Read {
			writable := func(root string) bool { return within(path, root) } // and so shown with it
			if inShown(path) && !slices.ContainsFunc(policy.Write, writable) {
				p.Mounts.Read = append(p.Mounts.Read, path)
			}
		}
		held = policy.heldByMounts
		if seen := shown + "/run"; slices.ContainsFunc(slices.Concat(policy.Read, policy.Write), inShown) {
			// What is shown below the folder would be allowed with it: so a part of it is given.
			if err := os.Mkdir(filepath.Join(temp, "run"), 0o700); err != nil {
				h.release()
				return holds{}, &StartError{"temp", err}
			}
			temp = seen
		} else {
			temp = shown
		}
		p.Env = append(withoutTemp(p.Env), "TMPDIR="+temp)
	}
	if p.Rules, err = policy.rules(temp, held); err != nil {
		h.release()
	}
	return h, err
}

// tasksOf counts the threads of a user, which is what the kernel's limit counts.
func tasksOf(uid int) uint64 {
	var n uint64
	if uid == 0 {
		return 0 // the limit does not hold the superuser
	}
	eachProcess(func(s processStat) {
		var st unix.Stat_t
		if unix.Stat("/proc/"+strconv.Itoa(s.pid), &st) == nil && st.Uid == uint32(uid) {
			n += uint64(s.threads)
		}
	})
	return n
}

// startHelper starts the helper with a plan and cmd's three streams, and gives back what is
// held when it has ended.
func (b *Box) startHelper(p plan, cmd *exec.Cmd, held holds) (process, error) {
	h, err := b.startWith(p, cmd)
	if err != nil {
		held.release()
		return nil, err
	}
	h.held, h.inner = held, p.Level == Full
	text, err := json.Marshal(p)
	if err == nil {
		// The helper reads as this is written; one that is gone closes the pipe.
		_, err = h.orders.Write(append(text, '\n'))
	}
	if err != nil {
		h.kill()
	}
	go h.listen()
	return h, nil
}

func (b *Box) startWith(p plan, cmd *exec.Cmd) (*helped, error) {
	planRead, planWrite, err := os.Pipe()
	if err != nil {
		return nil, &StartError{"pipe", err}
	}
	defer planRead.Close()
	reportRead, reportWrite, err := os.Pipe()
	if err != nil {
		planWrite.Close()
		return nil, &StartError{"pipe", err}
	}
	defer reportWrite.Close()
	help := &exec.Cmd{
		Path: b.o.HelperPath, Args: []string{"deft", helperWord}, Dir: "/", Env: []string{"GOGC=off"},
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, WaitDelay: cmd.WaitDelay,
		ExtraFiles: []*os.File{planRead, reportWrite}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	switch {
	case p.by != "":
		program, err := byBwrap(help, p)
		if err != nil {
			planWrite.Close()
			reportRead.Close()
			return nil, &StartError{"helper", err}
		}
		defer program.Close()
	case p.Level == Full:
		ownWorld(help.SysProcAttr, p.Network)
	}
	if err := b.o.Start(help); err != nil {
		planWrite.Close()
		reportRead.Close()
		return nil, &StartError{"helper", err}
	}
	return &helped{cmd: help, orders: planWrite, report: reportRead, happen: make(chan event, 8)}, nil
}

// ownWorld asks for namespaces in which the user is who they are, with the right to mount
// until the program starts. With network the one of the host stays.
func ownWorld(attr *syscall.SysProcAttr, network bool) {
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !network {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
}

// listen passes on the helper's report, and its end.
func (h *helped) listen() {
	defer close(h.happen)
	defer h.report.Close()
	ready, ended, group := false, false, 0
	for lines := bufio.NewScanner(h.report); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			break
		}
		ready, ended = ready || e.Ready || e.Step != "", ended || e.Ended
		group = max(group, e.Group)
		h.happen <- e
	}
	h.kill()
	_ = h.cmd.Wait() // its report has said all
	if !ended && group > 1 && !h.inner {
		_ = syscall.Kill(-group, syscall.SIGKILL) // the helper is gone before its time
	}
	h.held.release()
	if !ready {
		h.happen <- event{Step: "helper", Error: "ended without a word: " + h.cmd.ProcessState.String()}
	}
}

func (h *helped) events() <-chan event { return h.happen }

func (h *helped) terminate() { _, _ = h.orders.Write([]byte("T")) }

func (h *helped) kill() { h.once.Do(func() { h.orders.Close() }) }

// abandonTries is how often the processes below a helper are ended before it is: with it
// gone nobody would know whose they are. In a world of its own they end with it.
const abandonTries = 50

func (h *helped) abandon() {
	h.kill()
	for range abandonTries {
		family := descendants(h.cmd.Process.Pid)
		for _, pid := range family {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone meanwhile: fine
		}
		if len(family) == 0 {
			break
		}
	}
	_ = h.cmd.Process.Kill()
}
