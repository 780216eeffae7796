//go:build !unix

package toolset

// nonblock has no meaning on systems where an open does not wait.
const nonblock = 0
