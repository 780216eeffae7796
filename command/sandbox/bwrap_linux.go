package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bwrapPlaces are where systems put bubblewrap. No PATH is asked: whoever could write into
// one of its directories would answer.
var bwrapPlaces = []string{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"}

// leastBwrap is the first version whose options do what is asked here.
var leastBwrap = [2]int{0, 6}

// bwrapTime is how long bubblewrap may take to say its version.
const bwrapTime = 30 * time.Second

// bubblewrap is what was found of it, or what is wrong with the last one that was found.
type bubblewrap struct {
	path, version string
	err           error
}

func (b *Box) bwrap(ctx context.Context) bubblewrap {
	var err error = textError("not installed")
	for _, place := range b.o.BwrapPlaces {
		real, missing := filepath.EvalSymlinks(place)
		if missing != nil {
			continue
		}
		if err = onlyRoots(real); err != nil {
			continue
		}
		var version string
		if version, err = b.bwrapVersion(ctx, real); err == nil {
			return bubblewrap{real, version, nil}
		}
	}
	return bubblewrap{err: err}
}

// onlyRoots reports who but the superuser could put something else at path, which is
// resolved.
func onlyRoots(path string) error {
	for {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return &os.PathError{Op: "stat", Path: path, Err: err}
		}
		if st.Uid != 0 || st.Mode&0o022 != 0 {
			return textError("not used: " + path + " can be changed by others than root")
		}
		if path == "/" {
			return nil
		}
		path = filepath.Dir(path)
	}
}

func (b *Box) bwrapVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, bwrapTime)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Dir, cmd.Env, cmd.Stdout = "/", []string{}, &out
	err := b.o.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	version, ok := strings.CutPrefix(strings.TrimSpace(out.String()), "bubblewrap ")
	var got [2]int
	if _, err := fmt.Sscanf(version, "%d.%d", &got[0], &got[1]); !ok || err != nil {
		return "", textError(path + ": does not say its version")
	}
	if slices.Compare(got[:], leastBwrap[:]) < 0 {
		return "", textError(fmt.Sprintf("%s is %s, at least %d.%d is needed", path, version, leastBwrap[0], leastBwrap[1]))
	}
	return version, nil
}

// helperFD is where bubblewrap finds the helper's program: by its path it would be another
// file, or none, if it was replaced or lies in what the run may not see.
const helperFD = 5

// byBwrap makes help, which starts the helper, start it by bubblewrap. The caller closes
// what is returned when help has started.
func byBwrap(help *exec.Cmd, p plan) (*os.File, error) {
	program, err := os.OpenFile(help.Path, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	help.Path, help.Args = p.by, append([]string{"bwrap"}, p.Mounts.arguments(p.Network)...)
	help.Args = append(help.Args, "--", fmt.Sprintf("/proc/self/fd/%d", helperFD), helperWord)
	help.ExtraFiles = append(help.ExtraFiles, program)
	return program, nil
}

// arguments tell bubblewrap to make what enter makes, in the same order: what comes later
// lies on top.
func (m *mounts) arguments(network bool) []string {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--as-pid-1", "--cap-drop", "ALL", "--chdir", "/",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc",
	}
	if !network {
		args = append(args, "--unshare-net")
	}
	args = append(args, "--bind", m.Temp, shown)
	type tree struct{ how, path string }
	var trees []tree
	for _, path := range m.Write {
		trees = append(trees, tree{"--bind-try", path})
	}
	for _, path := range m.Read {
		trees = append(trees, tree{"--ro-bind-try", path})
	}
	slices.SortStableFunc(trees, func(a, b tree) int { return len(a.path) - len(b.path) })
	for _, h := range m.Hold {
		how := "--bind-try"
		if h.ReadOnly {
			how = "--ro-bind-try"
		}
		trees = append(trees, tree{how, h.Path})
	}
	for _, t := range trees {
		args = append(args, t.how, t.path, t.path)
	}
	return append(args, m.covers()...)
}

// covers tell bubblewrap what to hide. What is missing or hidden already needs nothing;
// Landlock refuses it as well.
func (m *mounts) covers() []string {
	var args, hidden []string
	cover := slices.Clone(m.Cover)
	slices.SortStableFunc(cover, func(a, b string) int { return len(a) - len(b) })
	for _, path := range cover {
		covers := func(dir string) bool { return within(path, dir) }
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&os.ModeSymlink != 0 || slices.ContainsFunc(hidden, covers) {
			continue
		}
		if within(path, shown) && !slices.ContainsFunc(slices.Concat(m.Write, m.Read), covers) {
			continue
		}
		if info.IsDir() {
			args = append(args, "--perms", "0000", "--tmpfs", path, "--remount-ro", path)
			hidden = append(hidden, path)
		} else {
			args = append(args, "--ro-bind-try", "/dev/null", path)
		}
	}
	return args
}

// worlds are the namespaces that full has to itself, by their names in /proc.
var worlds = []string{"user", "mnt", "pid", "ipc", "uts", "net"}

// ownWorlds names the namespaces of this process.
func ownWorlds() []string {
	var out []string
	for _, w := range worlds {
		name, _ := os.Readlink("/proc/self/ns/" + w) // a kernel without it has one for all
		out = append(out, name)
	}
	return out
}

// made is what the helper sees to in the world that bubblewrap has made: that it is one,
// and that it ends with bubblewrap, which is its parent.
func (m *mounts) made(network bool) error {
	if os.Getpid() != 1 {
		return errors.New("not the first process")
	}
	for i, name := range ownWorlds() {
		if name == "" || i >= len(m.Made) || name == m.Made[i] && (worlds[i] != "net" || !network) {
			return errors.New("not in a namespace of its own: " + worlds[i])
		}
	}
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}
