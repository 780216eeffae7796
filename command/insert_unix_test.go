//go:build unix

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stub prints its arguments so that each is told from the next.
const stub = "#!/bin/sh\nfor a in \"$@\"; do printf '<%s>' \"$a\"; done\n"

// Case 070: whatever the argument, the stub receives it as one word, and nothing of it runs.
func TestAShellSeesEachArgumentAsOneWord(t *testing.T) {
	t.Parallel()
	body := caseBody(t, "070-arguments-in-commands/tree/project/.claude/skills/lookup/SKILL.md")
	lines, err := os.ReadFile(filepath.Join(os.Getenv("DEFT_TESTDATA"), "cases/070-arguments-in-commands/tree/args.txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "stub"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(lines)), "\n") {
		a := given(line)
		commands := Scan(body, ScanOptions{})
		if len(commands) != 3 {
			t.Fatalf("commands %+v", commands)
		}
		for _, c := range commands {
			final, why := mark(c.Text, "", a).shell()
			if why != "" {
				t.Errorf("%s with %q: %s", c.Text, line, why)
				continue
			}
			sh := exec.Command("sh", "-c", final)
			sh.Dir, sh.Env = dir, []string{"PATH=" + dir + ":/usr/bin:/bin"}
			out, err := sh.CombinedOutput()
			if string(out) != "<"+line+">" || err != nil {
				t.Errorf("%s: the stub received %s (%v), want one word %q", final, out, err, line)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a part of an argument ran")
	}
}
