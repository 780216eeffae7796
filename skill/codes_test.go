package skill

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestCodesAreOneTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	// The second is a host's own code, which scripts of that host match on.
	shape := regexp.MustCompile(`^([a-z0-9_]+|SKILL_SCHEMA_INVALID)$`)
	for _, c := range Codes() {
		if seen[c.Code] {
			t.Errorf("%s stands twice", c.Code)
		}
		seen[c.Code] = true
		if !shape.MatchString(c.Code) {
			t.Errorf("%q is no code", c.Code)
		}
		if c.Level != LevelError && c.Level != LevelWarning && c.Level != LevelInfo {
			t.Errorf("%s has level %q", c.Code, c.Level)
		}
		if strings.HasSuffix(c.Fix, ".") {
			t.Errorf("%s: the fix is a phrase: %q", c.Code, c.Fix)
		}
	}
	if _, ok := LookupCode("no_such_code"); ok {
		t.Error("an unknown code is found")
	}
}

// reporters are the functions whose first argument is a code.
var reporters = map[string]bool{"newDiagnostic": true, "note": true, "report": true, "fail": true}

// codesInSource returns the codes that a file reports, by literal.
func codesInSource(t *testing.T, name string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	take := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && text != "" && !strings.Contains(text, " ") {
				out[text] = true
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called := ""
			switch f := n.Fun.(type) {
			case *ast.Ident:
				called = f.Name
			case *ast.SelectorExpr:
				called = f.Sel.Name
			}
			if reporters[called] && len(n.Args) > 0 {
				take(n.Args[0])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "code" || key.Name == "Code") {
				take(n.Value)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				name := ""
				switch l := left.(type) {
				case *ast.Ident:
					name = l.Name
				case *ast.SelectorExpr:
					name = l.Sel.Name
				}
				if name == "code" && len(n.Rhs) == len(n.Lhs) {
					take(n.Rhs[i])
				}
			}
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				if lit, ok := r.(*ast.BasicLit); ok && codeLike(lit.Value) {
					take(lit)
				}
			}
		}
		return true
	})
	return out
}

func codeLike(lit string) bool {
	for _, prefix := range []string{`"recovered_`, `"not_utf8`, `"nul_`} {
		if strings.HasPrefix(lit, prefix) {
			return true
		}
	}
	return false
}

// readerFiles are the files that read a skill; the others judge it, and have their own
// fixtures.
var readerFiles = []string{
	"blocks.go", "body.go", "build.go", "conditions.go", "fast.go", "header.go", "identity.go", "json.go",
	"keys.go", "library.go", "model.go", "parse.go", "recover.go", "split.go", "survey.go",
}

func TestEveryCodeOfTheReaderIsInTheTableAndHasAFixture(t *testing.T) {
	t.Parallel()
	fixed := map[string]bool{"limit_file": true} // its fixture is a test of its own
	for _, f := range fixtures() {
		code, _, _ := strings.Cut(f.want, "@")
		fixed[code] = true
	}
	used := map[string]bool{}
	for _, name := range readerFiles {
		if _, err := os.Stat(name); err != nil {
			t.Fatal(err)
		}
		for code := range codesInSource(t, name) {
			used[code] = true
		}
	}
	if len(used) < 50 {
		t.Errorf("only %d codes found in the source", len(used))
	}
	for code := range used {
		if _, ok := LookupCode(code); !ok {
			t.Errorf("%s is reported and not in the table", code)
		}
		if !fixed[code] {
			t.Errorf("%s has no fixture", code)
		}
	}
	for code := range fixed {
		if !used[code] {
			t.Errorf("%s has a fixture and is not found in the source", code)
		}
	}
}
