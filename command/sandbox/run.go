package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// run runs c at exactly this level; by makes its namespaces if it is not empty.
func (b *Box) run(ctx context.Context, c Command, level Level, by string) (Result, error) {
	started := time.Now()
	none := Result{Exit: -1, Level: level}
	if err := checkDir(c.Dir); err != nil {
		return none, err
	}
	program, err := lookPath(c)
	if err != nil {
		return none, err
	}
	temp, err := os.MkdirTemp(b.o.TempRoot, "deft-run-")
	if err != nil {
		return none, &StartError{"temp", err}
	}
	defer removeAll(temp)
	out, err := newCapture(c.MaxOutput)
	if err != nil {
		return none, &StartError{"pipe", err}
	}
	errOut, err := newCapture(c.MaxOutput)
	if err != nil {
		out.discard()
		return none, &StartError{"pipe", err}
	}
	cmd := &exec.Cmd{Path: program, Args: c.Argv, Dir: c.Dir, Stdout: out.write, Stderr: errOut.write}
	cmd.Env = append(withoutTemp(c.Env), "TMPDIR="+temp)
	if len(c.Stdin) > 0 {
		cmd.Stdin = bytes.NewReader(c.Stdin)
		cmd.WaitDelay = time.Second // the input of a program that does not read it
	}
	var p process
	if level == None {
		p, err = startPlain(b, cmd)
	} else {
		p, err = startHelped(b, c, cmd, level, temp, by)
	}
	if err != nil {
		out.discard()
		errOut.discard()
		return none, err
	}
	out.start()
	errOut.start()
	res, err := b.watch(ctx, p, c, started.Add(c.Timeout), temp, out.full, errOut.full)
	wait := lingering
	var cut bool
	res.Stdout, res.Truncated = out.finish(wait)
	res.Stderr, cut = errOut.finish(wait)
	res.Truncated = res.Truncated || cut
	res.Level, res.Duration = level, time.Since(started)
	return res, err
}

// lingering is how long a pipe is read after the last known process has ended.
const lingering = 200 * time.Millisecond

func checkDir(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%w: directory %q: not absolute", ErrPolicy, dir)
	}
	if info, err := os.Stat(dir); err != nil {
		return &StartError{"directory", err}
	} else if !info.IsDir() {
		return &StartError{"directory", &fs.PathError{Op: "chdir", Path: dir, Err: fs.ErrInvalid}}
	}
	return nil
}

// lookPath finds the program by the PATH that it will see itself.
func lookPath(c Command) (string, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return "", &StartError{"exec", fs.ErrNotExist}
	}
	for _, text := range append(append([]string{c.Dir}, c.Argv...), c.Env...) {
		if strings.ContainsRune(text, 0) {
			return "", &StartError{"exec", fmt.Errorf("argument with a NUL: %w", fs.ErrInvalid)}
		}
	}
	name := c.Argv[0]
	if strings.ContainsRune(name, filepath.Separator) {
		if filepath.IsAbs(name) {
			return name, nil
		}
		return filepath.Join(c.Dir, name), nil
	}
	return LookPath(name, c.Env)
}

// LookPath returns the absolute path of the program that name means in the PATH of env, a
// list of KEY=value. What is not there is a [*StartError] of step exec.
func LookPath(name string, env []string) (string, error) {
	path := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		// An absolute name is found as it is, with the suffixes of the system.
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", &StartError{"exec", &fs.PathError{Op: "look up", Path: name, Err: fs.ErrNotExist}}
}

func withoutTemp(env []string) []string {
	var out []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, "TMPDIR=") {
			out = append(out, kv)
		}
	}
	return out
}

// removeAll removes the temporary folder, also where the run took the right to it away.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir) // what stays is in the folder for temporary files, which is emptied
}
