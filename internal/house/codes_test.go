package house

import (
	"go/ast"
	"go/token"
	"strconv"
	"testing"

	"github.com/deftskills/deft/skill"
)

// A code that is made somewhere and stands in no table has no meaning that a script
// could rely on.
func TestEveryDiagnosticHasItsCodeInTheOneTable(t *testing.T) {
	t.Parallel()
	found := 0
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			var literal ast.Expr
			switch n := n.(type) {
			case *ast.CompositeLit:
				if name(n.Type) != "skill.Diagnostic" {
					return true
				}
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok && name(kv.Key) == "Code" {
						literal = kv.Value
					}
				}
			case *ast.CallExpr:
				if fn := name(n.Fun); (fn == "finding" || fn == "skill.Finding") && len(n.Args) > 0 {
					literal = n.Args[0]
				}
			}
			lit, ok := literal.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			code, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			found++
			if _, ok := skill.LookupCode(code); !ok {
				t.Errorf("%s: diagnostic code %q is not in the table of package skill", f.at(n), code)
			}
			return true
		})
	}
	if found < 30 {
		t.Fatalf("found only %d codes", found)
	}
}

// name is the text of an identifier or of a selector of two.
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return name(e.X) + "." + e.Sel.Name
	}
	return ""
}
