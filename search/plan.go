package search

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// weighed is one known term, ready to be scored.
type weighed struct {
	asked
	idf   float64
	rare  float64 // see rarity
	worth float64
	n     int   // living documents that hold it
	bit   int   // place among the heaviest, or -1
	list  []int // its number in each part, -1 where absent
}

// plan is a question against one generation.
type plan struct {
	g      *generation
	opt    Options
	an     *analyzer
	fields uint8 // which fields count
	wide   int   // living documents with a unit of an unspaced script; -1: not counted yet
	terms  []weighed
	unused []TermScore // terms that a long query has beyond those that count
	total  float64     // idf of the heaviest terms
	asked  float64     // rarity of every term of the query, known or not
}

func (g *generation) plan(opt Options, an *analyzer, q question, f Filter) *plan {
	p := &plan{g: g, opt: opt, an: an, wide: -1, fields: 1<<fieldCount - 1}
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
		if a.single() && len(q.terms) == 1 {
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
	if a.inside < a.count || a.whole != a.term && p.holders(a.whole, nil) == 0 {
		a.whole = ""
	}
	w := weighed{asked: a, bit: -1, list: make([]int, len(p.g.parts))}
	w.n = p.holders(a.term, w.list)
	w.rare = p.an.rarity(a.term, w.n, p.g.live)
	p.asked += float64(w.weight() * w.rare)
	if w.n == 0 {
		return
	}
	w.idf = idf(w.n, p.among(a))
	w.worth = worth(a, w.idf, w.rare)
	p.terms = append(p.terms, w)
}

// holders returns how many living documents hold a term, and fills list, if there is one,
// with its number in each part.
func (p *plan) holders(term string, list []int) (n int) {
	for i, part := range p.g.parts {
		at, ok := part.find(term)
		if ok {
			n += part.holders(at)
		} else {
			at = -1
		}
		if list != nil {
			list[i] = at
		}
	}
	return n
}

// among returns how many documents could hold the term: a Chinese word is no rarer for
// the skills that are all in English.
func (p *plan) among(a asked) int {
	if !a.cjk {
		return p.g.live
	}
	if p.wide < 0 {
		p.wide = p.holders(wideMark, nil)
	}
	return p.wide
}

// expand adds the pairs that begin with a single character.
func (p *plan) expand(a asked) {
	seen := map[string]bool{}
	for _, part := range p.g.parts {
		for at, _ := part.find(a.term); at < part.terms(); at++ {
			t := part.term(at)
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

// listed is one term's list in a part.
type listed struct {
	cursor
	weight float64 // in the query, times idf
	most   int64   // that it can add to a document's score
	rest   int64   // that it and the lists after it can add
}

// lists opens the lists of part number i, the one that can add most first.
func (p *plan) lists(i int, n *norms) []listed {
	part := p.g.parts[i]
	drift := part.own.drift(&p.g.stats, &p.opt)
	out := make([]listed, 0, len(p.terms))
	for t := range p.terms {
		w := &p.terms[t]
		if at := w.list[i]; at >= 0 {
			l := listed{weight: w.worth}
			l.most = n.points(l.weight, float64(float64(part.most[at])*drift))
			l.open(part.segment, at)
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b listed) int { return cmp.Compare(b.most, a.most) })
	rest := int64(0)
	for i := len(out) - 1; i >= 0; i-- {
		rest += out[i].most
		out[i].rest = rest
	}
	return out
}

// judge fills in what the walk did not need to know of hits: see acc.
func (p *plan) judge(hits []*found) {
	hits = slices.Clone(hits)
	slices.SortFunc(hits, func(a, b *found) int { return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.number, b.number)) })
	n := p.g.norms(&p.opt, p.fields)
	var c cursor
	for len(hits) > 0 {
		i := hits[0].part
		same := 1
		for same < len(hits) && hits[same].part == i {
			same++
		}
		part := p.g.parts[i]
		for _, f := range hits[:same] {
			f.acc = acc{}
		}
		for t := range p.terms {
			w := &p.terms[t]
			if w.list[i] < 0 {
				continue
			}
			c.open(part.segment, w.list[i])
			for _, f := range hits[:same] {
				if c.seek(f.number); c.doc != f.number {
					continue
				}
				if c.read(); c.mask&n.fields != 0 {
					got := n.contribution(w.worth, &c.counts, &part.lens[c.doc])
					f.note(w, p.g.live, got, c.mask&n.fields)
				}
			}
		}
		hits = hits[same:]
	}
}

// explain lists every term's part in the score of one hit, and the rest.
func (p *plan) explain(f *found) []TermScore {
	i, doc, score := f.part, f.number, f.score
	part, n := p.g.parts[i], p.g.norms(&p.opt, p.fields)
	var out []TermScore
	for t := range p.terms {
		w := &p.terms[t]
		if w.list[i] < 0 {
			continue
		}
		c := part.list(w.list[i])
		if c.seek(doc); c.doc != doc {
			continue
		}
		c.read()
		row := TermScore{Term: w.term, IDF: w.idf, Count: w.count, TF: map[string]int{}}
		row.Contribution = n.contribution(w.worth, &c.counts, &part.lens[doc])
		for m := c.mask; m != 0; m &= m - 1 {
			f := bits.TrailingZeros8(m)
			row.TF[fieldNames[f]] = int(c.tf[f])
		}
		score -= row.Contribution
		out = append(out, row)
	}
	out = append(out, p.unused...)
	if score != 0 {
		rest := "(name)"
		if f.fused {
			rest = "(fusion)"
		}
		out = append(out, TermScore{Term: rest, Contribution: score})
	}
	return out
}
