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
	"syscall"
)

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
	f, err := os.CreateTemp(dir, "."+base+".*.tmp")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := fill(f, data, perm); err != nil {
		return fmt.Errorf("%s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("%s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return syncDir(path, dir)
}

// fill brings data to disk and closes f, whatever fails.
func fill(f *os.File, data []byte, perm fs.FileMode) error {
	_, err := f.Write(data)
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
