package source

import (
	"errors"

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
