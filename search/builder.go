package search

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// builder makes a segment document by document.
type builder struct {
	opt   *Options
	an    *analyzer
	ids   map[string]uint32
	names []string
	wide  []bool // by term: a unit of an unspaced script
	lists []growing
	docs  []*document
	lens  [][fieldCount]uint32

	slot  []int32 // of a term in seen, -1 when the open document lacks it
	seen  []counted
	field Field
	lens1 [fieldCount]uint32
	mixed bool // the open document has a unit of an unspaced script
	count func(term []byte, start int) bool
}

// wideMark stands, as a word that no text holds, in every document with a unit of an
// unspaced script.
const wideMark = "\x00wide"

type counted struct {
	id uint32
	counts
}

func newBuilder(opt *Options, an *analyzer) *builder {
	b := &builder{opt: opt, an: an, ids: map[string]uint32{}}
	b.count = func(term []byte, _ int) bool {
		id, ok := b.ids[string(term)]
		if !ok {
			id = b.intern(string(term))
		}
		at := b.slot[id]
		if at < 0 {
			at = int32(len(b.seen))
			b.slot[id] = at
			b.seen = append(b.seen, counted{id: id})
		}
		b.seen[at].tf[b.field]++
		b.seen[at].mask |= 1 << b.field
		b.lens1[b.field]++
		b.mixed = b.mixed || b.wide[id]
		return true
	}
	return b
}

func (b *builder) intern(term string) uint32 {
	id := uint32(len(b.names))
	b.ids[term] = id
	b.names = append(b.names, term)
	b.wide = append(b.wide, isUnit([]byte(term)))
	b.lists = append(b.lists, growing{})
	b.slot = append(b.slot, -1)
	return id
}

// text counts one piece of a field of the open document.
func (b *builder) text(f Field, s string) {
	b.field = f
	b.an.each(s, f == Name, b.count)
}

// close ends the open document and keeps it under the next number.
func (b *builder) close(d *document) {
	doc := uint32(len(b.docs))
	if b.mixed {
		b.mark()
	}
	for i := range b.seen {
		c := &b.seen[i]
		b.lists[c.id].add(doc, &c.counts)
		b.slot[c.id] = -1
	}
	b.docs = append(b.docs, d)
	b.lens = append(b.lens, b.lens1)
	b.seen, b.lens1, b.mixed = b.seen[:0], [fieldCount]uint32{}, false
}

// mark adds wideMark to the open document, without length.
func (b *builder) mark() {
	id, ok := b.ids[wideMark]
	if !ok {
		id = b.intern(wideMark)
	}
	c := counted{id: id}
	c.mask, c.tf[Body] = 1<<Body, 1
	b.seen = append(b.seen, c)
}

// part packs what was built. The builder must not be used again.
func (b *builder) part() part {
	order := make([]uint32, len(b.names))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return strings.Compare(b.names[x], b.names[y]) })
	p := newPacker(b.lens, len(order))
	for _, id := range order {
		p.add(b.names[id], &b.lists[id])
		b.lists[id] = growing{}
	}
	return p.part(b.opt, b.docs)
}

// growing is a posting list under construction: finished blocks and an open one.
type growing struct {
	data  []byte
	gaps  []byte // of the open block
	codes []byte
	df    uint32
	next  uint32 // the lowest document number that may follow
	from  uint32 // next, when the open block began
	long  bool   // data holds whole blocks
}

func (g *growing) add(doc uint32, c *counts) {
	if g.df > 0 && g.df%blockSize == 0 {
		g.flush()
	}
	g.gaps = binary.AppendUvarint(g.gaps, uint64(doc-g.next))
	g.df++
	g.next = doc + 1
	if f := bits.TrailingZeros8(c.mask); c.mask == 1<<f {
		if n := c.tf[f]; n < 16 {
			g.codes = append(g.codes, byte(f)<<4|byte(n-1))
		} else {
			g.codes = binary.AppendUvarint(append(g.codes, byte(f)<<4|15), uint64(n-16))
		}
		return
	}
	g.codes = append(g.codes, manyFields|c.mask)
	for m := c.mask; m != 0; m &= m - 1 {
		n := uint64(c.tf[bits.TrailingZeros8(m)])
		if m == c.mask {
			n = n<<1 | uint64(c.mask>>Code)
		}
		g.codes = binary.AppendUvarint(g.codes, n)
	}
}

// flush ends a block of a list that has more.
func (g *growing) flush() {
	g.long = true
	g.data = binary.AppendUvarint(g.data, uint64(g.next-1-g.from))
	g.data = binary.AppendUvarint(g.data, uint64(len(g.gaps)+len(g.codes)))
	g.data = append(append(g.data, g.gaps...), g.codes...)
	g.gaps, g.codes, g.from = g.gaps[:0], g.codes[:0], g.next
}

