package shellcmd

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds on what is judged at all: a line beyond them counts as unreadable.
const (
	maxBytes = 64 << 10
	maxNodes = 4096
	maxDepth = 32 * 4 // nodes; a nested command costs about four
)

// ErrUnreadable is what every error of Parse wraps.
var ErrUnreadable = errors.New("shell command cannot be read")

// Command is one simple command: a program with its words, or assignments alone.
type Command struct {
	Assigns []Assign
	Words   []Word
	Line    int  // from 1
	Piped   bool // its input comes from another command
}

// Assign is a variable set in front of a command, or alone.
type Assign struct {
	Name  string
	Value Word
	Plain bool // a single value for a single name: no array, no index, no +=
}

// Redirect is one redirection to or from a file, or of a descriptor.
type Redirect struct {
	Op     string // as the shell spells it: ">", ">>", "<", "&>", …
	Target Word
	Writes bool // the target may be created or changed
	Copies bool // the target is a descriptor, or the text itself: no file is opened
}

// Script is what one line would do.
type Script struct {
	Commands  []Command
	Redirects []Redirect
	// Refused holds what no rule can prove, each as a noun: "a function definition".
	Refused []string
	// Moves says that the line changes its directory or may do so.
	Moves bool
}

// Parse reads a line as bash does. It starts nothing and asks no file system.
func Parse(line string) (*Script, error) {
	switch {
	case len(line) > maxBytes:
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrUnreadable, maxBytes)
	case !utf8.ValidString(line):
		return nil, fmt.Errorf("%w: it is not UTF-8", ErrUnreadable)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	w := walker{out: &Script{}}
	if odd := oddRune(line); odd != "" {
		w.refuse(odd)
	}
	depth, nodes := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		depth++
		nodes++
		if depth > maxDepth || nodes > maxNodes {
			w.tooBig = true
			depth--
			return false
		}
		w.node(n)
		return true
	})
	if w.tooBig {
		return nil, fmt.Errorf("%w: more than %d parts, or nested too deep", ErrUnreadable, maxNodes)
	}
	return w.out, nil
}

// oddRune names what a person would not see or would read as something else.
func oddRune(line string) string {
	for _, r := range line {
		switch {
		case r == '\t' || r == '\n':
		case r == '\r':
			return "a carriage return"
		case unicode.IsControl(r):
			return "a control character"
		case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return "an invisible character"
		}
	}
	return ""
}

type walker struct {
	out    *Script
	tooBig bool
	piped  []*syntax.Stmt // the right sides of pipes
}

func (w *walker) refuse(what string) {
	for _, had := range w.out.Refused {
		if had == what {
			return
		}
	}
	w.out.Refused = append(w.out.Refused, what)
}

func (w *walker) word(word *syntax.Word) Word {
	if word == nil {
		return Word{Fixed: true}
	}
	out, odd := readWord(word)
	if odd != "" {
		w.refuse(odd)
	}
	return out
}

func (w *walker) node(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		w.call(n)
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			w.piped = append(w.piped, n.Y)
		}
	case *syntax.DeclClause:
		w.declare(n)
	case *syntax.Redirect:
		w.redirect(n)
	case *syntax.FuncDecl:
		w.refuse("a function definition")
	case *syntax.CoprocClause:
		w.refuse("a coprocess")
	case *syntax.LetClause:
		w.refuse("let")
	case *syntax.ArithmCmd:
		w.arithmetic(n.X)
	case *syntax.ArithmExp:
		w.arithmetic(n.X)
	case *syntax.CStyleLoop:
		w.refuse("an arithmetic loop")
	case *syntax.WordIter:
		if !HarmlessName(n.Name.Value) {
			w.refuse("a loop over the variable " + n.Name.Value)
		}
	case *syntax.ParamExp:
		w.param(n)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			w.refuse("a test of a variable by name")
		}
	case *syntax.BinaryTest:
		switch n.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			w.number(n.X)
			w.number(n.Y)
		}
	}
}

