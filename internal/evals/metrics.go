package evals

import (
	"math"
	"slices"
)

// ranking is what one query got back.
type ranking struct {
	query
	order  []string // addresses, best first, auxiliary ones taken out
	top    int64    // score of the first, auxiliary or not
	equiv  []string
	winner string // of the clear-winner rule; "" = abstained
}

// rank returns the place of the first of want in order, from 1; 0 when none is there.
func rank(order []string, want ...[]string) int {
	for i, a := range order {
		for _, list := range want {
			if slices.Contains(list, a) {
				return i + 1
			}
		}
	}
	return 0
}

// figures measures the rankings that have a gold.
func figures(list []ranking, lenient bool) Figures {
	var f Figures
	for _, r := range list {
		if r.negative() {
			continue
		}
		f.N++
		equiv := r.equiv
		if !lenient {
			equiv = nil
		}
		at := rank(r.order, r.Gold, equiv)
		f.Hit1 += count(at == 1)
		f.Hit5 += count(at > 0 && at <= 5)
		f.Hit50 += count(at > 0 && at <= 50)
		if at > 0 && at <= 10 {
			f.MRR10 += 1 / float64(at)
		}
		found := 0
		for _, g := range r.Gold {
			if i := slices.Index(r.order, g); i >= 0 && i < 10 {
				found++
			}
		}
		f.Recall10 += float64(found) / float64(len(r.Gold))
	}
	if f.N > 0 {
		for _, v := range []*float64{&f.Hit1, &f.Hit5, &f.MRR10, &f.Recall10, &f.Hit50} {
			*v = share(*v, f.N)
		}
	}
	return f
}

func count(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// share is part/n to four places, so that equal counts print alike everywhere.
func share(part float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return math.Round(part/float64(n)*1e4) / 1e4
}

// auroc is the chance that a positive's score is above a negative's, ties half.
func auroc(positive, negative []int64) float64 {
	if len(positive) == 0 || len(negative) == 0 {
		return 0
	}
	won := 0.0
	for _, p := range positive {
		for _, n := range negative {
			switch {
			case p > n:
				won++
			case p == n:
				won += 0.5
			}
		}
	}
	return share(won, len(positive)*len(negative))
}

// percentile returns the value below which p of 100 stand; the list is sorted.
func percentile(sorted []int64, p int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}
