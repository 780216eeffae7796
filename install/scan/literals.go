package scan

import (
	"regexp/syntax"
	"strings"
)

const (
	goodLiteral  = 3  // bytes; shorter ones stand on many lines
	leastLiteral = 2  // bytes; shorter ones stand on every line
	mostLiterals = 96 // of one list
)

// needed returns lists of literals: a text that matches the expression holds at least
// one of each list. No list means that nothing is known. Size is that of the expression,
// with its repetitions written out: what a byte costs grows with it.
func needed(expr string) (lists [][]string, size int, err error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	tree = tree.Simplify()
	exact, lists := literals(tree)
	return useful(append(lists, exact)), sizeOf(tree), nil
}

func sizeOf(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += sizeOf(sub)
	}
	return n
}

// useful keeps the lists whose every literal is long enough: good ones, or else those
// that are better than none.
func useful(lists [][]string) (kept [][]string) {
	for _, least := range []int{goodLiteral, leastLiteral} {
		for _, l := range lists {
			if shortest(l) >= least {
				kept = append(kept, l)
			}
		}
		if len(kept) > 0 {
			break
		}
	}
	return kept
}

func shortest(list []string) int {
	if len(list) == 0 {
		return 0
	}
	n := len(list[0])
	for _, s := range list {
		n = min(n, len(s))
	}
	return n
}

// literals returns all that the expression matches, where that is a short list, and
// lists of which one must be in what it matches.
func literals(re *syntax.Regexp) (exact []string, lists [][]string) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}, nil
	case syntax.OpCharClass:
		return letters(re.Rune), nil
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}, nil
	case syntax.OpCapture:
		return literals(re.Sub[0])
	case syntax.OpPlus:
		exact, lists = literals(re.Sub[0])
		return nil, append(lists, exact)
	case syntax.OpQuest:
		if exact, _ = literals(re.Sub[0]); exact != nil {
			return append([]string{""}, exact...), nil
		}
	case syntax.OpConcat:
		return sequence(re.Sub)
	case syntax.OpAlternate:
		return choice(re.Sub)
	}
	return nil, nil
}

// letters spells out a small class.
func letters(ranges []rune) (list []string) {
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] > 3 || len(list) > 6 {
			return nil
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			list = append(list, strings.ToLower(string(r)))
		}
	}
	return list
}

func sequence(subs []*syntax.Regexp) (exact []string, lists [][]string) {
	whole := true
	run := []string{""}
	for _, sub := range subs {
		e, l := literals(sub)
		lists = append(lists, l...)
		if e != nil && len(run)*len(e) <= mostLiterals {
			run = product(run, e)
			continue
		}
		whole = false
		run, lists = next(run, e, lists, sub)
	}
	if whole {
		return run, lists
	}
	return nil, append(lists, run)
}

// next ends a run of literals at a part that is no short list. One that repeats itself
// still begins and ends as a list says.
func next(run, e []string, lists [][]string, sub *syntax.Regexp) ([]string, [][]string) {
	if e != nil {
		return e, append(lists, run)
	}
	if sub.Op == syntax.OpPlus {
		if once, _ := literals(sub.Sub[0]); once != nil && len(run)*len(once) <= mostLiterals {
			return once, append(lists, product(run, once))
		}
	}
	return []string{""}, append(lists, run)
}

func product(a, b []string) []string {
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out
}

func choice(subs []*syntax.Regexp) ([]string, [][]string) {
	var exact, one []string
	spelt, known := true, true
	for _, sub := range subs {
		e, l := literals(sub)
		spelt = spelt && e != nil
		exact = append(exact, e...)
		best := e
		for _, list := range l {
			if shortest(list) > shortest(best) {
				best = list
			}
		}
		known = known && shortest(best) >= leastLiteral
		one = append(one, best...)
	}
	switch {
	case spelt && len(exact) <= mostLiterals:
		return exact, nil
	case known:
		return nil, [][]string{one}
	}
	return nil, nil
}
