package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	maxFileLines = 600
	maxFuncLines = 60
)

// printers may write to the process's streams; all else hands text to them.
var printers = []string{"internal/cli/", "cmd/deft/", "internal/safetext/"}

type goFile struct {
	path string // slash-separated, relative to the root
	src  []byte
	tree *ast.File
	fset *token.FileSet
}

func (f goFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f goFile) at(n ast.Node) token.Position {
	p := f.fset.Position(n.Pos())
	p.Filename = f.path
	return p
}

func goFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	base := root(t)
	err := filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(base, p)
		rel = filepath.ToSlash(rel)
		if d.IsDir() && rel != "." {
			switch d.Name() {
			case ".git", "testdata", "bench", "tools":
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() || !strings.HasSuffix(rel, ".go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, rel, src, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, goFile{rel, src, tree, fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found only %d Go files below %s", len(files), base)
	}
	return files
}

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		if n := strings.Count(string(f.src), "\n"); n > maxFileLines {
			t.Errorf("%s has %d lines (limit %d): which concept wants its own file?", f.path, n, maxFileLines)
		}
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1; n > maxFuncLines {
				t.Errorf("%s: %s has %d lines (limit %d)", f.at(fn), fn.Name.Name, n, maxFuncLines)
			}
		}
	}
}

func TestOnlyThePrintingDoorPrints(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.isTest() || hasPrefix(f.path, printers) {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				pkg, ok := n.X.(*ast.Ident)
				if !ok {
					return true
				}
				name := pkg.Name + "." + n.Sel.Name
				if strings.HasPrefix(name, "fmt.Print") || name == "os.Stdout" || name == "os.Stderr" || pkg.Name == "log" && pkg.Obj == nil {
					t.Errorf("%s: %s outside the printing door", f.at(n), name)
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && id.Obj == nil && (id.Name == "print" || id.Name == "println") {
					t.Errorf("%s: %s outside the printing door", f.at(n), id.Name)
				}
			}
			return true
		})
	}
}

func hasPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func TestNoGlobalEffects(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s: an init function; give the value at Open instead", f.at(fn))
			}
		}
	}
}

func TestErrorsAndCommentsReadWell(t *testing.T) {
	t.Parallel()
	words := []string{`"failed ` + `to `, "TO" + "DO", "FIX" + "ME", `panic("not ` + `implemented`}
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		for _, w := range words {
			if i := strings.Index(string(f.src), w); i >= 0 {
				t.Errorf("%s:%d: %s", f.path, 1+strings.Count(string(f.src[:i]), "\n"), w)
			}
		}
	}
}

// Error methods are left out: the type's comment says when it occurs.
func TestEveryExportedNameIsDocumented(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.isTest() || f.tree.Name.Name == "main" {
			continue
		}
		for _, d := range f.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && d.Doc.Text() == "" && d.Name.Name != "Error" {
					t.Errorf("%s: %s has no comment", f.at(d), d.Name.Name)
				}
			case *ast.GenDecl:
				checkSpecs(t, f, d)
			}
		}
	}
}

func checkSpecs(t *testing.T, f goFile, d *ast.GenDecl) {
	t.Helper()
	for _, s := range d.Specs {
		var name *ast.Ident
		documented := d.Doc.Text() != ""
		switch s := s.(type) {
		case *ast.TypeSpec:
			name = s.Name
			documented = documented || s.Doc.Text() != ""
		case *ast.ValueSpec:
			name = s.Names[0]
			documented = documented || s.Doc.Text() != "" || s.Comment.Text() != ""
		default:
			continue
		}
		if name.IsExported() && !documented {
			t.Errorf("%s: %s has no comment", f.at(s), name.Name)
		}
	}
}

// exportedReceiver reports whether a method belongs to an exported type: methods of
// unexported types are reached through interfaces, which carry the comment.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

func TestEveryRoomSaysWhatBelongsInIt(t *testing.T) {
	t.Parallel()
	rooms := map[string]bool{}
	contract := map[string]bool{}
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		dir := filepath.ToSlash(filepath.Dir(f.path))
		rooms[dir] = true
		doc := f.tree.Doc.Text()
		if strings.HasPrefix(doc, "Package ") || strings.HasPrefix(doc, "Command ") {
			contract[dir] = true
		}
	}
	for dir := range rooms {
		if !contract[dir] {
			t.Errorf("%s: no package comment says what belongs in it", dir)
		}
	}
}
