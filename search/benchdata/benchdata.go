// Package benchdata makes libraries of skills for measurements, the same ones every
// time.
//
// What belongs here: seeded texts and words. What may not come in: real skills, and
// anything that programs use.
package benchdata

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Skill is one made-up skill: a body of about 3 KB and a reference of 1 KB.
type Skill struct{ Name, Description, Body, Reference string }

// Word is the word of that rank: of the 30,000 there are, 0 is the most frequent.
func Word(rank int) string {
	return "w" + strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(rank)) + "x"
}

// Words is an endless supply of words, few frequent and many rare.
type Words struct{ zipf *rand.Zipf }

// NewWords returns the supply of a seed.
func NewWords(seed uint64) Words {
	return Words{rand.NewZipf(rand.New(rand.NewPCG(seed, 2)), 1.1, 4, 30_000)} //nolint:gosec // the same texts every time
}

// Text returns the next n words, twelve to a line.
func (w Words) Text(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(Word(int(w.zipf.Uint64()))) //nolint:gosec // at most 30,000
		if i%12 == 11 {
			b.WriteByte('\n')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Library returns the first n skills of the one library there is.
func Library(n int) []Skill {
	w := NewWords(1)
	out := make([]Skill, n)
	for i := range out {
		out[i] = Skill{fmt.Sprintf("skill-%d", i), w.Text(20), "\n# " + w.Text(4) + w.Text(440), w.Text(150)}
	}
	return out
}
