//go:build unix

package main

import (
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

func fifo(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 1, "fifo PATH")
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(unix.Mkfifo(path, 0o644))
}
