package atomicfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange gives each of two names what the other had. The error wraps
// errors.ErrUnsupported where the file system can't.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.Join(err, errors.ErrUnsupported)
	}
	return err
}
