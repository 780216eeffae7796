package command

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/deftskills/deft/internal/shellcmd"
	"github.com/deftskills/deft/skill"
)

// Arguments are what the placeholders of a text stand for; see [skill.Substitute].
type Arguments struct {
	Values   map[string]string
	Names    []string // declared names
	Declares bool     // the skill declares arguments
}

// insertion puts values into one command. Placeholders become markers first, the text
// with markers is read as a syntax tree, and each marker is replaced by its value in
// quotes that fit the place: whatever the value, it stays inside the word it stood in.
type insertion struct {
	marked string
	prefix string // of every marker
	values []inserted
}

type inserted struct {
	value    string
	argument bool // it came with the request; else it is a fact of the host
}

// plainValue is a value that means itself wherever it stands.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_./:@+=-]+$`)

// maxWord is the highest number of a word for which a missing argument is an empty word.
const maxWord = 99

func mark(text string, d skill.Dialect, a Arguments) *insertion {
	in := &insertion{prefix: "%deft"}
	for strings.Contains(text, in.prefix) {
		in.prefix += "x"
	}
	values := make(map[string]string, len(a.Values)+maxWord+1)
	for i := range maxWord + 1 {
		values[strconv.Itoa(i)] = ""
	}
	for k, v := range a.Values {
		values[k] = v
	}
	quote := func(v string) string {
		in.values = append(in.values, inserted{value: v})
		return in.marker(len(in.values) - 1)
	}
	marked, used := skill.Substitute(text, values, skill.SubstituteOptions{Dialect: d, Declares: a.Declares, Names: a.Names, Quote: quote})
	in.marked = marked
	n := 0
	for _, u := range used {
		if u.Known && n < len(in.values) {
			in.values[n].argument = u.Argument
			n++
		}
	}
	return in
}

func (in *insertion) marker(i int) string { return fmt.Sprintf("%s%dZ", in.prefix, i) }

// fill replaces the markers in a text by what f makes of them.
func (in *insertion) fill(text string, f func(i int) string) string {
	for i := range in.values {
		text = strings.ReplaceAll(text, in.marker(i), f(i))
	}
	return text
}

// took reports whether an argument of the request was put in.
func (in *insertion) took() bool {
	for _, v := range in.values {
		if v.argument {
			return true
		}
	}
	return false
}

// words fills a command that the list admits and that is started without a shell. What
// came with the request counts for no prefix.
func (in *insertion) words(l List) ([]string, Reason) {
	marked, err := shellcmd.Simple(in.marked)
	if err != nil || !l.admits(in.facts(marked)) {
		return nil, ReasonList
	}
	read := make([]shellcmd.Word, len(marked))
	for i, w := range marked {
		read[i] = shellcmd.Word{Text: w, Fixed: true}
	}
	out := make([]string, len(marked))
	for k, w := range marked {
		if out[k] = w; !strings.Contains(w, in.prefix) {
			continue
		}
		for i := range in.values {
			if strings.Contains(w, in.marker(i)) && !in.allowed(read, k, i, w == in.marker(i)) {
				return nil, ReasonArgument
			}
		}
		out[k] = in.once(w)
	}
	return out, ""
}

// facts puts the host's own values into words, and leaves the markers of arguments.
func (in *insertion) facts(words []string) []string {
	out := make([]string, len(words))
	for k, w := range words {
		out[k] = in.fill(w, func(i int) string {
			if in.values[i].argument {
				return in.marker(i)
			}
			return in.values[i].value
		})
	}
	return out
}

