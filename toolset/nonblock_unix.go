//go:build unix

package toolset

import "syscall"

// nonblock keeps an open from waiting where a FIFO took a file's place meanwhile.
const nonblock = syscall.O_NONBLOCK
