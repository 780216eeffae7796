package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// placeMode marks an empty directory as one that stands for a protected name which is not
// there: a mount needs something to be put on. Nobody else makes directories like it, git
// does not see them, and the last run that uses one removes it.
const placeMode = 0o500

// placeTexts are the names whose place is taken by a file, since git would stop at a
// directory: a file that says what is true without it as well. Its mode is placeFileMode.
var placeTexts = map[string]string{"commondir": ".\n", "config.worktree": "# nothing\n"}

const placeFileMode = 0o400

// holds are the names that a run at full can't touch, and the placeholders among them.
type holds struct {
	list   []hold
	places []*os.File // locked, so that no other run removes them meanwhile
}

// holdAll prepares what is protected in each root: itself as a read-only mount, and each
// directory on the way to it as a mount, so that it can't be renamed away.
func holdAll(p Policy) (holds, error) {
	var h holds
	seen := map[string]bool{}
	add := func(path string, readOnly bool) {
		if !seen[path] {
			seen[path] = true
			h.list = append(h.list, hold{path, readOnly})
		}
	}
	for _, root := range p.Write {
		for _, path := range p.Protected {
			if path == root || !within(path, root) {
				continue
			}
			name := root
			for part := range strings.SplitSeq(strings.TrimPrefix(path, root+"/"), "/") {
				name = filepath.Join(name, part)
				missing := isMissing(name)
				if missing {
					if err := h.place(name); err != nil {
						h.release()
						return holds{}, err
					}
				}
				if missing || name == path {
					add(name, true)
					break
				}
				add(name, slices.Contains(p.Protected, name))
				if info, err := os.Lstat(name); err != nil || !info.IsDir() {
					break // nothing is below a file, such as the .git of a worktree
				}
			}
		}
	}
	slices.SortStableFunc(h.list, func(a, b hold) int { return len(a.Path) - len(b.Path) })
	return h, nil
}

// isMissing reports whether nothing is at path, or nothing but a placeholder.
func isMissing(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return isPlace(path, info)
}

// isPlace reports whether what is at path, with this information, is a placeholder.
func isPlace(path string, info fs.FileInfo) bool {
	if want, ok := placeTexts[filepath.Base(path)]; ok && info.Mode() == placeFileMode {
		text, err := os.ReadFile(path)
		return err == nil && string(text) == want
	}
	if !info.IsDir() || info.Mode().Perm() != placeMode {
		return false
	}
	inside, err := os.ReadDir(path)
	return err == nil && len(inside) == 0
}

// makePlace makes the placeholder. A file has its text from the first moment.
func makePlace(path string) error {
	text, ok := placeTexts[filepath.Base(path)]
	if !ok {
		return os.Mkdir(path, placeMode)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".deft-place-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(placeFileMode), f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// No second names on this file system: then it has its text a moment late.
	return writeNew(path, text)
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, placeFileMode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// place makes the placeholder, or shares one that another run made.
func (h *holds) place(path string) error {
	for range 100 {
		err := makePlace(path)
		switch {
		case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
			return nil // closed to this user, and so to the run
		case err != nil && !errors.Is(err, fs.ErrExist):
			return &StartError{"hold", err} // a full disk would be a way to the name
		}
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil // something else is there now; it is held as it is
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err == nil && isStill(f, path) {
			h.places = append(h.places, f)
			return nil
		}
		f.Close()
	}
	return &StartError{"hold", &fs.PathError{Op: "place", Path: path, Err: fs.ErrExist}}
}

// isStill reports whether path still means the open directory.
func isStill(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, now)
}

// release removes each placeholder that no other run holds, and only if it is one still.
func (h *holds) release() {
	for _, f := range h.places {
		info, err := f.Stat()
		if err == nil && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && isStill(f, f.Name()) && isPlace(f.Name(), info) {
			_ = os.Remove(f.Name()) // a directory that has got content stays
		}
		f.Close()
	}
	h.places = nil
}

// heldByMounts reports whether mounts can hold all that is protected in root: a link can't
// be mounted on, so that it could be replaced.
func (p Policy) heldByMounts(root string) bool {
	for _, path := range p.Protected {
		if !within(path, root) {
			continue
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return false
		}
	}
	return true
}