func (w *walker) call(n *syntax.CallExpr) {
	c := Command{Line: int(n.Pos().Line())}
	for _, right := range w.piped {
		c.Piped = c.Piped || n.Pos().Offset() >= right.Pos().Offset() && n.Pos().Offset() < right.End().Offset()
	}
	for _, a := range n.Assigns {
		c.Assigns = append(c.Assigns, w.assign(a))
	}
	for _, arg := range n.Args {
		c.Words = append(c.Words, w.word(arg))
	}
	if len(c.Words) > 0 {
		switch c.Words[0].Text {
		case "cd", "pushd", "popd":
			w.out.Moves = true
		}
	}
	w.out.Commands = append(w.out.Commands, c)
}

func (w *walker) assign(a *syntax.Assign) Assign {
	out := Assign{Plain: a.Index == nil && a.Array == nil && !a.Append && a.Name != nil}
	if a.Name != nil {
		out.Name = a.Name.Value
	}
	out.Value = w.word(a.Value)
	return out
}

// declare reads export, declare and their kind. With an assignment they change what
// later commands are, and that nobody can judge word by word.
func (w *walker) declare(n *syntax.DeclClause) {
	c := Command{Line: int(n.Pos().Line()), Words: []Word{{Text: n.Variant.Value, Fixed: true}}}
	for _, a := range n.Args {
		if !a.Naked {
			w.refuse(n.Variant.Value + " with an assignment")
		}
		word := w.word(a.Value)
		if a.Name != nil {
			word = Word{Text: a.Name.Value, Fixed: a.Naked}
		}
		c.Words = append(c.Words, word)
	}
	w.out.Commands = append(w.out.Commands, c)
}

func (w *walker) redirect(n *syntax.Redirect) {
	r := Redirect{Op: n.Op.String(), Target: w.word(n.Word)}
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		r.Copies = true // the text itself; commands inside are met by the walk
	case syntax.DplIn, syntax.DplOut:
		r.Copies = r.Target.Fixed && descriptor.MatchString(r.Target.Text)
		r.Writes = !r.Copies
	case syntax.RdrIn:
	default:
		r.Writes = true
	}
	w.out.Redirects = append(w.out.Redirects, r)
}

// descriptor is what may follow ">&" without naming a file.
var descriptor = regexp.MustCompile(`^([0-9]+-?|-)$`)

func (w *walker) param(n *syntax.ParamExp) {
	switch {
	case n.Excl:
		w.refuse("an indirect expansion")
	case n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P":
		w.refuse("a prompt expansion")
	case n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull):
		w.refuse("an expansion that assigns")
	}
	if n.Index != nil {
		if word, ok := n.Index.(*syntax.Word); !ok || word.Lit() != "@" && word.Lit() != "*" {
			w.arithmetic(n.Index)
		}
	}
	if n.Slice != nil {
		w.arithmetic(n.Slice.Offset)
		w.arithmetic(n.Slice.Length)
	}
}

var plainNumber = regexp.MustCompile(`^[0-9]+$`)

// arithmetic refuses names: the value of a name is evaluated as arithmetic again,
// and there an index may hold a command.
func (w *walker) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if word, ok := n.(*syntax.Word); ok && !plainNumber.MatchString(word.Lit()) {
			w.refuse("a name in arithmetic")
		}
		return true
	})
}

func (w *walker) number(x syntax.TestExpr) {
	if word, ok := x.(*syntax.Word); !ok || !plainNumber.MatchString(strings.TrimPrefix(word.Lit(), "-")) {
		w.refuse("a name in arithmetic")
	}
}

// HarmlessName reports whether setting the variable cannot change what programs do.
// Variables that programs read are upper case by convention, save the proxies.
func HarmlessName(name string) bool {
	return name == strings.ToLower(name) && !strings.HasSuffix(name, "_proxy")
}
