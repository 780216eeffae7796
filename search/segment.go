package search

import (
	"math/bits"
	"slices"
	"sort"
)

// A segment holds the postings of a batch of documents and never changes. Terms are
// sorted bytewise in one blob; each has a list of its documents in ascending order.
//
// A list is cut into blocks of blockSize documents. A block is the distances between
// the documents, less one, then a code for each document's counts: a byte below 0x80
// is one field (three bits) and its count less one (four bits; 15 stands for a number
// that follows, less 16), any other a set of fields, whose counts follow. Lists of
// several blocks begin each with the distance to its last document and its length in
// bytes, by which a reader skips it. Numbers are uvarints.
type segment struct {
	lens    [][fieldCount]uint32 // tokens of each field
	blob    string               // every term, one after the other
	termAt  []uint32             // where term i begins in blob; one more than terms
	df      []uint32             // documents that hold term i
	data    string               // every posting list
	listAt  []uint32             // where term i's list begins in data; one more than terms
	most    []float32            // at least the greatest frequency in list i, by the segment's own statistics
	own     stats                // of every document, the dead ones included
	names   []nameKey            // of every name, sorted
	address map[string]uint32
}

const (
	blockSize = 128
	// manyFields marks the code of several fields: the other bits say which of the first
	// seven, and the lowest bit of the first count whether there is Code too.
	manyFields = 0x80
)

func (s *segment) terms() int { return len(s.df) }

func (s *segment) term(i int) string { return s.blob[s.termAt[i]:s.termAt[i+1]] }

// find returns the first term that is not below t, and whether it is t.
func (s *segment) find(t string) (int, bool) {
	i := sort.Search(s.terms(), func(i int) bool { return s.term(i) >= t })
	return i, i < s.terms() && s.term(i) == t
}

// finished is a cursor's document after the last.
const finished = ^uint32(0)

// cursor walks one posting list. Input that no builder made ends the walk.
type cursor struct {
	doc    uint32 // under the cursor, or finished
	counts        // of doc, after read

	rest  string // blocks that were not opened
	codes string // of the open block, from posting number coded on
	left  uint32 // postings in rest
	last  uint32 // of the block before, plus one
	limit uint32 // every document is below it
	long  bool   // several blocks
	n, i  int    // postings in the open block; the current one
	coded int
	docs  [blockSize]uint32
}

// open puts the cursor on the first document of list i.
func (c *cursor) open(s *segment, i int) {
	c.rest, c.left = s.data[s.listAt[i]:s.listAt[i+1]], s.df[i]
	c.last, c.limit, c.long = 0, uint32(len(s.lens)), s.df[i] > blockSize
	c.block(0)
}

func (s *segment) list(i int) *cursor {
	c := new(cursor)
	c.open(s, i)
	return c
}

// block opens the next block whose last document is not below doc.
func (c *cursor) block(doc uint32) {
	for c.left > 0 {
		n := min(c.left, blockSize)
		size := uint32(len(c.rest))
		if c.long {
			var last uint32
			last, c.rest = number(c.rest)
			size, c.rest = number(c.rest)
			if uint64(size) > uint64(len(c.rest)) {
				break
			}
			if last += c.last; last < doc {
				c.rest, c.left, c.last = c.rest[size:], c.left-n, last+1
				continue
			}
		}
		open := c.rest[:size]
		c.rest, c.left = c.rest[size:], c.left-n
		at := c.last
		for i := range c.docs[:n] {
			if len(open) > 0 && open[0] < 0x80 {
				at += uint32(open[0])
				open = open[1:]
			} else {
				var gap uint32
				gap, open = number(open)
				at += gap
			}
			if at >= c.limit {
				c.doc, c.left = finished, 0
				return
			}
			c.docs[i] = at
			at++
		}
		c.last = at
		c.codes, c.n, c.i, c.coded = open, int(n), 0, 0
		c.doc = c.docs[0]
		return
	}
	c.doc, c.left = finished, 0
}

// next moves to the next document.
func (c *cursor) next() {
	if c.i++; c.i < c.n {
		c.doc = c.docs[c.i]
		return
	}
	c.block(0)
}

// seek moves to the first document that is not below doc.
func (c *cursor) seek(doc uint32) {
	if c.doc >= doc {
		return
	}
	if c.docs[c.n-1] < doc {
		if c.block(doc); c.doc >= doc {
			return
		}
	}
	for c.i < c.n && c.docs[c.i] < doc {
		c.i++
	}
	if c.i == c.n {
		c.block(doc)
		return
	}
	c.doc = c.docs[c.i]
}

// read fills the counts of the current document.
func (c *cursor) read() {
	for ; c.coded <= c.i && len(c.codes) > 0; c.coded++ {
		code := c.codes[0]
		c.codes = c.codes[1:]
		if code < manyFields {
			f := min(code>>4, uint8(fieldCount)-1)
			c.mask, c.tf[f] = 1<<f, uint32(code&15)+1
			if code&15 == 15 {
				c.tf[f], c.codes = number(c.codes)
				c.tf[f] += 16
			}
			continue
		}
		low := code &^ manyFields
		c.mask = low
		for m := low; m != 0; m &= m - 1 {
			var n uint32
			if n, c.codes = number(c.codes); m == low {
				c.mask |= uint8(n&1) << Code
				n >>= 1
			}
			c.tf[bits.TrailingZeros8(m)] = n
		}
		if c.mask>>Code != 0 {
			c.tf[Code], c.codes = number(c.codes)
		}
	}
}

// number reads a uvarint; what is none reads as 0 and leaves nothing.
func number(s string) (uint32, string) {
	v := uint32(0)
	for i := 0; i < len(s) && i < 5; i++ {
		v |= uint32(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return v, s[i+1:]
		}
	}
	return 0, ""
}

// part is a segment with its documents, of which some may be gone. Documents are in the
// order of hits with equal scores, so that of two equal ones the first wins. The set of those
// is copied on change, so a part is as immutable as its segment.
type part struct {
	*segment
	docs []*document // nil where gone
	dead []uint64    // bit per document; nil: all alive
	gone int
}

func (p part) alive(doc uint32) bool {
	return p.dead == nil || p.dead[doc/64]&(1<<(doc%64)) == 0
}

// living is how many documents are not gone.
func (p part) living() int { return len(p.docs) - p.gone }

// replace returns p with those documents; where one is nil, it is gone.
func (p part) replace(docs []*document) part {
	var dead []uint64
	gone := 0
	for i, d := range docs {
		if d != nil {
			continue
		}
		if dead == nil {
			dead = make([]uint64, (len(docs)+63)/64)
		}
		dead[i/64] |= 1 << (i % 64)
		gone++
	}
	return part{p.segment, docs, dead, gone}
}

// without returns p without those documents, which must be alive.
func (p part) without(gone []uint32) part {
	if len(gone) == 0 {
		return p
	}
	docs := slices.Clone(p.docs)
	dead := make([]uint64, (len(docs)+63)/64)
	copy(dead, p.dead)
	for _, doc := range gone {
		docs[doc] = nil
		dead[doc/64] |= 1 << (doc % 64)
	}
	return part{p.segment, docs, dead, p.gone + len(gone)}
}

// holders counts the documents of list i that are not gone.
func (p part) holders(i int) int {
	if p.gone == 0 {
		return int(p.df[i])
	}
	n := 0
	for c := p.list(i); c.doc != finished; c.next() {
		if p.alive(c.doc) {
			n++
		}
	}
	return n
}
