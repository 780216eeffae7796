//go:build unix && !linux

package source

func openBeneath(fd int, rel string, flags int) (int, error) { return openStepwise(fd, rel, flags) }
