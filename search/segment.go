package search

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
)

// A segment holds the postings of a batch of documents and never changes. Terms are
// sorted bytewise in one blob; each has a list of documents in ascending order, as
// uvarints: the distance to the document before, a set of fields, the count in each.
type segment struct {
	docs    []*document
	lens    [][fieldCount]uint32 // tokens of each field
	blob    []byte               // every term, one after the other
	termAt  []uint32             // where term i begins in blob; one more than terms
	df      []uint32             // documents that hold term i
	data    []byte               // every posting list
	listAt  []uint32             // where term i's list begins in data; one more than terms
	address map[string]uint32
}

func (s *segment) terms() int { return len(s.df) }

func (s *segment) term(i int) []byte { return s.blob[s.termAt[i]:s.termAt[i+1]] }

// find returns the first term that is not below t, and whether it is t.
func (s *segment) find(t string) (int, bool) {
	i := sort.Search(s.terms(), func(i int) bool { return string(s.term(i)) >= t })
	return i, i < s.terms() && string(s.term(i)) == t
}

// cursor walks one posting list.
type cursor struct {
	data []byte
	doc  uint32
	counts
}

func (s *segment) list(i int) cursor {
	return cursor{data: s.data[s.listAt[i]:s.listAt[i+1]], doc: ^uint32(0)}
}

// next moves to the next document; the counts of fields outside mask are stale.
func (c *cursor) next() bool {
	if len(c.data) == 0 {
		return false
	}
	d := c.data
	gap, n := uvarint(d)
	c.doc += gap
	c.mask = d[n]
	d = d[n+1:]
	for m := c.mask; m != 0; m &= m - 1 {
		f := bits.TrailingZeros8(m)
		if d[0] < 0x80 {
			c.tf[f] = uint32(d[0])
			d = d[1:]
			continue
		}
		c.tf[f], n = uvarint(d)
		d = d[n:]
	}
	c.data = d
	return true
}

func uvarint(b []byte) (uint32, int) {
	if b[0] < 0x80 {
		return uint32(b[0]), 1
	}
	v, n := binary.Uvarint(b)
	return uint32(v), n
}

// builder makes a segment document by document.
type builder struct {
	an    *analyzer
	ids   map[string]uint32
	names []string
	lists []growing
	docs  []*document
	lens  [][fieldCount]uint32

	slot  []int32 // of a term in seen, -1 when the open document lacks it
	seen  []counted
	field Field
	lens1 [fieldCount]uint32
	count func(term []byte, start int) bool
}

// growing is a posting list under construction. next is the lowest document number
// that may follow.
type growing struct {
	data []byte
	df   uint32
	next uint32
}

type counted struct {
	id uint32
	tf [fieldCount]uint32
}

func newBuilder(an *analyzer) *builder {
	b := &builder{an: an, ids: map[string]uint32{}}
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
		b.lens1[b.field]++
		return true
	}
	return b
}

func (b *builder) intern(term string) uint32 {
	id := uint32(len(b.names))
	b.ids[term] = id
	b.names = append(b.names, term)
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
	for i := range b.seen {
		c := &b.seen[i]
		b.lists[c.id].add(doc, &c.tf)
		b.slot[c.id] = -1
	}
	b.docs = append(b.docs, d)
	b.lens = append(b.lens, b.lens1)
	b.seen, b.lens1 = b.seen[:0], [fieldCount]uint32{}
}

func (g *growing) add(doc uint32, tf *[fieldCount]uint32) {
	g.data = binary.AppendUvarint(g.data, uint64(doc-g.next+1))
	mask := uint8(0)
	for f, n := range tf {
		if n > 0 {
			mask |= 1 << f
		}
	}
	g.data = append(g.data, mask)
	for _, n := range tf {
		if n > 0 {
			g.data = binary.AppendUvarint(g.data, uint64(n))
		}
	}
	g.df++
	g.next = doc + 1
}

// segment packs what was built. The builder must not be used again.
func (b *builder) segment() *segment {
	order := make([]uint32, len(b.names))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int {
		if b.names[x] < b.names[y] {
			return -1
		}
		return 1
	})
	p := newPacker(b.docs, b.lens, len(order))
	for _, id := range order {
		g := &b.lists[id]
		p.add(b.names[id], g.df, g.data)
		g.data = nil
	}
	return p.s
}

// packer puts sorted terms and their lists into a segment.
type packer struct{ s *segment }

func newPacker(docs []*document, lens [][fieldCount]uint32, terms int) packer {
	s := &segment{
		docs: docs, lens: lens, address: make(map[string]uint32, len(docs)),
		termAt: make([]uint32, 1, terms+1), listAt: make([]uint32, 1, terms+1), df: make([]uint32, 0, terms),
	}
	for i, d := range docs {
		s.address[d.Address] = uint32(i)
	}
	return packer{s}
}

func (p packer) add(term string, df uint32, list []byte) {
	s := p.s
	s.blob = append(s.blob, term...)
	s.data = append(s.data, list...)
	s.termAt = append(s.termAt, uint32(len(s.blob)))
	s.listAt = append(s.listAt, uint32(len(s.data)))
	s.df = append(s.df, df)
}

// merge makes one segment of several, without the dead documents.
func merge(parts []part) *segment {
	var docs []*document
	var lens [][fieldCount]uint32
	to := make([][]uint32, len(parts)) // new number of each document
	for i, p := range parts {
		to[i] = make([]uint32, len(p.docs))
		for d := range p.docs {
			if p.alive(uint32(d)) {
				to[i][d] = uint32(len(docs))
				docs, lens = append(docs, p.docs[d]), append(lens, p.lens[d])
			}
		}
	}
	at := make([]int, len(parts))
	out := newPacker(docs, lens, parts[0].terms())
	for {
		term, any := "", false
		for i, p := range parts {
			if at[i] < p.terms() && (!any || string(p.term(at[i])) < term) {
				term, any = string(p.term(at[i])), true
			}
		}
		if !any {
			return out.s
		}
		var g growing
		for i, p := range parts {
			if at[i] == p.terms() || string(p.term(at[i])) != term {
				continue
			}
			for c := p.list(at[i]); c.next(); c.tf = [fieldCount]uint32{} {
				if p.alive(c.doc) {
					g.add(to[i][c.doc], &c.tf)
				}
			}
			at[i]++
		}
		if g.df > 0 {
			out.add(term, g.df, g.data)
		}
	}
}

// part is a segment with the documents of it that are gone. The set is copied on
// change, so a part is as immutable as its segment.
type part struct {
	*segment
	dead []uint64 // bit per document; nil: all alive
	gone int
}

func (p part) alive(doc uint32) bool {
	return p.dead == nil || p.dead[doc/64]&(1<<(doc%64)) == 0
}

// without returns p with the documents marked dead.
func (p part) without(docs []uint32) part {
	if len(docs) == 0 {
		return p
	}
	dead := make([]uint64, (len(p.docs)+63)/64)
	copy(dead, p.dead)
	for _, d := range docs {
		dead[d/64] |= 1 << (d % 64)
	}
	p.dead = dead
	p.gone += len(docs)
	return p
}
