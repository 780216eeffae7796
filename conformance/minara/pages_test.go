package minara

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/cli"
)

// shop is a project with one skill of its own.
func shop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	skill := filepath.Join(dir, ".deft", "skills", "market")
	if err := os.MkdirAll(skill, 0o755); err != nil {
		t.Fatal(err)
	}
	header := text("market", "id: market.watch", "tool_names: [get_price]", keywords("candles"))
	if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte(header), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// docs runs deft docs skills in a folder and returns the exit code.
func docs(t *testing.T, dir string, args ...string) cli.Exit {
	t.Helper()
	var out, errs bytes.Buffer
	home := t.TempDir()
	exit := cli.Run(t.Context(), cli.Process{
		Args: append([]string{"docs", "skills", "--dialect", "minara"}, args...), Environ: []string{"HOME=" + home}, Dir: dir, GOOS: "linux",
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Now: time.Now, Managed: filepath.Join(home, "none"),
	})
	if exit != cli.Done && exit != cli.Negative {
		t.Fatalf("exit %d: %s%s", exit, &out, &errs)
	}
	return exit
}

func readPage(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "docs", "skills", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestMinara_CD01_PagesOfBuiltinAndExternalSkills(t *testing.T) {
	t.Parallel()
	dir := shop(t)
	want(t, "exit", docs(t, dir), cli.Done)
	want(t, "builtin", strings.Contains(readPage(t, dir, "builtin.md"), "## code-review\n"), true)
	external := readPage(t, dir, "external.md")
	for _, line := range []string{"## market\n", "- Id: market.watch\n", "- Keywords: candles\n", "- Tools: get\\_price\n"} {
		want(t, line, strings.Contains(external, line), true)
	}
	want(t, "body", strings.Contains(external, "Body of"), false)
}

func TestMinara_CD02_TwiceEqual(t *testing.T) {
	t.Parallel()
	one, two := shop(t), shop(t)
	docs(t, one)
	docs(t, two)
	for _, name := range []string{"builtin.md", "external.md"} {
		want(t, name, readPage(t, one, name) == readPage(t, two, name), true)
	}
}

func TestMinara_CD03_CheckFailsOnAStalePage(t *testing.T) {
	t.Parallel()
	dir := shop(t)
	want(t, "nothing is there", docs(t, dir, "--check"), cli.Negative)
	docs(t, dir)
	want(t, "fresh", docs(t, dir, "--check"), cli.Done)
	path := filepath.Join(dir, ".deft", "skills", "market", "SKILL.md")
	if err := os.WriteFile(path, []byte(text("market", keywords("other"))), 0o644); err != nil {
		t.Fatal(err)
	}
	want(t, "stale", docs(t, dir, "--check"), cli.Negative)
	want(t, "untouched", strings.Contains(readPage(t, dir, "external.md"), "candles"), true)
}
