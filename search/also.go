package search

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed also.txt
var alsoFile string

// alsoWords is also.txt: for a word of a request the words that skills use for it.
type alsoWords struct {
	terms map[string][]string // by term
	units map[string][]string // by a run of characters of an unspaced script
	long  int                 // characters of the longest such run
}

// alsoLines is the table as it is written, read once.
var alsoLines = sync.OnceValue(func() (lines [][]string) {
	for line := range strings.Lines(alsoFile) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			lines = append(lines, words)
		}
	}
	return lines
})

// readAlso cuts the table's words as texts are cut.
func (a *analyzer) readAlso() alsoWords {
	t := alsoWords{terms: map[string][]string{}, units: map[string][]string{}}
	for _, words := range alsoLines() {
		var terms []string
		for _, w := range words[1:] {
			a.each(w, false, func(term []byte, _ int) bool {
				terms = append(terms, string(term))
				return true
			})
		}
		if isUnit([]byte(words[0])) {
			key := foldHan(words[0])
			t.units[key] = append(t.units[key], terms...)
			t.long = max(t.long, utf8.RuneCountInString(key))
			continue
		}
		a.each(words[0], false, func(term []byte, _ int) bool {
			t.terms[string(term)] = append(t.terms[string(term)], terms...)
			return false
		})
	}
	return t
}

// also adds to the question what its words mean, in the words of skills.
func (a *analyzer) also(out *question, text string) {
	have := make(map[string]bool, len(out.terms))
	for i := range out.terms {
		have[out.terms[i].term] = true
	}
	add := func(terms []string, weight float64) {
		for _, t := range terms {
			if !have[t] {
				have[t] = true
				out.terms = append(out.terms, asked{term: t, count: 1, also: weight})
			}
		}
	}
	t := a.table()
	for _, q := range out.terms {
		add(t.terms[q.term], alsoWeight)
	}
	if out.units > 0 {
		t.eachRun([]rune(foldHan(text)), func(terms []string) { add(terms, translationWeight) })
	}
}

// eachRun finds the longest words of the table in text, from left to right.
func (t *alsoWords) eachRun(text []rune, add func([]string)) {
	for len(text) > 0 {
		n := 1
		if text[0] > 0x2E80 {
			for k := min(t.long, len(text)); k > 1; k-- {
				if terms, ok := t.units[string(text[:k])]; ok {
					add(terms)
					n = k
					break
				}
			}
		}
		text = text[n:]
	}
}
