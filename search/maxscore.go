package search

import (
	"context"
	"math/bits"
	"sync"
)

// windowSize is how many documents are scored at once: their scores fit the
// processor's nearest cache.
const windowSize = 4096

// pane is the part of a segment under way, a bit or a score for each document.
type pane struct {
	score [windowSize]int64
	some  [windowSize / 64]uint64 // holds a term, in a field that counts
	whole [windowSize / 64]uint64 // may be a hit: its score is under way
}

var panes = sync.Pool{New: func() any { return new(pane) }}

// walk offers the documents of part number i that belong to the best.
//
// It is MaxScore, a window of documents at a time. Once there are enough hits, a
// document that only has terms which cannot lift it to the last hit's score is not
// scored: the lists are in the order of what they can add, and behind some point all
// of them together add less. Those before that point are scored in full, those after
// it only for documents that can still reach it. Every document is counted.
func (p *plan) walk(ctx context.Context, i int, col *collector) {
	part, n := p.g.parts[i], p.g.norms(&p.opt, p.fields)
	lists := p.lists(i, &n)
	named := col.callNamed(p, i)
	seen := col.q.View.bits(p.g, i)
	without := part.open(col.ask.without)
	win := panes.Get().(*pane)
	defer panes.Put(win)
	for ctx.Err() == nil {
		from := uint32(finished)
		for l := range lists {
			from = min(from, lists[l].doc)
		}
		if from == finished {
			return
		}
		from &^= 63
		win.fill(lists, &n, &part, from, col.floor())
		win.restrict(&part, seen, without, named, from)
		col.take(win, &part, i, from)
	}
}

// fill scores the window's documents. Scores below floor may be less than they are.
func (win *pane) fill(lists []listed, n *norms, part *part, from uint32, floor int64) {
	*win = pane{}
	to := from + windowSize
	for l := range lists {
		c := &lists[l]
		needed := c.rest >= floor // else nothing from here on is a hit by itself
		for ; c.doc < to; c.next() {
			at := c.doc - from
			word, bit := at/64, uint64(1)<<(at%64)
			if !needed && n.all && (win.whole[word]&bit == 0 || win.score[at]+c.rest < floor) {
				win.some[word] |= bit
				continue
			}
			c.read()
			if c.mask&n.fields == 0 {
				continue
			}
			win.some[word] |= bit
			if needed {
				win.whole[word] |= bit
			} else if win.whole[word]&bit == 0 {
				continue
			}
			win.score[at] += n.contribution(c.weight, &c.counts, &part.lens[c.doc])
		}
	}
}

// restrict takes out what is gone, out of view, excluded, or a hit by its name.
func (win *pane) restrict(part *part, seen []uint64, without []*cursor, named []uint32, from uint32) {
	clear := func(doc uint32) {
		if at := doc - from; doc >= from && at < windowSize {
			win.some[at/64] &^= 1 << (at % 64)
		}
	}
	for _, c := range without {
		for c.seek(from); c.doc < from+windowSize; c.next() {
			clear(c.doc)
		}
	}
	for _, doc := range named {
		clear(doc)
	}
	first := int(from / 64)
	for w := range win.some {
		if part.dead != nil && first+w < len(part.dead) {
			win.some[w] &^= part.dead[first+w]
		}
		if seen != nil && first+w < len(seen) {
			win.some[w] &= seen[first+w]
		}
		win.whole[w] &= win.some[w]
	}
}

// open returns cursors on the lists of those terms that the part knows.
func (p part) open(terms []string) (out []*cursor) {
	for _, t := range terms {
		if at, ok := p.find(t); ok {
			out = append(out, p.list(at))
		}
	}
	return out
}

// collector keeps the best hits of one query.
type collector struct {
	q     Query
	ask   question
	k     int
	top   best
	named []found
	total int

	// A document of this part with this score came behind the last hit, and so does
	// every later one: documents are in the order of equal hits.
	behind int64
	in     int
}

// floor is the score below which a document is no hit and need not be counted by its
// score. With MinScore it stays there, so that every hit above it is counted.
func (col *collector) floor() int64 {
	if col.q.MinScore > 0 || len(col.top) < col.k {
		return max(col.q.MinScore, 0)
	}
	return col.top[0].score
}

// take counts the window's documents and offers its hits.
func (col *collector) take(win *pane, part *part, i int, from uint32) {
	filtered, least := col.q.Filter.narrow(), col.q.MinScore > 0
	for w, set := range win.some {
		if least {
			set = win.whole[w]
		}
		if !filtered && !least {
			col.total += bits.OnesCount64(set)
			set = win.whole[w]
		}
		for ; set != 0; set &= set - 1 {
			at := w*64 + bits.TrailingZeros64(set)
			score, doc := win.score[at], part.docs[from+uint32(at)]
			if least && score < col.q.MinScore || filtered && !col.q.Filter.admits(doc) {
				continue
			}
			if filtered || least {
				col.total++
			}
			if win.whole[w]&(1<<(at%64)) != 0 && score >= col.floor() && (col.in != i || score != col.behind) {
				f := found{document: doc, part: i, number: from + uint32(at), acc: acc{score: score}}
				if !col.top.offer(f, col.k) {
					col.behind, col.in = score, i
				}
			}
		}
	}
}

// callNamed finds the documents of a part that the query calls by name, whatever
// their score, and returns their numbers.
func (col *collector) callNamed(p *plan, i int) (numbers []uint32) {
	part := p.g.parts[i]
	if col.ask.name == "" {
		return nil
	}
	without := part.open(col.ask.without)
	for _, doc := range part.named(col.ask.name) {
		d := part.docs[doc]
		if !col.q.View.Has(d.Address) || !col.q.Filter.admits(d) {
			continue
		}
		out := false
		for _, c := range without {
			c.seek(doc)
			out = out || c.doc == doc
		}
		if out {
			continue
		}
		numbers = append(numbers, doc)
		col.total++
		col.named = append(col.named, found{document: d, part: i, number: doc, named: true})
	}
	return numbers
}
