package search

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
)

const (
	// scale is the unit of integer scores: a contribution is rounded to 1/scale.
	scale = 1024
	// heavy is how many of the query's weightiest known terms Coverage looks at.
	heavy = 12
	// exactBonus lifts a skill that was called by its name above every other.
	exactBonus = 1024
)

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

// weighed is one known term, ready to be scored.
type weighed struct {
	asked
	idf  float64
	rare float64 // see rarity
	n    int     // living documents that hold it
	bit  int     // place among the heaviest, or -1
	list []int   // its number in each part, -1 where absent
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
	n, all := float64(w.n), float64(p.g.live)
	w.idf = math.Log(1 + float64((all-n+0.5)/(n+0.5)))
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

// rank keeps the rarest terms and gives the heaviest their bits.
func (p *plan) rank() {
	order := make([]int, len(p.terms))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := p.terms[a], p.terms[b]
		return cmp.Or(cmp.Compare(x.n, y.n), strings.Compare(x.term, y.term))
	})
	if len(order) > maxTerms {
		order = order[:maxTerms]
	}
	kept := make([]weighed, len(order))
	for i, at := range order {
		kept[i] = p.terms[at]
		if i < heavy {
			kept[i].bit = i
			p.total += kept[i].idf
		}
	}
	p.terms = kept
}

// norms are the weights of one generation's fields, ready for a document's lengths.
type norms struct {
	weight, flat, slope [fieldCount]float64
	k1                  float64
	fields              uint8
}

// norms turns b and the average lengths into weight / (flat + slope·length). The
// average is over the documents that have the field: most have no keywords, and an
// average near zero would punish those that do.
func (p *plan) norms() norms {
	n := norms{k1: p.opt.K1, fields: p.fields}
	for f := range fieldCount {
		prm := p.opt.Fields[f]
		n.weight[f], n.flat[f] = prm.Weight, 1-prm.B
		if p.g.filled[f] > 0 && p.g.lens[f] > 0 {
			n.slope[f] = float64(prm.B*float64(p.g.filled[f])) / float64(p.g.lens[f])
		} else {
			n.flat[f] = 1
		}
	}
	return n
}

// contribution is one term's part of one document's score. The conversions keep
// every step a rounded float64, so that no machine fuses two of them.
func (n *norms) contribution(w float64, c *cursor, lens *[fieldCount]uint32) int64 {
	tf := 0.0
	for m := c.mask & n.fields; m != 0; m &= m - 1 {
		f := bits.TrailingZeros8(m)
		count := float64(n.weight[f] * float64(c.tf[f]))
		length := float64(n.flat[f] + float64(n.slope[f]*float64(lens[f])))
		tf = float64(tf + float64(count/length))
	}
	if tf == 0 {
		return 0
	}
	sat := float64(float64(tf*float64(n.k1+1)) / float64(tf+n.k1))
	return int64(math.Round(float64(float64(w*sat) * scale)))
}

const frontFields = 1<<Name | 1<<Keywords | 1<<Description

// score fills accs, one for each document of part number i.
func (p *plan) score(i int, accs []acc) {
	part, n := p.g.parts[i], p.norms()
	for t := range p.terms {
		w := &p.terms[t]
		if w.list[i] < 0 {
			continue
		}
		weight := float64(w.weight() * w.idf)
		common := w.n*5 > p.g.live
		factor := float64(w.rare / w.idf)
		for c := part.list(w.list[i]); c.next(); {
			got := n.contribution(weight, &c, &part.lens[c.doc])
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

// coverage is the share of the heaviest terms' idf that the document holds.
func (p *plan) coverage(a acc) int {
	if p.total == 0 {
		return 0
	}
	held := 0.0
	for i := range p.terms {
		if bit := p.terms[i].bit; bit >= 0 && a.cover&(1<<bit) != 0 {
			held += p.terms[i].idf
		}
	}
	return int(math.Floor(float64(100*held)/p.total + 1e-9))
}

// evidence measures a hit against what a query could give at most, and against what
// one word could that no other skill has: both in percent, the second without bound.
func (p *plan) evidence(a acc) (share, evidence int) {
	if p.asked == 0 {
		return 0, 0
	}
	word := float64(scale * (p.opt.K1 + 1))
	sure := float64(a.sure)
	if a.front == 0 {
		sure /= 2 // a long text may hold any words; a name or description that holds none of them is about something else
	}
	share = int(math.Floor(float64(100*sure)/float64(word*p.asked) + 1e-9))
	return share, int(math.Floor(float64(100*sure)/word + 1e-9))
}

// strength grades the evidence of one hit.
func (p *plan) strength(q question, a acc, coverage int, named, phrased bool) Strength {
	switch {
	case named || phrased || coverage >= 60 && a.front >= 2:
		return Strong
	case coverage < 25 || !a.rare || q.units >= 4 && a.units < 2:
		return Weak
	}
	return Normal
}

// explain lists every term's part in the score of one document.
func (p *plan) explain(i int, doc uint32, score int64) []TermScore {
	part, n := p.g.parts[i], p.norms()
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
			row.Contribution = n.contribution(float64(w.weight()*w.idf), &c, &part.lens[doc])
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
