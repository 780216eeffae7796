// Package packed writes values as bytes and reads them back, by one walk over the
// value for both directions: a field that is written is read, in the same order.
//
// What belongs here: the forms of numbers, texts, lists and tables in deft's caches.
// What may not come in: what is cached, versions and checksums of files.
package packed

import (
	"encoding/binary"
	"maps"
	"slices"
)

// Codec walks a value in one direction. Reading, texts are cut out of the input,
// which they keep alive, and damaged input sets Bad instead of a panic.
type Codec struct {
	Bad bool // the input was not written by a Codec; what was read is worthless

	in      string
	out     []byte
	writing bool
}

// Writer returns a Codec that appends to dst.
func Writer(dst []byte) Codec { return Codec{out: dst, writing: true} }

// Reader returns a Codec that reads src.
func Reader(src string) Codec { return Codec{in: src} }

// Bytes returns what was written, after dst.
func (c *Codec) Bytes() []byte { return c.out }

// Rest returns the input that was not read.
func (c *Codec) Rest() string { return c.in }

// Reading reports the direction.
func (c *Codec) Reading() bool { return !c.writing }

// Number walks an integer; small ones take a byte.
func (c *Codec) Number(n *int64) {
	if c.writing {
		c.out = binary.AppendVarint(c.out, *n)
		return
	}
	var u uint64
	for i := 0; ; i++ {
		if i == len(c.in) || i == binary.MaxVarintLen64 {
			c.Bad, c.in, *n = true, "", 0
			return
		}
		b := c.in[i]
		u |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			c.in = c.in[i+1:]
			break
		}
	}
	*n = int64(u>>1) ^ -int64(u&1)
}

// Integer walks an int.
func (c *Codec) Integer(n *int) {
	wide := int64(*n)
	c.Number(&wide)
	*n = int(wide)
}

// count is the length of something and more; reading, the length is no more than the
// bytes that are left, since each element takes one at least.
func (c *Codec) count(n, more int) int {
	c.Integer(&n)
	if n < 0 || (!c.writing && n-more > len(c.in)) {
		c.Bad, c.in, n = true, "", 0
	}
	return n
}

// Flag walks one bool.
func (c *Codec) Flag(b *bool) { c.Flags(b) }

// Flags walks at most 60 bools in one number.
func (c *Codec) Flags(bits ...*bool) {
	var n int64
	for i, b := range bits {
		if *b {
			n |= 1 << i
		}
	}
	c.Number(&n)
	for i, b := range bits {
		*b = n&(1<<i) != 0
	}
}

// Text walks a text.
func (c *Codec) Text(s *string) {
	n := c.count(len(*s), 0)
	if c.writing {
		c.out = append(c.out, *s...)
		return
	}
	*s, c.in = c.in[:n], c.in[n:]
}

// Like walks a text that mostly equals another one, which then costs one byte.
func (c *Codec) Like(s *string, other string) {
	same := *s == other
	if c.Flag(&same); same {
		*s = other
		return
	}
	c.Text(s)
}

// Sparse walks at most 60 texts most of which are empty: one number says which are not.
func (c *Codec) Sparse(texts ...*string) {
	var set int64
	for i, s := range texts {
		if *s != "" {
			set |= 1 << i
		}
	}
	c.Number(&set)
	for i := 0; set != 0 && i < len(texts); i, set = i+1, set>>1 {
		if set&1 != 0 {
			c.Text(texts[i])
		}
	}
}

// SparseTexts walks at most 60 lists of texts most of which are nil.
func (c *Codec) SparseTexts(lists ...*[]string) {
	var set int64
	for i, l := range lists {
		if *l != nil {
			set |= 1 << i
		}
	}
	c.Number(&set)
	for i := 0; set != 0 && i < len(lists); i, set = i+1, set>>1 {
		if set&1 != 0 {
			c.Texts(lists[i])
		}
	}
}

// Words walks integers that are mostly large, each in eight bytes.
func (c *Codec) Words(words ...*int64) {
	if c.writing {
		for _, n := range words {
			c.out = binary.LittleEndian.AppendUint64(c.out, uint64(*n))
		}
		return
	}
	if len(c.in) < 8*len(words) {
		c.Bad, c.in = true, ""
		return
	}
	for i, n := range words {
		w := c.in[8*i : 8*i+8]
		*n = int64(uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56)
	}
	c.in = c.in[8*len(words):]
}

// Texts walks a list of texts.
func (c *Codec) Texts(l *[]string) { List(c, l, c.Text) }

// List walks a list, each element by each; nil and empty are kept apart.
func List[T any](c *Codec, l *[]T, each func(*T)) {
	n := len(*l) + 1
	if *l == nil {
		n = 0
	}
	n = c.count(n, 1)
	if !c.writing {
		if n == 0 {
			return
		}
		*l = make([]T, n-1)
	}
	for i := range *l {
		if c.Bad {
			return
		}
		each(&(*l)[i])
	}
}

// Table walks a map in the order of its keys; nil and empty are kept apart.
func Table[T any](c *Codec, m *map[string]T, each func(*T)) {
	var keys []string
	if *m != nil {
		keys = slices.AppendSeq([]string{}, maps.Keys(*m))
		slices.Sort(keys)
	}
	c.Texts(&keys)
	if !c.writing && keys != nil {
		*m = make(map[string]T, len(keys))
	}
	for _, k := range keys {
		v := (*m)[k]
		each(&v)
		(*m)[k] = v
	}
}

// Optional walks what a pointer leads to, if anything.
func Optional[T any](c *Codec, p **T, each func(*T)) {
	set := *p != nil
	if c.Flag(&set); !set {
		return
	}
	if *p == nil {
		*p = new(T)
	}
	each(*p)
}
