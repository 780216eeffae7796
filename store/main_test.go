//go:build unix

package store

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/deftskills/deft/internal/fault"
)

// A test that needs another process starts this binary again with DEFT_TEST_CHILD.
func TestMain(m *testing.M) {
	if name := os.Getenv("DEFT_TEST_CHILD"); name != "" {
		if spec := os.Getenv("DEFT_FAULT"); spec != "" {
			if _, err := fault.Arm(spec); err != nil {
				panic(err)
			}
		}
		os.Exit(child(name))
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/deftskills/deft/internal/s3test.outlive"))
}
