package search

import (
	"math"
	"math/bits"
	"strings"
)

// weighed is one known term, ready to be scored.
type weighed struct {
	asked
	idf  float64
	rare float64 // see rarity
	n    int     // living documents that hold it
	bit  int     // place among the heaviest, or -1
	list []int   // its number in each part, -1 where absent
}

// acc is what a query has found out about one document.
type acc struct {
	score   int64
	sure    int64  // the score with rarity in place of idf
	cover   uint16 // bit i: holds the i-th heaviest known term
	front   uint8  // terms that hit name, keywords or description
	units   uint8  // terms of an unspaced script that hit
	rare    bool   // some term that hits is in at most a fifth of the documents
	exclude bool
}

// plan is a question against one generation.
type plan struct {
	g      *generation
	opt    Options
	an     *analyzer
	fields uint8 // which fields count
	terms  []weighed
	total  float64 // idf of the heaviest terms
	asked  float64 // rarity of every term of the query, known or not
}

func (g *generation) plan(opt Options, an *analyzer, q question, f Filter) *plan {
	p := &plan{g: g, opt: opt, an: an, fields: 1<<fieldCount - 1}
	if len(f.Fields) > 0 {
		p.fields = 0
		for _, field := range f.Fields {
			p.fields |= 1 << field
		}
	}
	if f.NoReferences {
		p.fields &^= 1 << References
	}
	for _, a := range q.terms {
		if a.single() {
			p.expand(a)
			continue
		}
		p.know(a)
	}
	p.rank()
	return p
}

// know adds a term if some living document holds it.
func (p *plan) know(a asked) {
	w := weighed{asked: a, bit: -1, list: make([]int, len(p.g.parts))}
	for i, part := range p.g.parts {
		at, ok := part.find(a.term)
		if !ok {
			w.list[i] = -1
			continue
		}
		w.list[i] = at
		w.n += part.living(at)
	}
	w.rare = p.an.rarity(a.term, w.n, p.g.live)
	p.asked += float64(w.weight() * w.rare)
	if w.n == 0 {
		return
	}
	w.idf = idf(w.n, p.g.live)
	p.terms = append(p.terms, w)
}

// living counts the documents of a list that are not gone.
func (p part) living(at int) int {
	if p.gone == 0 {
		return int(p.df[at])
	}
	n := 0
	for c := p.list(at); c.next(); {
		if p.alive(c.doc) {
			n++
		}
	}
	return n
}

// expand adds the pairs that begin with a single character.
func (p *plan) expand(a asked) {
	seen := map[string]bool{}
	for _, part := range p.g.parts {
		for at, _ := part.find(a.term); at < part.terms(); at++ {
			t := string(part.term(at))
			if !strings.HasPrefix(t, a.term) || len(seen) == maxExpand {
				break
			}
			if !seen[t] {
				seen[t] = true
				p.know(asked{term: t, count: a.count, cjk: true})
			}
		}
	}
}

// score fills accs, one for each document of part number i.
func (p *plan) score(i int, accs []acc) {
	part, n := p.g.parts[i], p.g.norms(&p.opt, p.fields)
	for t := range p.terms {
		w := &p.terms[t]
		if w.list[i] < 0 {
			continue
		}
		weight := float64(w.weight() * w.idf)
		common := w.n*5 > p.g.live
		factor := float64(w.rare / w.idf)
		for c := part.list(w.list[i]); c.next(); {
			got := n.contribution(weight, &c.counts, &part.lens[c.doc])
			if got == 0 {
				continue
			}
			a := &accs[c.doc]
			a.score += got
			a.sure += int64(math.Round(float64(float64(got) * factor)))
			if w.bit >= 0 {
				a.cover |= 1 << w.bit
			}
			if c.mask&n.fields&frontFields != 0 && a.front < 255 {
				a.front++
			}
			if w.cjk && a.units < 255 {
				a.units++
			}
			a.rare = a.rare || !common
		}
	}
}

// strike marks the documents that hold one of the terms.
func (p *plan) strike(i int, terms []string, accs []acc) {
	part := p.g.parts[i]
	for _, t := range terms {
		at, ok := part.find(t)
		if !ok {
			continue
		}
		for c := part.list(at); c.next(); {
			accs[c.doc].exclude = true
		}
	}
}

// explain lists every term's part in the score of one document.
func (p *plan) explain(i int, doc uint32, score int64) []TermScore {
	part, n := p.g.parts[i], p.g.norms(&p.opt, p.fields)
	var out []TermScore
	for t := range p.terms {
		w := &p.terms[t]
		if w.list[i] < 0 {
			continue
		}
		for c := part.list(w.list[i]); c.next(); {
			if c.doc != doc {
				continue
			}
			row := TermScore{Term: w.term, IDF: w.idf, Count: w.count, TF: map[string]int{}}
			row.Contribution = n.contribution(float64(w.weight()*w.idf), &c.counts, &part.lens[doc])
			for m := c.mask; m != 0; m &= m - 1 {
				f := bits.TrailingZeros8(m)
				row.TF[fieldNames[f]] = int(c.tf[f])
			}
			score -= row.Contribution
			out = append(out, row)
		}
	}
	if score != 0 {
		out = append(out, TermScore{Term: "(name)", Contribution: score})
	}
	return out
}
