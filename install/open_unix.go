//go:build unix

package install

import "syscall"

// nonBlocking has a pipe opened at once, to be told from a file.
const nonBlocking = syscall.O_NONBLOCK
