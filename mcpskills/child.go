package mcpskills

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deftskills/deft/internal/safetext"
)

// Each step of ending a process may take this long: closing its input, asking it, then
// killing it.
const stopStep = time.Second

// keptEnv are the variables that every process gets: what programs need to find themselves
// and their files. All others may hold secrets.
var keptEnv = [...]string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	"SYSTEMROOT", "SYSTEMDRIVE", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "USERNAME", "PROGRAMFILES", "PATHEXT", "TEMP", "TMP", "COMSPEC",
}

// child is a server that runs as a process, in a group of its own with all that it starts.
type child struct {
	cmd     *exec.Cmd
	in, out *os.File // our ends
	err     *tail
	exited  chan struct{}
	once    sync.Once
}

// environment is what a process is told.
func (h *Host) environment(s Server) []string {
	var out []string
	for _, v := range h.o.Environ {
		name, _, _ := strings.Cut(v, "=")
		if _, own := s.Env[name]; !own && slices.Contains(keptEnv[:], strings.ToUpper(name)) {
			out = append(out, v)
		}
	}
	for name, value := range s.Env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// program finds the file of a command on the PATH that the process will have.
func program(command string, env []string, dir string) (string, error) {
	if strings.ContainsAny(command, `/\`) {
		if !filepath.IsAbs(command) {
			command = filepath.Join(dir, command)
		}
		return exec.LookPath(command)
	}
	for _, v := range slices.Backward(env) {
		if list, ok := strings.CutPrefix(v, "PATH="); ok {
			for _, folder := range filepath.SplitList(list) {
				if !filepath.IsAbs(folder) {
					continue // the working folder may be a stranger's
				}
				if file, err := exec.LookPath(filepath.Join(folder, command)); err == nil {
					return file, nil
				}
			}
			break
		}
	}
	return "", fmt.Errorf("program %q: not found on PATH", command)
}

// start starts the process of a server.
func (h *Host) start(s Server) (*child, error) {
	dir := s.Dir
	if dir == "" {
		dir = h.o.Workspace
	}
	env := h.environment(s)
	file, err := program(s.Command, env, dir)
	if err != nil {
		return nil, err
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		_, _ = theirIn.Close(), in.Close() // the error that there is tells more
		return nil, err
	}
	c := &child{in: in, out: out, err: &tail{}, exited: make(chan struct{})}
	c.cmd = &exec.Cmd{Path: file, Args: append([]string{s.Command}, s.Args...), Env: env, Dir: dir, Stdin: theirIn, Stdout: theirOut, Stderr: c.err}
	c.cmd.WaitDelay = stopStep
	apart(c.cmd)
	err = c.cmd.Start()
	_, _ = theirIn.Close(), theirOut.Close() // the process has its own
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
	go func() { // ends with the process
		_ = c.cmd.Wait() // how it ended is told by what it said
		killGroup(c.cmd) // what it started holds our pipe
		close(c.exited)
	}()
	return c, nil
}

// maxMessage bounds one message of a server.
const maxMessage = 16 << 20

func (c *child) transport() mcp.Transport {
	return &mcp.IOTransport{Reader: c.out, Writer: c.in, MaxLineLength: maxMessage}
}

// stop ends the process: its input is closed, then it is asked, then it is killed with all
// that it started.
func (c *child) stop() {
	c.once.Do(func() {
		_ = c.in.Close()
		for _, step := range []func(*exec.Cmd){askGroup, killGroup, killGroup} {
			timer := time.NewTimer(stopStep)
			select {
			case <-c.exited:
				timer.Stop()
				_ = c.out.Close()
				return
			case <-timer.C:
				step(c.cmd)
			}
		}
		<-c.exited // a killed process ends
		_ = c.out.Close()
	})
}

// said is the last line that the process wrote to standard error, cleaned.
func (c *child) said() string {
	lines := strings.Split(strings.TrimSpace(c.err.String()), "\n")
	line, _ := safetext.Field(lines[len(lines)-1])
	return safetext.Clip(line, 200)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b[max(0, len(b)-maxTail):]...)
	if over := len(t.text) - maxTail; over > 0 {
		t.text = slices.Delete(t.text, 0, over)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
