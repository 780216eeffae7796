package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/deftskills/deft/internal/atomicfile"
)

// maxRecord bounds a record or lock file, in bytes. They come with clones too.
const maxRecord = 16 << 20

// errNotFile is a name of which nothing may be read.
var errNotFile = errors.New("no regular file")

// errNotDir is a path below something that is no folder.
var errNotDir = syscall.ENOTDIR

// readOnly reports whether an error says that nobody may write there.
func readOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// readSmall reads a regular file: a pipe of the same name would never end, a device could
// do anything.
func readSmall(at string) ([]byte, error) {
	info, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", at, errNotFile)
	}
	f, err := os.OpenFile(at, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(src) > maxRecord {
		err = fmt.Errorf("%s: %w of at most %d bytes", at, errNotFile, maxRecord)
	}
	return src, err
}

func mapKeys(m map[string]string) iter.Seq[string] { return maps.Keys(m) }

// removeAll removes what is at a name, of a folder also what its author made read-only.
func removeAll(at string) error {
	err := os.RemoveAll(at)
	if errors.Is(err, fs.ErrPermission) {
		_ = filepath.WalkDir(at, func(p string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(p, 0o700)
			}
			return nil
		})
		err = os.RemoveAll(at)
	}
	return err
}

// moveAside moves what is at a name, links as links, also to another disk. What is not
// there is moved already. Where it goes something is there as a whole, or not at all.
func moveAside(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err = atomicfile.Move(from, to); errors.Is(err, fs.ErrPermission) && info.IsDir() {
		// A folder that may not be written can't get another parent.
		if os.Chmod(from, info.Mode().Perm()|0o700) == nil {
			if err = atomicfile.Move(from, to); err == nil {
				_ = os.Chmod(to, info.Mode().Perm())
			}
		}
	}
	if err == nil {
		return nil
	}
	part := to + ".part"
	if err := errors.Join(removeAll(part), copyAll(from, part)); err != nil {
		return errors.Join(err, removeAll(part))
	}
	if err := atomicfile.Move(part, to); err != nil {
		return errors.Join(err, removeAll(part))
	}
	return removeAll(from)
}

// copyAll copies files, folders and links. Pipes and devices are left: there is nothing
// in them.
func copyAll(from, to string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		switch d.Type() {
		case fs.ModeDir:
			return os.Mkdir(at, 0o755)
		case fs.ModeSymlink:
			link, err := os.Readlink(p)
			if err != nil {
				return err
			}
			return os.Symlink(link, at)
		case 0:
			info, err := d.Info()
			if err != nil {
				return err
			}
			return atomicfile.WriteFrom(at, info.Mode().Perm(), func(w io.Writer) error {
				f, err := os.Open(p)
				if err != nil {
					return err
				}
				defer f.Close()
				_, err = io.Copy(w, f)
				return err
			})
		}
		return nil
	})
}

// asideTime is the time in the name of what was put aside. The folder's own is of its author.
const asideTime = "20060102T150405"

// keepReplaced is how long a person can find what was replaced.
const keepReplaced = 30 * 24 * time.Hour

// aside is a place for what is replaced.
func (i *Installer) aside(name string) string {
	name = strings.ReplaceAll(name, "/", "-") // of a plugin's version
	return filepath.Join(i.o.State, "replaced", name+"-"+i.o.Now().UTC().Format(asideTime)+"-"+id())
}

// forgetReplaced removes what was put aside long ago. What is not of the form of its names
// is somebody else's.
func (i *Installer) forgetReplaced() {
	dir, before := filepath.Join(i.o.State, "replaced"), i.o.Now().Add(-keepReplaced)
	entries, _ := os.ReadDir(dir) // it is looked at again next time
	for _, e := range entries {
		parts := strings.Split(e.Name(), "-")
		if len(parts) < 3 {
			continue
		}
		if at, err := time.Parse(asideTime, parts[len(parts)-2]); err == nil && at.Before(before) {
			_ = removeAll(filepath.Join(dir, e.Name()))
		}
	}
}
