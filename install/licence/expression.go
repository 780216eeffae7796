package licence

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed verdicts.tsv
var verdictsText string

//go:embed names.tsv
var namesText string

// table reads a file of two columns.
func table(text string) (rows [][2]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if key, value, ok := strings.Cut(line, "\t"); ok && !strings.HasPrefix(line, "#") {
			rows = append(rows, [2]string{key, value})
		}
	}
	return rows
}

var verdicts = sync.OnceValue(func() [][2]string { return table(verdictsText) })

var names = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, row := range table(namesText) {
		out[row[0]] = row[1]
	}
	return out
})

// ofID decides about one identifier, None where the list has no such one. "+" stands
// for later versions, which no list makes worse.
func ofID(id string, o Options) Decision {
	if slices.ContainsFunc(o.Allow, func(a string) bool { return strings.EqualFold(a, id) }) {
		return Allow
	}
	id = strings.ToLower(strings.TrimSuffix(id, "+"))
	for _, row := range verdicts() {
		pattern := strings.ToLower(row[0])
		if head, open := strings.CutSuffix(pattern, "*"); id == pattern || open && strings.HasPrefix(id, head) {
			return Decision(row[1])
		}
	}
	return None
}

// ofExpression reads an expression of the public list: of "OR" the better side counts,
// of "AND" and "WITH" the worse. What is no expression is None.
func ofExpression(s string, o Options) Decision {
	p := &parser{o: o, words: strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(s))}
	d := p.either()
	if p.broken || len(p.words) > 0 {
		return None
	}
	return d
}

type parser struct {
	o      Options
	words  []string
	depth  int
	broken bool
}

// maxNesting bounds parentheses; real expressions have one or two.
const maxNesting = 16

func (p *parser) next(word string) bool {
	if len(p.words) > 0 && strings.EqualFold(p.words[0], word) {
		p.words = p.words[1:]
		return true
	}
	return false
}

func (p *parser) either() Decision {
	d := p.all()
	for p.next("OR") {
		d = better(d, p.all())
	}
	return d
}

func (p *parser) all() Decision {
	d := p.one()
	for p.next("AND") {
		d = worse(d, p.one())
	}
	return d
}

func (p *parser) one() Decision {
	if len(p.words) == 0 {
		p.broken = true
		return None
	}
	if p.next("(") {
		if p.depth++; p.depth > maxNesting {
			p.broken = true
			return None
		}
		d := p.either()
		p.depth--
		p.broken = p.broken || !p.next(")")
		return d
	}
	d := ofID(p.words[0], p.o)
	p.words = p.words[1:]
	if p.next("WITH") {
		// An exception of a licence gives more, never less; one that takes away, such as
		// the Commons Clause, is in the list.
		if len(p.words) == 0 {
			p.broken = true
			return None
		}
		if with := ofID(p.words[0], p.o); with == Refuse {
			d = Refuse
		}
		p.words = p.words[1:]
	}
	return d
}

func better(a, b Decision) Decision {
	if slices.Index(rank, a) < slices.Index(rank, b) {
		return a
	}
	return b
}

func worse(a, b Decision) Decision {
	if slices.Index(rank, a) > slices.Index(rank, b) {
		return a
	}
	return b
}
