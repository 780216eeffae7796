//go:build !unix

package install

const nonBlocking = 0
