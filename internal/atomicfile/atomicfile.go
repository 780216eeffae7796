// Package atomicfile replaces files so that a reader sees the old contents or the
// new, never a part, whatever fails in between.
//
// What belongs here: the one way that deft writes a file it will read again. What
// may not come in: locks, formats, directories' creation.
package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/deftskills/deft/internal/fault"
)

// A temporary file is called beginning, 16 hex digits, ending.
const beginning, ending = ".deft-", ".tmp"

// Write replaces the file at path by data with mode perm. It writes a temporary
// file in the same directory, brings it to disk, renames it over path and brings
// the directory to disk. On error the old file is as it was and the temporary file
// is gone. A symbolic link at path is replaced, not followed. Two writers at once
// leave the contents of one of them.
func Write(path string, data []byte, perm fs.FileMode) error {
	return WriteFrom(path, perm, bytesOf(data))
}

// WriteFrom is Write of what a function writes, for contents that need not be in memory
// as a whole. An error of the function is the error, and leaves the old file.
func WriteFrom(path string, perm fs.FileMode, contents func(io.Writer) error) error {
	if err := writeFrom(system{}, path, contents, perm); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func bytesOf(data []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(data); return err }
}

// WriteIn is Write below a root: no part of path, links included, leads out of it.
func WriteIn(root *os.Root, path string, data []byte, perm fs.FileMode) error {
	return write(rooted{root}, path, data, perm)
}

func write(d disk, path string, data []byte, perm fs.FileMode) error {
	return writeFrom(d, path, bytesOf(data), perm)
}

func writeFrom(d disk, path string, contents func(io.Writer) error, perm fs.FileMode) error {
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(path), beginning+hex.EncodeToString(nonce[:])+ending)
	if err := fault.Err("atomic.temp"); err != nil {
		return err
	}
	f, err := d.create(temp)
	if err != nil {
		return err
	}
	err = fill(f, contents, perm)
	if err == nil {
		err = fault.Err("atomic.rename")
	}
	if err == nil {
		err = d.rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, d.remove(temp))
	}
	fault.Point("atomic.dirsync")
	return syncDir(d, filepath.Dir(path))
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

// fill brings contents to disk and closes f, whatever fails.
func fill(f file, contents func(io.Writer) error, perm fs.FileMode) error {
	err := contents(f)
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
func syncDir(d disk, dir string) error {
	f, err := d.open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	if err := f.Sync(); err != nil && errors.Is(err, syscall.EIO) {
		return fmt.Errorf("directory not on disk: %w", err)
	}
	return nil
}
