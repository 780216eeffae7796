package search

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
	"sync"
)

//go:embed common.txt
var commonFile string

const (
	// usual is how many skills of the usual kind a scope is thought to hold beside its
	// own: in a library of six, every word looks rare.
	usual = 1000
	// unusual is the share of usual skills that hold a word which is not in common.txt.
	unusual = 0.0015
)

// commonWords returns the share of usual skills that hold each common word; nobody
// changes the map.
var commonWords = sync.OnceValue(func() map[string]float64 {
	m := make(map[string]float64, 4096)
	for line := range strings.Lines(commonFile) {
		fields := strings.Fields(line)
		pct, err := strconv.Atoi(fields[0])
		if err != nil {
			continue // a comment
		}
		for _, w := range fields[1:] {
			m[w] = float64(pct) / 100
		}
	}
	return m
})

// rarity is a word's idf among the scope's skills and the usual ones, as a share of
// the greatest: 1 for a word of one skill alone. Unlike idf it means the same in a
// small library and in a large one, so that a threshold can be set on it.
func (an *analyzer) rarity(term string, n, live int) float64 {
	p, ok := an.common[term]
	if !ok {
		p = unusual
	}
	all := float64(live + usual)
	idf := func(n float64) float64 { return math.Log(1 + float64((all-n+0.5)/(n+0.5))) }
	return min(1, float64(idf(float64(n)+float64(usual*p))/idf(1+float64(usual*unusual))))
}
