package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one place of a package and what is changed there.
type mutant struct {
	file, function, kind string
	line                 int
	text                 string // the source line, with the place marked
}

// key tells the mutant from others, also when lines have moved.
func (m mutant) key() string { return strings.Join([]string{m.file, m.function, m.kind, m.text}, "\t") }

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.kind, m.text)
}

// support is the file beside the mutated ones. The number of the mutant that is active comes
// from the environment; with none of them the program does what it does without this.
const support = `package %s

import (
	"cmp"
	"os"
	"strconv"
)

var mutantActive = func() int { n, _ := strconv.Atoi(os.Getenv("DEFT_MUTANT")); return n }()

func mutantOn(n int) bool { return mutantActive == n }

func mutantPick[T any](n int, own, other T) T {
	if mutantActive == n {
		return other
	}
	return own
}

func mutantLess[T cmp.Ordered](n int, a, b T) bool { return a < b || mutantActive == n && a == b }

func mutantAtMost[T cmp.Ordered](n int, a, b T) bool { return a < b || mutantActive != n && a == b }

func mutantMost[T cmp.Ordered](n int, a T, more ...T) T {
	for _, b := range more {
		if mutantActive == n {
			a = min(a, b)
		} else {
			a = max(a, b)
		}
	}
	return a
}
`

// insertion is text that is put into a file at an offset. Of several at one offset those of
// outer nodes stand outside: before inner ones where they open, behind them where they close.
type insertion struct {
	at, order int
	text      string
	skip      int // bytes of the source that are left out after it
}

// file is one file with all its mutants in it, each asleep.
type file struct {
	src        []byte
	fset       *token.FileSet
	insertions []insertion
	depth      int
	function   string
	name       string
	all        *[]mutant
}

// names are what a mistake takes for one another.
var names = map[string]string{
	"Allow": "Deny", "Deny": "Ask", "Ask": "Allow",
	"ReadOnly": "ConfirmOnce", "ConfirmOnce": "ReadOnly", "AlwaysConfirm": "ConfirmOnce", "ManualOnly": "AlwaysConfirm",
	"true": "false", "false": "true",
}

// mutate returns the files of a package with every mutant in them, by path, and the mutants
// in the order of their numbers, which begin at 1.
func mutate(dir string) (files map[string][]byte, all []mutant, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, nil, err
	}
	files = map[string][]byte{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "doc.go" {
			continue
		}
		f := &file{fset: token.NewFileSet(), name: filepath.Base(path), all: &all}
		if f.src, err = os.ReadFile(path); err != nil {
			return nil, nil, err
		}
		tree, err := parser.ParseFile(f.fset, path, f.src, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		f.declarations(tree)
		files[path] = f.text()
		files[filepath.Join(dir, "zz_mutants.go")] = fmt.Appendf(nil, support, tree.Name.Name)
	}
	return files, all, nil
}

func (f *file) declarations(tree *ast.File) {
	for _, decl := range tree.Decls {
		f.function = "-"
		switch d := decl.(type) {
		case *ast.FuncDecl:
			f.function = d.Name.Name
			if d.Body != nil {
				f.walk(d.Body)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					for _, value := range v.Values {
						f.walk(value)
					}
				}
			}
		}
	}
}

// number notes a mutant at a node.
func (f *file) number(n ast.Node, kind string) int {
	at, end := f.offset(n.Pos()), f.offset(n.End())
	start := bytes.LastIndexByte(f.src[:at], '\n') + 1
	stop := len(f.src)
	if i := bytes.IndexByte(f.src[end:], '\n'); i >= 0 {
		stop = end + i
	}
	text := strings.Join(strings.Fields(string(f.src[start:at])+"«"+string(f.src[at:end])+"»"+string(f.src[end:stop])), " ")
	*f.all = append(*f.all, mutant{f.name, f.function, kind, f.fset.Position(n.Pos()).Line, text})
	return len(*f.all)
}

func (f *file) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *file) open(p token.Pos, format string, args ...any) {
	f.insertions = append(f.insertions, insertion{f.offset(p), 1000 + f.depth, fmt.Sprintf(format, args...), 0})
}

func (f *file) close(p token.Pos, text string) {
	f.insertions = append(f.insertions, insertion{f.offset(p), -f.depth, text, 0})
}

// replace puts text in the place of an operator or a name.
func (f *file) replace(p token.Pos, old int, format string, args ...any) {
	f.insertions = append(f.insertions, insertion{f.offset(p), 2000, fmt.Sprintf(format, args...), old})
}

