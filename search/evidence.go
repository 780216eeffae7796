package search

import "math"

// acc is what is known of one hit, summed over the query's terms.
type acc struct {
	score int64
	sure  int64  // the score with rarity in place of idf
	cover uint16 // bit i: holds the i-th heaviest known term
	front uint8  // terms that hit name, keywords or description
	units uint8  // terms of an unspaced script that hit
	rare  bool   // some term that hits is in at most a fifth of the documents
}

// note takes in that the document holds w in the fields of mask, which gave it got
// points; live is the number of documents.
func (a *acc) note(w *weighed, live int, got int64, mask uint8) {
	a.score += got
	if w.worth > 0 {
		a.sure += int64(math.Round(float64(float64(got) * float64(float64(w.weight()*w.rare)/w.worth))))
	}
	if w.bit >= 0 {
		a.cover |= 1 << w.bit
	}
	if mask&frontFields != 0 && a.front < 255 {
		a.front++
	}
	if w.cjk && a.units < 255 {
		a.units++
	}
	a.rare = a.rare || w.n*5 <= live
}

const frontFields = 1<<Name | 1<<Keywords | 1<<Description

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
// Nothing is surer than a request that is the skill's name and no more.
func (p *plan) evidence(a acc, named bool) (share, evidence int) {
	if named {
		return 100, 100
	}
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
