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

// A message longer than longMessage bytes says in its first line what it is about:
// the words there, up to maxHeadline bytes, weigh headlineWeight times as much.
const (
	longMessage    = 300
	maxHeadline    = 200
	headlineWeight = 2
)

// The share of a word's weight that goes to words which mean the same; see also.txt. A
// Chinese or Japanese word's English ones are what most skills have instead of it, and
// count in full.
const (
	alsoWeight        = 0.5
	translationWeight = 1
)

// compoundShare is what the parts of a word with hyphens, and the whole, weigh where some
// skill says the whole: they are one word.
const compoundShare = 0.5

// asked is one distinct term and how often the query says it.
type asked struct {
	term     string
	count    int
	cjk      bool
	headline bool
	whole    string  // the last word with hyphens that it is part of, or is
	inside   int     // how often it is in one
	also     float64 // the weight of a term that only a word with its meaning stands for; else 0
}

// weight is what repeating a term in the query is worth: much less than as many
// different ones.
func (a asked) weight() float64 {
	if a.also > 0 {
		return a.also
	}
	w := 1 + math.Log(float64(a.count))
	if a.headline {
		w *= headlineWeight
	}
	if a.whole != "" {
		w *= compoundShare
	}
	return w
}

// headline returns where the first line of a long message ends, else 0.
func headline(text string) int {
	if len(text) <= longMessage {
		return 0
	}
	from := len(text) - len(strings.TrimLeft(text, " \t\r\n#"))
	end := len(text)
	if n := strings.IndexByte(text[from:], '\n'); n >= 0 {
		end = from + n
	}
	return min(end, from+maxHeadline)
}

// counts is how often a document says one term: a bit for each field that has it, and
// the number there. The numbers of other fields mean nothing.
type counts struct {
	mask uint8
	tf   [fieldCount]uint32
}

// stats is what the formula needs to know of all documents together.
type stats struct {
	live   int
	lens   [fieldCount]uint64 // tokens of the living documents
	filled [fieldCount]int    // living documents that have the field
}

// idf is what a word is worth that n of live documents hold.
func idf(n, live int) float64 {
	has, all := float64(n), float64(live)
	return math.Log(1 + float64((all-has+0.5)/(has+0.5)))
}

// worth is a term's weight in a query: how often it is said, its idf, and a little of
// how rare the word is in any library, since in one of a few trades its usual words
// look rare. Roots of roots are the same on every machine, powers are not.
func worth(a asked, idf, rare float64) float64 {
	return float64(float64(a.weight()*idf) * math.Sqrt(math.Sqrt(rare)))
}

// add takes a document of those lengths in, or out with sign -1.
func (st *stats) add(lens *[fieldCount]uint32, sign int) {
	st.live += sign
	for f, n := range lens {
		if n > 0 {
			st.lens[f] += uint64(int64(n) * int64(sign))
			st.filled[f] += sign
		}
	}
}

// drift is how many times greater a frequency by the statistics of all can be than
// by st, those of some: no field's denominator, flat + slope·length, shrinks by more
// than its slope does.
func (st *stats) drift(all *stats, opt *Options) float64 {
	mine, theirs := st.norms(opt, 0), all.norms(opt, 0)
	most := 1.0
	for f := range fieldCount {
		if mine.slope[f] > 0 && theirs.slope[f] > 0 {
			most = max(most, mine.slope[f]/theirs.slope[f])
		}
	}
	return most * (1 + 1e-9) // more than rounding can take away
}

// norms are the weights of one generation's fields, ready for a document's lengths.
type norms struct {
	weight, flat, slope [fieldCount]float64
	k1                  float64
	fields              uint8 // those that count: asked for, and of some weight
	all                 bool  // every field counts
}

// norms turns b and the average lengths into weight / (flat + slope·length). The
// average is over the documents that have the field: most have no keywords, and an
// average near zero would punish those that do.
func (st *stats) norms(opt *Options, fields uint8) norms {
	n := norms{k1: opt.K1, fields: fields}
	for f := range fieldCount {
		prm := opt.Fields[f]
		n.weight[f], n.flat[f] = prm.Weight, 1-prm.B
		if prm.Weight == 0 {
			n.fields &^= 1 << f
		}
		if st.filled[f] > 0 && st.lens[f] > 0 {
			n.slope[f] = float64(prm.B*float64(st.filled[f])) / float64(st.lens[f])
		} else {
			n.flat[f] = 1
		}
	}
	n.all = n.fields == 1<<fieldCount-1
	return n
}

// contribution is one term's part of one document's score; w is the term's weight in
// the query times its idf.
func (n *norms) contribution(w float64, c *counts, lens *[fieldCount]uint32) int64 {
	tf := n.frequency(c, lens)
	if tf == 0 {
		return 0
	}
	return n.points(w, tf)
}

// frequency is how much a document says a term: its counts in the fields that count,
// each weighed and set against the field's length. It must not depend on anything but
// the posting, the lengths and n. The conversions here and in points keep every step a
// rounded float64, so that no machine fuses two of them.
func (n *norms) frequency(c *counts, lens *[fieldCount]uint32) float64 {
	tf := 0.0
	for m := c.mask & n.fields; m != 0; m &= m - 1 {
		f := bits.TrailingZeros8(m)
		count := float64(n.weight[f] * float64(c.tf[f]))
		length := float64(n.flat[f] + float64(n.slope[f]*float64(lens[f])))
		tf = float64(tf + float64(count/length))
	}
	return tf
}

// points turns a frequency into a score. It must not fall when tf or w grows: the
// search skips documents by what the greatest frequency of a list could give.
func (n *norms) points(w, tf float64) int64 {
	sat := float64(float64(tf*float64(n.k1+1)) / float64(tf+n.k1))
	return int64(math.Round(float64(float64(w*sat) * scale)))
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
		for _, at := range order[maxTerms:] {
			p.unused = append(p.unused, TermScore{Term: p.terms[at].term, IDF: p.terms[at].idf, Count: p.terms[at].count})
		}
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