// wrap makes a truth its opposite while the mutant is active.
func (f *file) wrap(n ast.Expr, kind string) {
	f.open(n.Pos(), "(mutantOn(%d) != (", f.number(n, kind))
	f.close(n.End(), "))")
}

// text is the file with the insertions in it.
func (f *file) text() []byte {
	slices.SortStableFunc(f.insertions, func(a, b insertion) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.order - b.order
	})
	var out []byte
	last := 0
	for _, in := range f.insertions {
		out = append(append(out, f.src[last:in.at]...), in.text...)
		last = in.at + in.skip
	}
	return append(out, f.src[last:]...)
}

// walk visits a node and what is in it.
func (f *file) walk(n ast.Node) {
	f.depth++
	defer func() { f.depth-- }()
	if !f.change(n) {
		return
	}
	ast.Inspect(n, func(child ast.Node) bool {
		if child == nil || child == n {
			return child == n
		}
		f.walk(child)
		return false
	})
}

// change puts the mutants of one node in. It reports whether its children are to be visited.
func (f *file) change(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.operator(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.wrap(n, "negation dropped")
		}
	case *ast.IfStmt:
		if _, compares := n.Cond.(*ast.BinaryExpr); !compares {
			f.wrap(n.Cond, "condition flipped")
		}
		if n.Else == nil {
			f.dropReturn(n.Body.List)
		}
	case *ast.SwitchStmt:
		cases := n.Body.List
		if !slices.ContainsFunc(cases, func(s ast.Stmt) bool { return s.(*ast.CaseClause).List == nil }) {
			for _, c := range cases {
				f.dropReturn(c.(*ast.CaseClause).Body)
			}
		}
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "max" {
			f.replace(name.Pos(), len("max("), "mutantMost(%d, ", f.number(name, "max is min"))
		}
	case *ast.SelectorExpr:
		f.walk(n.X)
		return false
	case *ast.KeyValueExpr:
		f.walk(n.Value)
		return false
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			f.walk(e)
		}
		return false
	case *ast.FuncLit:
		f.walk(n.Body)
		return false
	case *ast.DeclStmt, *ast.ArrayType, *ast.MapType:
		return false
	case *ast.SliceExpr:
		f.bound(n.Low)
		f.bound(n.High)
	case *ast.Ident:
		if with := names[n.Name]; with != "" {
			f.replace(n.Pos(), len(n.Name), "mutantPick(%d, %s, %s)", f.number(n, "is "+with), n.Name, with)
		}
	}
	return true
}

// operator flips a comparison, widens a bound, and takes "and" for "or".
func (f *file) operator(n *ast.BinaryExpr) {
	switch n.Op {
	case token.EQL, token.NEQ:
		f.wrap(n, "comparison flipped")
	case token.LAND, token.LOR: // a || b is !(!a && !b)
		on := f.number(n, n.Op.String()+" is the other")
		f.open(n.Pos(), "(mutantOn(%[1]d) != ((mutantOn(%[1]d) != (", on)
		f.replace(n.OpPos, 2, ")) %s (mutantOn(%d) != (", n.Op, on)
		f.close(n.End(), "))))")
	case token.LSS, token.GEQ, token.GTR, token.LEQ:
		f.open(n.Pos(), "%s(%d, ", bounds[n.Op], f.number(n, "off by one"))
		f.replace(n.OpPos, len(n.Op.String()), ",")
		f.close(n.End(), ")")
	}
}

// bounds are the comparisons by functions that take the bound itself in or out.
var bounds = map[token.Token]string{
	token.LSS: "mutantLess", token.GEQ: "!mutantLess", token.LEQ: "mutantAtMost", token.GTR: "!mutantAtMost",
}

// bound moves the end of a slice.
func (f *file) bound(e ast.Expr) {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.INT {
		f.replace(lit.Pos(), len(lit.Value), "mutantPick(%d, %s, %s+1)", f.number(lit, "off by one"), lit.Value, lit.Value)
	}
}

// dropReturn lets a body that only returns go on.
func (f *file) dropReturn(body []ast.Stmt) {
	if len(body) != 1 {
		return
	}
	if r, ok := body[0].(*ast.ReturnStmt); ok {
		f.open(r.Pos(), "if !mutantOn(%d) { ", f.number(r, "return dropped"))
		f.close(r.End(), " }")
	}
}
