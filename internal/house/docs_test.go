package house

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/deftskills/deft/internal/pgtest"
)

// The commands of one page run in order, in one shell folder of their own: a home
// and a project made from testdata/docs. A line is
//
//	deft VERB …            # exit N
//
// inside a fence marked sh; without the comment it has to exit with 0. Commands of
// the go tool run in the project's own root.
var exitComment = regexp.MustCompile(`\s+# exit (\d+)$`)

// docServer stands for a server in the pages: a line that names it is run with a database
// of its own on a real one.
const docServer = "postgres://deft@db.example.com/deft"

func docCommands(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#"):
			lines = append(lines, line)
		}
	}
	return lines
}

func TestEveryCommandOfTheDocumentationRuns(t *testing.T) {
	t.Parallel()
	base := root(t)
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "./cmd/deft")
	build.Dir = base
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build ./cmd/deft: %v\n%s", err, out)
	}
	t.Run("failpoints", func(t *testing.T) {
		t.Parallel()
		failpoint(t, bin)
	})
	pages, err := filepath.Glob(filepath.Join(base, "docs", "*.md"))
	if err != nil || len(pages) < 5 {
		t.Fatalf("pages below docs: %v, %v", pages, err)
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "AGENTS.md", "BENCHMARKS.md", "ROUGH_EDGES.md"} {
		pages = append(pages, filepath.Join(base, name))
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			runPage(t, base, bin, page)
		})
	}
}

// failpoint wants the program as it is built to know nothing of the variable that stops
// a test's program.
func failpoint(t *testing.T, bin string) {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".claude", "skills", "tidy")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: tidy\ndescription: Tidies.\n---\nTidy.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "deft"), "disable", "tidy")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "DEFT_FAULT=*=kill"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func runPage(t *testing.T, base, bin, page string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "docs"))); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"HOME=" + filepath.Join(dir, "home"), "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"LANG=C.UTF-8", "NO_COLOR=1",
	}
	for _, v := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "CGO_ENABLED"} {
		out, err := exec.Command("go", "env", v).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, v+"="+strings.TrimSpace(string(out)))
	}
	server := "" // instead of the one that pages name
	for _, line := range docCommands(t, page) {
		if strings.Contains(line, docServer) {
			if server == "" {
				server = "'" + pgtest.URL(t) + "'"
			}
			line = strings.ReplaceAll(line, docServer, server)
		}
		want := 0
		if m := exitComment.FindStringSubmatch(line); m != nil {
			want, _ = strconv.Atoi(m[1])
		}
		at := filepath.Join(dir, "project")
		switch {
		case runsElsewhere(line):
			continue
		case strings.HasPrefix(line, "go "):
			at = base
		}
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = at, env
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("%s: %v", line, err)
		}
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s\nexits with %d, want %d:\n%s", line, got, want, out.String())
		}
	}
}

// runsElsewhere names the lines that are run, but not from here: the test suite by
// whoever runs this test, and the whole check by the machine that lands changes.
// Benchmarks and downloads are run by hand.
func runsElsewhere(line string) bool {
	for _, p := range []string{"go test ", "bash .ci/run", "bash scripts/", "go install ", "git clone ", "cd "} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return false
}
