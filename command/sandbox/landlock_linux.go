package sandbox

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// leastABI is the first version that holds truncation; below it a file outside could be
// emptied.
const leastABI = 3

// Rights, by what a rule gives.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// Nodes of devices are never made, whatever the user.
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE
	allRights = readRights | writeRights | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// landlockABI returns the kernel's version of Landlock, 0 without it.
func landlockABI() int {
	v, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if no != 0 {
		return 0
	}
	return int(v)
}

// handled is all that a ruleset of this version can refuse, and the bytes of it that the
// kernel knows.
func handled(abi int, network bool) (unix.LandlockRulesetAttr, uintptr) {
	attr, size := unix.LandlockRulesetAttr{Handled_access_fs: allRights}, uintptr(8)
	if abi >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 4 {
		size = 16
		if !network {
			attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if abi >= 6 {
		size = 24
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr, size
}

// landlock confines the calling thread to the rules.
func landlock(rules []rule, network bool) error {
	abi := landlockABI()
	if abi < leastABI {
		return unix.EOPNOTSUPP
	}
	attr, size := handled(abi, network)
	set, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if no != 0 {
		return no
	}
	defer unix.Close(int(set))
	for _, r := range rules {
		if err := allow(int(set), r); err != nil {
			return &os.PathError{Op: "rule", Path: r.Path, Err: err}
		}
	}
	// The superuser could do without, but what follows demands it.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, no := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); no != 0 {
		return no
	}
	return nil
}

// allow adds one rule. A path that is gone, or closed to this user anyway, needs none.
func allow(set int, r rule) error {
	fd, err := unix.Open(r.Path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENXIO):
		return nil
	case err != nil:
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: readRights, Parent_fd: int32(fd)}
	if r.Write {
		beneath.Allowed_access = writeRights
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return nil // a link leads elsewhere, and that is judged there
	case unix.S_IFDIR:
	default:
		beneath.Allowed_access &= fileRights
	}
	_, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if no != 0 {
		return no
	}
	return nil
}
