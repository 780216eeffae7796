// Package casetest gives tests the cases from real users below testdata/cases: each
// a folder with what was tried, what is expected, an input tree, and a make.sh where
// version control cannot carry the input.
//
// What belongs here: finding, copying and preparing a case. What may not come in:
// any expectation; those are in the tests of the rooms.
package casetest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Case is a prepared copy of one case. Paths are absolute and resolved.
type Case struct {
	Dir     string // the copy
	Home    string // tree/home, present even if the case brings none
	Project string // tree/project, present even if the case brings none
}

// Open copies the case whose folder begins with number ("016") to a temporary
// directory and runs its make.sh there.
func Open(t testing.TB, number string) Case {
	t.Helper()
	from := find(t, number)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, filepath.Base(from))
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatalf("copy %s: %v", from, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "make.sh")); err == nil {
		cmd := exec.Command("sh", "make.sh")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make.sh: %v\n%s", err, out)
		}
	}
	c := Case{Dir: dir, Home: filepath.Join(dir, "tree", "home"), Project: filepath.Join(dir, "tree", "project")}
	for _, d := range []string{c.Home, c.Project} {
		if _, err := os.Lstat(d); os.IsNotExist(err) {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// Path returns a path below the case's tree.
func (c Case) Path(elem ...string) string {
	return filepath.Join(append([]string{c.Dir, "tree"}, elem...)...)
}

// Pwned returns the files that hostile input leaves behind when it gets its way;
// any is a failure.
func (c Case) Pwned(t testing.TB) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(c.Dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && (d.Name() == "pwned" || d.Name() == "evil.txt") {
			found = append(found, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func find(t testing.TB, number string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		cases := filepath.Join(dir, "testdata", "cases")
		if entries, err := os.ReadDir(cases); err == nil {
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), number+"-") {
					return filepath.Join(cases, e.Name())
				}
			}
			t.Fatalf("no case %s in %s", number, cases)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("testdata/cases not found above the working directory")
		}
		dir = parent
	}
}
