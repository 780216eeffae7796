package deft_test

import (
	"os"
	"testing"

	"github.com/deftskills/deft"
)

// helper is what confines the commands of tests: this binary itself.
var helper string

func TestMain(m *testing.M) {
	helper = deft.Helper()
	os.Exit(m.Run())
}
