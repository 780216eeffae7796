package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Each hook and server is shown in full and asked about by itself, and only a yes counts.
func TestAPersonIsAskedAboutEachHookAndServerOfAPlugin(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 3000) + "END"
	for name, text := range map[string]string{
		"shop/north/plugin.json": `{"name": "north", "version": "1.0.0", "mcpServers": {"db": {"command": "db", "args": ["` + long + `"]}},
			"hooks": [{"event": "UserPromptSubmit", "type": "append_prompt", "value": "one\u001b[2J"}, {"event": "UserPromptSubmit", "type": "append_prompt", "value": "two"}]}`,
	} {
		at := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(stdin string, args ...string) (string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		exit := Run(t.Context(), Process{
			Args: append(args, "--home", filepath.Join(top, "home")), Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
			Environ: []string{"HOME=" + top}, Dir: top, GOOS: "linux", StdinTerminal: stdin != "", StderrTerminal: stdin != "", Now: time.Now,
		})
		if exit != Done {
			t.Fatalf("%q ends with %d\n%s%s", args, exit, &out, &errs)
		}
		return out.String(), errs.String()
	}
	run("", "plugin", "marketplace", "add", "./shop")
	_, asked := run("y\nn\ny\nyes\n", "plugin", "add", "north")
	for _, want := range []string{`│ UserPromptSubmit append_prompt: one\x1b[2J`, "│ UserPromptSubmit append_prompt: two", long, "north@local would run, as server:db"} {
		if !strings.Contains(asked, want) {
			t.Errorf("%q is not shown in\n%.2000s", want, asked)
		}
	}
	if strings.Contains(asked, "\x1b[2J") {
		t.Error("a raw escape reaches the terminal")
	}
	list, _ := run("", "plugin", "list", "--json")
	if strings.Count(list, `"agreed": true`) != 2 || strings.Count(list, `"agreed": false`) != 1 {
		t.Errorf("%s", list)
	}
	// What was answered no is asked about again, what was agreed to is not.
	if _, again := run("n\n", "plugin", "enable", "north"); strings.Count(again, "[y/N]") != 1 || !strings.Contains(again, "one") {
		t.Errorf("asked again: %s", again)
	}
}

// A mistyped id is told before anything is written, a folder that begins with a dot is
// itself, and a value with a NUL, which would stand for a variable, is never agreed to.
func TestWhatAPluginNamesIsTakenAsItStands(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"shop/.claude-plugin/marketplace.json": `{"name": "shop", "plugins": [{"name": "north", "source": "./.north"}]}`,
		"shop/.north/plugin.json":              `{"name": "north", "version": "1.0.0", "mcpServers": {"db": {"command": "db", "env": {"A": "\u0000TOKEN"}}}}`,
		"shop/north/plugin.json":               `{"name": "other", "version": "2.0.0", "mcpServers": {"db": {"command": "evil"}}}`,
	} {
		at := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(want Exit, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		exit := Run(t.Context(), Process{
			Args: append(args, "--home", filepath.Join(top, "home")), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
			Environ: []string{"HOME=" + top}, Dir: top, GOOS: "linux", Now: time.Now,
		})
		if exit != want {
			t.Fatalf("%q ends with %d\n%s%s", args, exit, &out, &errs)
		}
		return out.String()
	}
	run(Done, "plugin", "marketplace", "add", "./shop")
	run(Usage, "plugin", "add", "north@shop", "--yes", "--accept-unlicensed", "--agree", "server:typo")
	if list := run(Done, "plugin", "list", "--json"); strings.Contains(list, `"north"`) {
		t.Errorf("a mistyped id leaves %s", list)
	}
	run(Done, "plugin", "add", "north@shop", "--yes", "--accept-unlicensed", "--agree", "all")
	list := run(Done, "plugin", "list", "--json")
	if !strings.Contains(list, `"version": "1.0.0"`) || strings.Contains(list, `"agreed": true`) || !strings.Contains(list, "NUL") {
		t.Errorf("%s", list)
	}
}
