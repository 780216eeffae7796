// Package suitetest is what the conformance suites share: it counts their tests, so that
// each suite can hold that every line of its document is a test, and it opens engines,
// sessions and turns for the length of a test.
//
// It is for tests alone; what a suite's lines are belongs to the suite.
package suitetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Functions returns how often each top-level function is declared in the test files of
// the working directory, by name.
func Functions(t *testing.T) map[string]int {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("test files: %v, %v", files, err)
	}
	found := map[string]int{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				found[fn.Name.Name]++
			}
		}
	}
	return found
}

// marker is how the comment of a test in another room names the line that it proves.
var marker = regexp.MustCompile(`(?m)^Conformance (\w+) ([A-Z]\d+)\b`)

// Elsewhere returns how many tests in the test files of other rooms say that they prove
// a line of the suite, by the line's id. A test says so with a line of its comment that
// begins "Conformance SUITE ID".
func Elsewhere(t *testing.T, suite string, dirs ...string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("test files of %s: %v, %v", dir, files, err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") {
					continue
				}
				for _, m := range marker.FindAllStringSubmatch(fn.Doc.Text(), -1) {
					if m[1] == suite {
						found[m[2]]++
					}
				}
			}
		}
	}
	return found
}
