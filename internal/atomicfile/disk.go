package atomicfile

import (
	"io"
	"io/fs"
	"os"
)

// disk is what a write does to a disk. A test has one that loses its power.
type disk interface {
	create(name string) (file, error) // for this process alone; it is not there yet
	open(dir string) (file, error)
	rename(from, to string) error
	remove(name string) error
}

type file interface {
	io.WriteCloser
	Chmod(fs.FileMode) error
	Sync() error
}

const createFlags = os.O_WRONLY | os.O_CREATE | os.O_EXCL

// system is the disk of the process.
type system struct{}

func (system) create(name string) (file, error) { return os.OpenFile(name, createFlags, 0o600) }
func (system) open(dir string) (file, error)    { return os.Open(dir) }
func (system) rename(from, to string) error     { return os.Rename(from, to) }
func (system) remove(name string) error         { return os.Remove(name) }

// rooted is what lies below a root.
type rooted struct{ root *os.Root }

func (r rooted) create(name string) (file, error) { return r.root.OpenFile(name, createFlags, 0o600) }
func (r rooted) open(dir string) (file, error)    { return r.root.Open(dir) }
func (r rooted) rename(from, to string) error     { return r.root.Rename(from, to) }
func (r rooted) remove(name string) error         { return r.root.Remove(name) }
