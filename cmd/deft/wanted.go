//go:build wanted

package main

// Libraries that parts of the program will use; the tag keeps them in go.mod until then.
import (
	_ "aead.dev/minisign"
)
