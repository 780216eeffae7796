package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openBeneath opens rel below fd without following any link. One call where the
// kernel has openat2; old kernels and strict containers walk step by step.
func openBeneath(fd int, rel string, flags int) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	got, err := retry(func() (int, error) { return unix.Openat2(fd, rel, &how) })
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EAGAIN) {
		return openStepwise(fd, rel, flags)
	}
	return got, err
}

// dirent is what comes before a name in what the kernel says of a directory.
const (
	direntLength = int(unsafe.Offsetof(unix.Dirent{}.Reclen))
	direntType   = int(unsafe.Offsetof(unix.Dirent{}.Type))
	direntName   = int(unsafe.Offsetof(unix.Dirent{}.Name))
)

// listFD lists an open directory and closes it. The names of one read are cut out of
// one text: package os makes two objects a name, which is most of what listing costs.
func listFD(fd int, _ string, max int64) (items []item, cut bool, err error) {
	defer unix.Close(fd)
	buf := make([]byte, 32<<10)
	var size int64
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(fd, buf) })
		if err != nil || n <= 0 {
			return items, false, err
		}
		text := string(buf[:n])
		for at := 0; at+direntName <= n; {
			length := int(binary.NativeEndian.Uint16(buf[at+direntLength:]))
			if length < direntName || at+length > n {
				return items, false, unix.EIO
			}
			name := text[at+direntName : at+length]
			if end := bytes.IndexByte(buf[at+direntName:at+length], 0); end >= 0 {
				name = name[:end]
			}
			kind := buf[at+direntType]
			at += length
			if name == "." || name == ".." || name == "" {
				continue
			}
			if size += int64(len(name)); size > max {
				return items, true, nil
			}
			typ := typeOfMode(uint32(kind) << 12) // DT_… are the S_IF… without the low bits
			if kind == unix.DT_UNKNOWN {
				var st unix.Stat_t
				if typ, err = lookAt(fd, name, &st); err != nil {
					return items, false, err
				}
				if typ == typeAbsent {
					continue // gone meanwhile
				}
			}
			items = append(items, item{name, typ})
		}
	}
}

// isNative says whether this file system keeps two promises. A directory's times change
// when a name in it does; and it has two links, its name and its ".", and one more for
// the ".." of each directory in it. File systems over a network or in user space often
// invent both.
func isNative(fd int) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false
	}
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC:
		return true
	}
	return false
}
