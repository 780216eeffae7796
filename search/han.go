package search

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed han.txt
var hanFile string

// simplified returns the traditional characters of common use, each with the
// simplified one that takes its place; nobody changes the map.
var simplified = sync.OnceValue(func() map[rune]rune {
	m := make(map[rune]rune, 1024)
	for line := range strings.Lines(hanFile) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, pair := range strings.Fields(line) {
			from, n := utf8.DecodeRuneInString(pair)
			to, _ := utf8.DecodeRuneInString(pair[n:])
			m[from] = to
		}
	}
	return m
})

// foldHan returns s in simplified characters, of the same length in bytes.
func foldHan(s string) string {
	m := simplified()
	return strings.Map(func(r rune) rune {
		if to, ok := m[r]; ok {
			return to
		}
		return r
	}, s)
}
