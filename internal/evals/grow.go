package evals

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/deftskills/deft/registry"
)

const (
	// copyMark stands in the address of a near-copy between that of its original and a
	// number.
	copyMark = "~"
	// maxGrown is how much of a body a made-up skill takes over.
	maxGrown = 4 << 10
	// usualShare is the share of skills that hold a word which foreign ones keep.
	usualShare = 0.03
	// trades is how many vocabularies the foreign skills are written in.
	trades = 400
)

// grow fills the corpus up to size skills, the same ones every time: by turns a
// near-copy of a random skill, one word in twelve left out, and a foreign one, a
// skill's text whose own words are replaced by words that no real one has. The usual
// words, headings and code of real texts stay, so that they are as frequent in the
// grown library as in the real one.
func (c *corpus) grow(size int) {
	origins := slices.Clone(c.snap.Winners)
	rng := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // the same library every time
	usual := c.usual(origins)
	for n := 0; len(c.snap.Winners) < size && len(origins) > 0; n++ {
		rec := origins[rng.IntN(len(origins))]
		raw := string(c.files[rec.Location])
		about, body := rec.Skill.Description, raw[rec.Skill.Body.Start:]
		body = body[:min(len(body), maxGrown)]
		dir := fmt.Sprintf("%s%s%d", path.Dir(rec.Location), copyMark, n)
		name := fmt.Sprintf("%s-%d", rec.Skill.Name, n)
		if n%2 == 0 {
			about, body = thinned(about, rng), thinned(body, rng)
		} else {
			about, body = foreign(about, n, usual), foreign(body, n, usual)
			name = fmt.Sprintf("%s-%d", foreign(rec.Skill.Name, n, usual), n)
			dir = "foreign/" + name
		}
		quoted, _ := json.Marshal(about) //nolint:errcheck // a string
		c.files[dir+"/SKILL.md"] = fmt.Appendf(nil, "---\nname: %s\ndescription: %s\n---\n%s", name, quoted, body)
		c.add(dir + "/SKILL.md")
	}
	slices.SortFunc(c.snap.Winners, func(a, b *registry.Record) int { return strings.Compare(a.Address, b.Address) })
}

// usual returns the words of at least usualShare of the skills.
func (c *corpus) usual(recs []*registry.Record) map[string]bool {
	in := map[string]int{}
	for _, rec := range recs {
		seen := map[string]bool{}
		eachWord(string(c.files[rec.Location]), func(word string, is bool) {
			if word = strings.ToLower(word); is && !seen[word] {
				seen[word] = true
				in[word]++
			}
		})
	}
	usual := map[string]bool{}
	for word, n := range in {
		usual[word] = float64(n) >= usualShare*float64(len(recs))
	}
	return usual
}

// eachWord cuts text into words, letters of any script, and what is between them.
func eachWord(text string, yield func(part string, word bool)) {
	letter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }
	for i := 0; i < len(text); {
		j := i + 1
		for j < len(text) && letter(text[j]) == letter(text[i]) {
			j++
		}
		yield(text[i:j], letter(text[i]))
		i = j
	}
}

// thinned leaves out one word in twelve.
func thinned(text string, rng *rand.Rand) string {
	var b strings.Builder
	for word := range strings.SplitAfterSeq(text, " ") {
		if rng.IntN(12) > 0 {
			b.WriteString(word)
		}
	}
	return b.String()
}

// foreign replaces the words that are not usual by made-up ones, the same word by the
// same within a trade.
func foreign(text string, n int, usual map[string]bool) string {
	var b strings.Builder
	eachWord(text, func(part string, word bool) {
		lower := strings.ToLower(part)
		if !word || len(part) < 4 || usual[lower] {
			b.WriteString(part)
			return
		}
		h := fnv.New32a()
		_, _ = fmt.Fprintf(h, "%d %s", n%trades, lower)
		b.WriteString(syllables(h.Sum32()))
	})
	return b.String()
}

// syllables spells a number as a word of six letters.
func syllables(n uint32) string {
	b := make([]byte, 0, 6)
	for range 3 {
		b = append(b, "bdfgklmnprstvz"[n%14], "aeiou"[n/14%5])
		n /= 70
	}
	return string(b)
}

// origin returns the address that a near-copy is a copy of.
func origin(address string) string {
	at, _, _ := strings.Cut(address, copyMark)
	return at
}
