package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// mutant is a file with one stretch of it replaced.
type mutant struct {
	file     string
	src      []byte
	from, to int // of what is replaced, in bytes
	with     string
	kind     string
	function string
	line     int
}

func (m mutant) source() []byte {
	return []byte(string(m.src[:m.from]) + m.with + string(m.src[m.to:]))
}

// key tells the mutant from others, also when lines have moved.
func (m mutant) key() string {
	start := strings.LastIndexByte(string(m.src[:m.from]), '\n') + 1
	end := strings.IndexByte(string(m.src[m.to:]), '\n')
	if end < 0 {
		end = len(m.src) - m.to
	}
	line := string(m.src[start:m.from]) + "«" + string(m.src[m.from:m.to]) + "→" + m.with + "»" + string(m.src[m.to:m.to+end])
	return strings.Join([]string{filepath.Base(m.file), m.function, strings.Join(strings.Fields(line), " ")}, "\t")
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s → %s", filepath.Base(m.file), m.line, m.kind,
		strings.Join(strings.Fields(string(m.src[m.from:m.to])), " "), m.with)
}

// swaps are the operators and names that a mistake takes for one another.
var (
	operators = map[token.Token][]string{
		token.EQL: {"!="}, token.NEQ: {"=="}, token.LAND: {"||"}, token.LOR: {"&&"},
		token.LSS: {"<="}, token.LEQ: {"<"}, token.GTR: {">="}, token.GEQ: {">"},
		token.ADD: {"-"},
	}
	names = map[string]string{
		"Allow": "Deny", "Deny": "Ask", "Ask": "Allow",
		"ReadOnly": "ConfirmOnce", "ConfirmOnce": "ReadOnly", "AlwaysConfirm": "ConfirmOnce", "ManualOnly": "AlwaysConfirm",
		"true": "false", "false": "true", "max": "min", "min": "max",
	}
)

// mutantsOf returns the mutants of every file of a package that is no test.
func mutantsOf(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var out []mutant
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "doc.go" {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		out = append(out, mutantsIn(fset, tree, file, src)...)
	}
	return out, nil
}

func mutantsIn(fset *token.FileSet, tree *ast.File, file string, src []byte) []mutant {
	var out []mutant
	for _, decl := range tree.Decls {
		function := "-"
		switch d := decl.(type) {
		case *ast.FuncDecl:
			function = d.Name.Name
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue // names of constants and types change nothing by themselves
			}
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if n == nil {
				return true
			}
			for _, c := range changes(n, src, fset) {
				at := fset.Position(c.pos)
				out = append(out, mutant{file, src, at.Offset, fset.Position(c.end).Offset, c.with, c.kind, function, at.Line})
			}
			return true
		})
	}
	return out
}

// change is one replacement in a file.
type change struct {
	pos, end   token.Pos
	with, kind string
}

// changes are what can go wrong at one node.
func changes(n ast.Node, src []byte, fset *token.FileSet) []change {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		var out []change
		if n.Op == token.ADD && !number(n.X) && !number(n.Y) {
			return nil // as a rule of texts, which have no minus
		}
		for _, with := range operators[n.Op] {
			out = append(out, change{n.OpPos, n.OpPos + token.Pos(len(n.Op.String())), with, "operator"})
		}
		return out
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			return []change{{n.OpPos, n.OpPos + 1, "", "negation dropped"}}
		}
	case *ast.IfStmt:
		text := string(src[fset.Position(n.Cond.Pos()).Offset:fset.Position(n.Cond.End()).Offset])
		out := []change{{n.Cond.Pos(), n.Cond.End(), "!(" + text + ")", "condition flipped"}}
		if len(n.Body.List) == 1 {
			if r, ok := n.Body.List[0].(*ast.ReturnStmt); ok {
				out = append(out, change{r.Pos(), r.End(), "", "return dropped"})
			}
		}
		return out
	case *ast.CaseClause:
		if len(n.Body) == 1 && n.List != nil {
			if r, ok := n.Body[0].(*ast.ReturnStmt); ok {
				return []change{{r.Pos(), r.End(), "", "return dropped"}}
			}
		}
	case *ast.BasicLit:
		if n.Kind == token.INT && (n.Value == "0" || n.Value == "1" || n.Value == "2") {
			return []change{{n.Pos(), n.End(), fmt.Sprintf("(%s + 1)", n.Value), "off by one"}}
		}
	case *ast.Ident:
		if with := names[n.Name]; with != "" {
			return []change{{n.Pos(), n.End(), with, "name swapped"}}
		}
	}
	return nil
}

func number(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.INT
}
