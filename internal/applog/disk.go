package applog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/deftskills/deft/internal/atomicfile"
)

// disk is what a log does to a disk. A test has one that loses its power.
type disk interface {
	mkdir(dir string) error
	open(path string) (file, error) // to append; made if it is not there
	read(path string) ([]byte, error)
	size(path string) (int64, error)
	rename(from, to string) error
	sync(dir string) error // brings names to disk
	save(path string, data []byte) error
}

type file interface {
	Write(p []byte) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// system is the disk of the process.
type system struct{}

func (system) mkdir(dir string) error { return os.MkdirAll(dir, 0o700) }

func (system) open(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

func (system) read(path string) ([]byte, error) { return os.ReadFile(path) }

func (system) size(path string) (int64, error) {
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return 0, err
	case !st.Mode().IsRegular():
		return 0, fmt.Errorf("not a regular file: %s", path)
	}
	return st.Size(), nil
}

func (system) save(path string, data []byte) error { return atomicfile.Write(path, data, 0o600) }

func (system) rename(from, to string) error { return os.Rename(from, to) }

func (system) sync(dir string) error { return atomicfile.SyncDir(dir) }

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
