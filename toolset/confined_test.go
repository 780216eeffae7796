package toolset

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestHandlersOpenNothingByThemselves keeps every file access behind source or an
// os.Root: a handler that joined a path by hand would be a way out.
func TestHandlersOpenNothingByThemselves(t *testing.T) {
	t.Parallel()
	doors := map[string]bool{"workspace.go": true, "walk.go": true}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			call := pkg.Name + "." + sel.Sel.Name
			switch {
			case call == "os.OpenRoot" && name == "workspace.go", call == "filepath.Join" && doors[name]:
			case call == "filepath.Join", pkg.Name == "os" && !strings.HasPrefix(sel.Sel.Name, "O_") && sel.Sel.Name != "Root":
				t.Errorf("%s uses %s", name, call)
			}
			return true
		})
	}
}
