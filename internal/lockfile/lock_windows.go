package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const noFollow = 0

// Locked bytes can't be read by others there, so the lock lies far behind the text.
const farBehind = 1 << 20

func flock(f *os.File, exclusive bool) (free bool, err error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: farBehind})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}
