package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The file of whoever runs the machine counts beside the person's: nothing that the person
// allows lifts what it denies, and nobody's home moves it.
func TestTheMachinesRulesStandAboveThePersons(t *testing.T) {
	t.Parallel()
	home, work := t.TempDir(), t.TempDir()
	put := func(path, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	machine := put(filepath.Join(t.TempDir(), "config.yaml"), "permissions: {deny: ['Write(secret/**)']}\nmodel: a/b\n")
	put(filepath.Join(home, ".config", "deft", "config.yaml"), "permissions: {allow: [Write]}\n")
	turn := put(filepath.Join(work, "turn.yaml"), "steps:\n  - calls: [{name: write, input: {path: secret/a, content: x}}]\n  - calls: [{name: write, input: {path: b, content: x}}]\n  - text: done\n")
	run := func(args ...string) (Exit, string) {
		var out bytes.Buffer
		exit := Run(t.Context(), Process{
			Args: args, Environ: []string{"HOME=" + home}, Dir: work, GOOS: "linux", Managed: machine,
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Now: time.Now,
		})
		return exit, out.String()
	}
	exit, out := run("ask", "--model", "scripted:"+turn, "write both")
	if exit != Refused || !strings.Contains(out, `denied by the rule "deny Write(secret/**)" (managed, `) {
		t.Errorf("exit %d: %s", exit, out)
	}
	if _, err := os.Stat(filepath.Join(work, "secret", "a")); err == nil {
		t.Error("what the machine denies was written")
	}
	if _, err := os.Stat(filepath.Join(work, "b")); err != nil {
		t.Errorf("what the person allows was not: %v\n%s", err, out)
	}
	exit, out = run("config")
	for _, want := range []string{
		`(?m)^permissions.deny .*"rule":"Write\(secret/\*\*\)".*"level":"managed"`, `"model" is not known here`, `(?m)^permissions.allow .*"level":"user"`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("exit %d: no %s in\n%s", exit, want, out)
		}
	}
}
