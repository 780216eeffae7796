//go:build unix

package blade

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden file anew")

// waits is a row of which a dialect that runs commands one after the other keeps nothing
// but the time: it is known to differ.
const waits = "G16_parallel"

var failed = regexp.MustCompile(`(?m)^--- FAIL: TestBlade_(\w+)`)

// Rows are there because blade differs: the golden file lists those that deft's own
// dialect does not keep. A row that comes or goes is a dialect that has changed.
func TestRowsThatDeftDoesNotKeep(t *testing.T) {
	t.Parallel()
	if os.Getenv("SUITE_DIALECT") != "" {
		return
	}
	run := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestBlade_[A-K]", "-test.skip", waits)
	run.Env = append(os.Environ(), "SUITE_DIALECT=deft")
	out, err := run.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || strings.Contains(string(out), "panic: ") {
		t.Fatalf("%v\n%s", err, out)
	}
	rows := []string{waits}
	for _, m := range failed.FindAllStringSubmatch(string(out), -1) {
		rows = append(rows, m[1])
	}
	slices.Sort(rows)
	got := strings.Join(rows, "\n") + "\n"
	file := filepath.Join("testdata", "deft.golden")
	if *update {
		put(t, file, got)
	}
	golden, err := os.ReadFile(file)
	if err != nil || string(golden) != got {
		t.Errorf("rows that deft does not keep (%v):\n%s\nin the golden file:\n%s\n%s", err, got, golden, out)
	}
}