// packer puts sorted terms and their lists into a segment.
type packer struct {
	s          *segment
	blob, data []byte
}

func newPacker(lens [][fieldCount]uint32, terms int) *packer {
	return &packer{s: &segment{
		lens:   lens,
		termAt: make([]uint32, 1, terms+1), listAt: make([]uint32, 1, terms+1), df: make([]uint32, 0, terms),
	}}
}

func (p *packer) add(term string, g *growing) {
	if g.long {
		g.flush()
		p.data = append(p.data, g.data...)
	} else {
		p.data = append(append(p.data, g.gaps...), g.codes...)
	}
	p.blob = append(p.blob, term...)
	p.s.termAt = append(p.s.termAt, uint32(len(p.blob)))
	p.s.listAt = append(p.s.listAt, uint32(len(p.data)))
	p.s.df = append(p.s.df, g.df)
}

func (p *packer) part(opt *Options, docs []*document) part {
	s := p.s
	s.blob, s.data = string(p.blob), string(p.data)
	for i := range s.lens {
		s.own.add(&s.lens[i], 1)
	}
	s.measure(opt)
	s.names = make([]nameKey, 0, 3*len(docs))
	for i, d := range docs {
		for name := range d.calledNames() {
			s.names = append(s.names, nameKey{hashOf(name), uint32(i)})
		}
	}
	slices.SortFunc(s.names, nameKey.compare)
	s.enroll(docs)
	return part{segment: s, docs: docs}
}

// measure finds the greatest frequency of each list.
func (s *segment) measure(opt *Options) {
	n := s.own.norms(opt, 1<<fieldCount-1)
	s.most = make([]float32, s.terms())
	var c cursor
	for i := range s.most {
		most := 0.0
		for c.open(s, i); c.doc != finished; c.next() {
			c.read()
			most = max(most, n.frequency(&c.counts, &s.lens[c.doc]))
		}
		s.most[i] = math.Nextafter32(float32(most), math.MaxFloat32)
	}
}

// enroll makes the table by which a document is found.
func (s *segment) enroll(docs []*document) {
	s.address = make(map[string]uint32, len(docs))
	for i, d := range docs {
		s.address[d.Address] = uint32(i)
	}
}

// merge makes one part of several, without the dead documents. to[i][d] is the new
// number of document d of part i.
func merge(opt *Options, parts []part) (one part, to [][]uint32) {
	docs, lens, to := inOrder(parts)
	terms := 0
	for _, p := range parts {
		terms = max(terms, p.terms())
	}
	at := make([]int, len(parts))
	out := newPacker(lens, terms)
	lists := make([]cursor, len(parts))
	for {
		term, more := lowest(parts, at)
		if !more {
			return out.part(opt, docs), to
		}
		var g growing
		for i, p := range parts {
			if lists[i].doc = finished; at[i] < p.terms() && p.term(at[i]) == term {
				lists[i].open(p.segment, at[i])
				at[i]++
			}
		}
		for first := nearestList(lists, parts, to); first >= 0; first = nearestList(lists, parts, to) {
			c := &lists[first]
			c.read()
			g.add(to[first][c.doc], &c.counts)
			c.next()
		}
		if g.df > 0 {
			out.add(term, &g)
		}
	}
}

// inOrder numbers the living documents of parts anew, in the order of equal hits.
func inOrder(parts []part) (docs []*document, lens [][fieldCount]uint32, to [][]uint32) {
	to, at := make([][]uint32, len(parts)), make([]uint32, len(parts))
	for i, p := range parts {
		to[i] = make([]uint32, len(p.docs))
	}
	for {
		first := -1
		for i, p := range parts {
			for int(at[i]) < len(p.docs) && !p.alive(at[i]) {
				at[i]++
			}
			if int(at[i]) < len(p.docs) && (first < 0 || p.docs[at[i]].ahead(parts[first].docs[at[first]]) < 0) {
				first = i
			}
		}
		if first < 0 {
			return docs, lens, to
		}
		d := at[first]
		to[first][d] = uint32(len(docs))
		docs, lens = append(docs, parts[first].docs[d]), append(lens, parts[first].lens[d])
		at[first]++
	}
}

// nearestList returns the list whose next living document has the lowest new number,
// -1 when all are finished.
func nearestList(lists []cursor, parts []part, to [][]uint32) int {
	first := -1
	for i := range lists {
		c := &lists[i]
		for c.doc != finished && !parts[i].alive(c.doc) {
			c.next()
		}
		if c.doc != finished && (first < 0 || to[i][c.doc] < to[first][lists[first].doc]) {
			first = i
		}
	}
	return first
}

// lowest returns the first of the parts' next terms.
func lowest(parts []part, at []int) (term string, more bool) {
	for i, p := range parts {
		if at[i] < p.terms() && (!more || p.term(at[i]) < term) {
			term, more = p.term(at[i]), true
		}
	}
	return term, more
}
