package sandbox_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/deftskills/deft/command/sandbox"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestTheProfileForMacOS(t *testing.T) {
	t.Parallel()
	policy := sandbox.Policy{
		Write: []string{"/Users/u/project"}, Denied: []string{"/Users/u/.ssh"}, Protected: []string{"/Users/u/project/.git/hooks", "/Users/u/project/.envrc"},
	}
	open := policy
	open.Network = true
	for name, p := range map[string]sandbox.Policy{"plain": policy, "network": open, "empty": {}} {
		got, err := sandbox.Profile(p, "/private/tmp/deft-run-1")
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "profile_"+name+".sb")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s", golden, err, got)
		}
	}
}

func TestAPathThatWouldEndItsQuotesIsRefused(t *testing.T) {
	t.Parallel()
	for _, path := range []string{`/a"b`, `/a\b`, "/a\nb", "/a\x7fb"} {
		if text, err := sandbox.Profile(sandbox.Policy{Write: []string{path}}, "/t"); !errors.Is(err, sandbox.ErrPolicy) || text != "" {
			t.Errorf("%q: %v", path, err)
		}
	}
}
