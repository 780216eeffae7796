// Package atomicfile replaces files so that a reader sees the old contents or the
// new, never a part, whatever fails in between.
//
// What belongs here: the one way that deft writes a file it will read again. What
// may not come in: locks, formats, directories' creation.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/deftskills/deft/internal/fault"
)

// ending is how the name of a temporary file ends; it begins with a dot.
const ending = ".tmp"

// Write replaces the file at path by data with mode perm. It writes a temporary
// file in the same directory, brings it to disk, renames it over path and brings
// the directory to disk. On error the old file is as it was and the temporary file
// is gone. A symbolic link at path is replaced, not followed. Two writers at once
// leave the contents of one of them.
func Write(path string, data []byte, perm fs.FileMode) error {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	if err := fault.Err("atomic.temp"); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.CreateTemp(dir, "."+base+".*"+ending)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := fill(f, data, perm); err != nil {
		return fmt.Errorf("%s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	if err := rename(f.Name(), path); err != nil {
		return fmt.Errorf("%s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	fault.Point("atomic.dirsync")
	return syncDir(path, dir)
}

func rename(from, to string) error {
	if err := fault.Err("atomic.rename"); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Sweep removes temporary files of Write that killed processes have left in a
// directory: those last changed before a time. Whoever still writes a file must be
// younger than that. What cannot be removed stays for the next time.
func Sweep(dir string, before time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ending) || !e.Type().IsRegular() {
			continue
		}
		if st, err := e.Info(); err == nil && st.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// fill brings data to disk and closes f, whatever fails.
func fill(f *os.File, data []byte, perm fs.FileMode) error {
	_, err := f.Write(data)
	if err == nil {
		err = fault.Err("atomic.write")
	}
	if err == nil && runtime.GOOS != "windows" {
		err = f.Chmod(perm.Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the rename durable. The new file is in place already, so a system
// that cannot do it is no failure.
func syncDir(path, dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	if err := d.Sync(); err != nil && errors.Is(err, syscall.EIO) {
		return fmt.Errorf("%s: directory not on disk: %w", path, err)
	}
	return nil
}
