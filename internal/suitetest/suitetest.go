// Package suitetest counts the tests of a conformance suite, so that each suite can
// hold that every line of its document is a test.
//
// It is for tests alone; what a suite's lines are belongs to the suite.
package suitetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
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
