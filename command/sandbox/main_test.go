package sandbox_test

import (
	"os"
	"testing"

	"github.com/deftskills/deft/command/sandbox"
)

// The test's own binary is the helper, and the program that tries to get out.
func TestMain(m *testing.M) {
	sandbox.Helper(os.Args)
	if len(os.Args) == 4 && os.Args[1] == "attack" {
		attack(os.Args[2], os.Args[3])
		return
	}
	if len(os.Args) == 5 && os.Args[1] == "host" {
		host(os.Args[2], os.Args[3], os.Args[4])
		return
	}
	code := m.Run()
	cleanUp()
	os.Exit(code)
}
