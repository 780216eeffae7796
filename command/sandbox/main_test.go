package sandbox_test

import (
	"os"
	"testing"

	"github.com/deftskills/deft/command/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Helper(os.Args)
	os.Exit(m.Run())
}