// once puts the values into a text in one pass: a value that looks like a marker is not
// read again.
func (in *insertion) once(text string) string {
	var pairs []string
	for i := range in.values {
		pairs = append(pairs, in.marker(i), in.values[i].value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// allowed reports whether value i may stand in word k.
func (in *insertion) allowed(words []shellcmd.Word, k, i int, alone bool) bool {
	v := in.values[i]
	if !v.argument && (k == 0 || plainValue.MatchString(v.value)) {
		return true
	}
	return dataAt(words, k, alone, v.value)
}

// shell fills a text for a shell. What it returns has the tree of the text with markers.
func (in *insertion) shell() (string, Reason) {
	if len(in.values) == 0 {
		_, err := shellcmd.Parse(in.marked)
		return in.marked, ifErr(err, ReasonParse)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(in.marked), "")
	if err != nil {
		if _, err := shellcmd.Parse(in.fill(in.marked, func(int) string { return "0" })); err != nil {
			return "", ReasonParse
		}
		return "", ReasonArgument
	}
	p := placing{in: in, places: map[int]string{}}
	syntax.Walk(file, p.node)
	if p.bad {
		return "", ReasonArgument
	}
	var b strings.Builder
	for at := 0; ; {
		next := strings.Index(in.marked[at:], in.prefix)
		if next < 0 {
			b.WriteString(in.marked[at:])
			break
		}
		next += at
		i, end := in.at(next)
		quoted, placed := p.places[next]
		switch {
		case placed:
		case i >= 0 && !in.values[i].argument && plainValue.MatchString(in.values[i].value):
			quoted = in.values[i].value
		default:
			return "", ReasonArgument
		}
		b.WriteString(in.marked[at:next])
		b.WriteString(quoted)
		at = end
	}
	if !in.same(b.String()) {
		return "", ReasonArgument
	}
	return b.String(), ""
}

// at reads the marker at a byte of the marked text: its number, or -1, and its end.
func (in *insertion) at(pos int) (i, end int) {
	rest := in.marked[pos+len(in.prefix):]
	digits, _, ok := strings.Cut(rest, "Z")
	i, err := strconv.Atoi(digits)
	if !ok || err != nil || i >= len(in.values) {
		return -1, pos + len(in.prefix)
	}
	return i, pos + len(in.marker(i))
}

// same compares the filled text with the marked one, command by command and word by
// word: what cannot be shown to be the same is not run.
func (in *insertion) same(filled string) bool {
	was, err := shellcmd.Parse(in.marked)
	if err != nil {
		return false
	}
	is, err := shellcmd.Parse(filled)
	if err != nil || len(is.Commands) != len(was.Commands) || len(is.Redirects) != len(was.Redirects) {
		return false
	}
	equal := func(a, b shellcmd.Word) bool {
		return in.once(a.Text) == b.Text && a.Fixed == b.Fixed && a.Split == b.Split && a.Glob == b.Glob && a.Tilde == b.Tilde
	}
	for i, c := range was.Commands {
		d := is.Commands[i]
		if len(c.Words) != len(d.Words) || len(c.Assigns) != len(d.Assigns) {
			return false
		}
		for k := range c.Words {
			if !equal(c.Words[k], d.Words[k]) {
				return false
			}
		}
		for k := range c.Assigns {
			if c.Assigns[k].Name != d.Assigns[k].Name || !equal(c.Assigns[k].Value, d.Assigns[k].Value) {
				return false
			}
		}
	}
	for i := range was.Redirects {
		if was.Redirects[i].Op != is.Redirects[i].Op || !equal(was.Redirects[i].Target, is.Redirects[i].Target) {
			return false
		}
	}
	return true
}

func ifErr(err error, r Reason) Reason {
	if err != nil {
		return r
	}
	return ""
}

// placing finds the places of markers where a value may stand, and quotes it for each.
type placing struct {
	in     *insertion
	places map[int]string // by byte offset of the marker
	bad    bool           // some marker stands where no value may
}

func (p *placing) node(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.CallExpr:
		p.call(n)
	case *syntax.CaseClause:
		p.word(n.Word, anywhere)
	case *syntax.Redirect:
		if n.Hdoc != nil {
			return false
		}
		if n.Op != syntax.DplIn && n.Op != syntax.DplOut {
			p.word(n.Word, anywhere)
		}
	case *syntax.WordIter:
		for _, w := range n.Items {
			p.word(w, anywhere)
		}
	case *syntax.CmdSubst:
		return !n.Backquotes // a second layer of backslashes
	case *syntax.ParamExp, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.TestClause, *syntax.FuncDecl, *syntax.LetClause, *syntax.DeclClause:
		return false
	}
	return true
}

// anywhere accepts a value for a word that no program reads.
func anywhere(int, bool) bool { return true }

func (p *placing) call(n *syntax.CallExpr) {
	words := make([]shellcmd.Word, len(n.Args))
	for i, a := range n.Args {
		words[i], _ = shellcmd.ReadWord(a)
	}
	for _, a := range n.Assigns {
		if a.Name != nil && a.Value != nil && a.Index == nil && shellcmd.HarmlessName(a.Name.Value) {
			p.word(a.Value, anywhere)
		}
	}
	for k, a := range n.Args {
		p.word(a, func(i int, alone bool) bool { return p.in.allowed(words, k, i, alone) })
	}
}

// word takes the markers of one word. ok says whether a value may stand in it.
func (p *placing) word(w *syntax.Word, ok func(i int, alone bool) bool) {
	if w == nil {
		return
	}
	read, _ := shellcmd.ReadWord(w)
	take := func(n syntax.Node, open, shut string) {
		start, end := int(n.Pos().Offset()), int(n.End().Offset())
		text := p.in.marked[start:end]
		for at := 0; ; {
			next := strings.Index(text[at:], p.in.prefix)
			if next < 0 {
				return
			}
			at += next
			i, stop := p.in.at(start + at)
			if i < 0 || open != "'" && escaped(text[:at]) || !ok(i, read.Fixed && read.Text == p.in.marker(i)) {
				p.bad = true
				return
			}
			p.places[start+at] = open + quoteWord(p.in.values[i].value) + shut
			at = stop - start
		}
	}
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			take(part, "", "")
		case *syntax.SglQuoted:
			if !part.Dollar {
				take(part, "'", "'")
			}
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if lit, isLit := inner.(*syntax.Lit); isLit && !part.Dollar {
					take(lit, `"`, `"`)
				}
			}
		}
	}
}

// escaped reports whether the text ends in a backslash that counts.
func escaped(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

// quoteWord is a value as one word of a shell.
func quoteWord(v string) string { return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'" }

// readable reports whether a person sees all of a command: no control character but tab
// and line end, nothing that changes the direction of text, no broken UTF-8.
func readable(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\t' && r != '\n' || unicode.Is(unicode.Bidi_Control, r)
	})
}
