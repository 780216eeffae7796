//go:build unix

package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// osTree walks a directory of the operating system through its descriptor: every
// open is relative to it, so nothing outside can be reached by exchanging a parent.
type osTree struct {
	dir *os.File
	fd  int
	dev uint64 // of the root, if its file system is one that isNative knows; else 0
}

// openTree opens a resolved directory. O_NOFOLLOW makes a directory that has been
// exchanged for a link since it was resolved an error.
func openTree(real string) (tree, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(real, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: real, Err: err}
	}
	t := &osTree{dir: os.NewFile(uintptr(fd), real), fd: fd}
	var st unix.Stat_t
	if isNative(fd) && unix.Fstat(fd, &st) == nil {
		t.dev = uint64(st.Dev)
	}
	return t, nil
}

func (t *osTree) close() { t.dir.Close() }

func (t *osTree) list(rel string, max int64) ([]item, bool, error) {
	if rel == "" {
		rel = "."
	}
	fd, err := openBeneath(t.fd, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, false, err
	}
	return listFD(fd, rel, max)
}

func (t *osTree) look(rel string) (FileStamp, nodeType, error) {
	var st unix.Stat_t
	typ, err := lookAt(t.fd, rel, &st)
	if err != nil || typ == typeAbsent {
		return FileStamp{}, typeAbsent, err
	}
	return stampOf(&st), typ, nil
}

func (t *osTree) folder(rel string) (stamp FileStamp, native, leaf bool) {
	var st unix.Stat_t
	if typ, err := lookAt(t.fd, rel, &st); err != nil || typ != typeDir {
		return FileStamp{}, false, false
	}
	native = t.dev != 0 && uint64(st.Dev) == t.dev
	return stampOf(&st), native, native && st.Nlink == 2
}

// lookAt describes a name without following it; an absent one is typeAbsent.
func lookAt(fd int, rel string, st *unix.Stat_t) (nodeType, error) {
	if rel == "" {
		rel = "."
	}
	err := unix.Fstatat(fd, rel, st, unix.AT_SYMLINK_NOFOLLOW)
	for err == unix.EINTR {
		err = unix.Fstatat(fd, rel, st, unix.AT_SYMLINK_NOFOLLOW)
	}
	switch err {
	case nil:
		return typeOfMode(uint32(st.Mode)), nil
	case unix.ENOENT, unix.ENOTDIR:
		return typeAbsent, nil
	}
	return typeAbsent, err
}

func (t *osTree) read(rel string, buf []byte, max int64) (src []byte, before, after FileStamp, err error) {
	fd, err := openBeneath(t.fd, rel, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, before, after, err
	}
	defer unix.Close(fd)
	if before, err = statFD(fd); err != nil || before.Size > max {
		return nil, before, before, err
	}
	if src, err = readFD(fd, buf, max); err == nil {
		after, err = statFD(fd)
	}
	return src, before, after, err
}

// statFD describes an open file. The type is judged on the descriptor, which cannot
// be exchanged any more.
func statFD(fd int) (FileStamp, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return FileStamp{}, err
	}
	if typeOfMode(uint32(st.Mode)) != typeFile {
		return FileStamp{}, ErrSpecial
	}
	return stampOf(&st), nil
}

// readFD reads until the end or until more than max bytes are there.
func readFD(fd int, buf []byte, max int64) ([]byte, error) {
	buf = buf[:0]
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		room := cap(buf) - len(buf)
		n, err := retry(func() (int, error) { return unix.Read(fd, buf[len(buf):cap(buf)]) })
		if err != nil {
			return nil, err
		}
		buf = buf[:len(buf)+n]
		if n < room || int64(len(buf)) > max { // a short read of a regular file is its end
			return buf, nil
		}
	}
}

// openStepwise opens rel one component at a time, none of them a link. It serves
// systems without openat2.
func openStepwise(fd int, rel string, flags int) (int, error) {
	dir, owned := fd, false
	for {
		name, rest, more := strings.Cut(rel, "/")
		want := flags
		if more {
			want = unix.O_RDONLY | unix.O_DIRECTORY
		}
		next, err := retry(func() (int, error) {
			return unix.Openat(dir, name, want|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
		if owned {
			unix.Close(dir)
		}
		if err != nil || !more {
			return next, err
		}
		dir, owned, rel = next, true, rest
	}
}

// openRegular opens a resolved path for reading, whatever it has become since: only
// a regular file is returned.
func openRegular(name string) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return regular(os.NewFile(uintptr(fd), name))
}

// openIn opens a file below root, links inside it allowed; O_NONBLOCK so that a
// FIFO cannot hang the caller.
func openIn(root *os.Root, rel string) (*os.File, error) {
	return root.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

func retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != unix.EINTR {
			return n, err
		}
	}
}

func stampOf(st *unix.Stat_t) FileStamp {
	return FileStamp{
		Dev: uint64(st.Dev), Ino: uint64(st.Ino), Size: st.Size,
		MtimeNS: st.Mtim.Nano(), CtimeNS: st.Ctim.Nano(),
	}
}

func typeOfMode(m uint32) nodeType {
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
		return typeFile
	case unix.S_IFDIR:
		return typeDir
	case unix.S_IFLNK:
		return typeLink
	}
	return typeSpecial
}

// dirID identifies a directory however it was reached; a link is followed.
func dirID(name string) (id [2]uint64, isDir bool, err error) {
	var st unix.Stat_t
	if _, err = retry(func() (int, error) { return 0, unix.Stat(name, &st) }); err != nil {
		return id, false, fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return [2]uint64{uint64(st.Dev), uint64(st.Ino)}, typeOfMode(uint32(st.Mode)) == typeDir, nil
}

func isLoop(err error) bool { return errors.Is(err, unix.ELOOP) }
