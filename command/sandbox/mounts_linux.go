package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// shown is where the private temporary folder is seen in the level full.
const shown = "/tmp"

// enter makes the file system that the run sees, in the helper's own mount namespace. What
// stays writable is set aside first, then all is made read-only, then it is put back.
func (m *mounts) enter(network bool) error {
	switch {
	case m == nil:
		return nil
	case m.Made != nil:
		return m.made(network)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return &os.PathError{Op: "private", Path: "/", Err: err}
	}
	aside, err := m.setAside()
	if err != nil {
		return err
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &readOnly); err != nil {
		return &os.PathError{Op: "read-only", Path: "/", Err: err}
	}
	for _, a := range aside {
		if err := a.putBack(); err != nil {
			return err
		}
	}
	for _, h := range m.Hold {
		if err := h.mount(); err != nil {
			return err
		}
	}
	for _, path := range m.Cover {
		if err := cover(path); err != nil {
			return err
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, ""); err != nil {
		return &os.PathError{Op: "mount", Path: "/proc", Err: err}
	}
	// The working directory is still below what lies under the new mounts.
	return unix.Chdir("/")
}

// tree is a copy of a mount that hangs nowhere yet.
type tree struct {
	fd int
	at string
}

func clone(path, at string) (tree, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return tree{}, &os.PathError{Op: "set aside", Path: path, Err: err}
	}
	return tree{fd, at}, nil
}

func (m *mounts) setAside() ([]tree, error) {
	var out []tree
	for _, set := range []struct {
		paths []string
		attr  uint64
	}{{m.Write, unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}, {m.Read, unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}} {
		for _, path := range set.paths {
			t, err := clone(path, path)
			if errors.Is(err, unix.ENOENT) {
				continue
			}
			if err == nil {
				err = unix.MountSetattr(t.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: set.attr})
			}
			if err != nil {
				return nil, &os.PathError{Op: "set aside", Path: path, Err: err}
			}
			out = append(out, t)
		}
	}
	// Outer paths first, so that inner ones are put on top of them.
	slices.SortStableFunc(out, func(a, b tree) int { return len(a.at) - len(b.at) })
	temp, err := clone(m.Temp, shown)
	if err != nil {
		return nil, err
	}
	return append([]tree{temp}, out...), nil
}

func (t tree) putBack() error {
	defer unix.Close(t.fd)
	if strings.HasPrefix(t.at, shown+"/") {
		// The private folder hides what was there; a place to mount on is made in it.
		var st unix.Stat_t
		err := unix.Fstat(t.fd, &st)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			err = os.MkdirAll(t.at, 0o700)
		} else if err == nil {
			if err = os.MkdirAll(filepath.Dir(t.at), 0o700); err == nil {
				err = os.WriteFile(t.at, nil, 0o600)
			}
		}
		if err != nil {
			return err
		}
	}
	return t.mount()
}

func (t tree) mount() error {
	if err := unix.MoveMount(t.fd, "", unix.AT_FDCWD, t.at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return &os.PathError{Op: "mount", Path: t.at, Err: err}
	}
	return nil
}

func (h hold) mount() error {
	t, err := clone(h.Path, h.Path)
	if errors.Is(err, unix.ENOENT) {
		return nil // nobody can make it: its parent is closed to this user
	}
	if err != nil {
		return err
	}
	defer unix.Close(t.fd)
	if h.ReadOnly {
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(t.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
			return &os.PathError{Op: "hold", Path: h.Path, Err: err}
		}
	}
	return t.mount()
}

// cover hides what is denied: a directory is shown empty, a file as an empty one. Landlock
// refuses it as well; two walls stand better than one.
func cover(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil, info.Mode()&os.ModeSymlink != 0:
		return nil // not there, hidden already, or a link whose target is covered itself
	case info.IsDir():
		err = unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "size=4k,nr_inodes=2,mode=000")
	default:
		err = unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
	}
	if err != nil {
		return &os.PathError{Op: "cover", Path: path, Err: err}
	}
	return nil
}
