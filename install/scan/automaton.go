package scan

// automaton finds all of many literals in one pass over a text (after Aho and
// Corasick), with one table look-up a byte. It is immutable once built.
type automaton struct {
	class   [256]uint8 // of a byte; 0 = in no literal
	classes int
	next    []int32   // state*classes + class → state
	out     [][]int32 // literals that end in a state, those of its suffixes too
}

func newAutomaton(literals []string) *automaton {
	a := &automaton{classes: 1}
	for _, s := range literals {
		for i := 0; i < len(s); i++ {
			if a.class[s[i]] == 0 && a.classes < 255 {
				a.class[s[i]] = uint8(a.classes)
				a.classes++
			}
		}
	}
	a.grow()
	for id, s := range literals {
		state := int32(0)
		for i := 0; i < len(s); i++ {
			at := int(state)*a.classes + int(a.class[s[i]])
			if a.next[at] == 0 {
				a.next[at] = a.grow()
			}
			state = a.next[at]
		}
		a.out[state] = append(a.out[state], int32(id))
	}
	a.complete()
	return a
}

// grow adds a state.
func (a *automaton) grow() int32 {
	a.next = append(a.next, make([]int32, a.classes)...)
	a.out = append(a.out, nil)
	return int32(len(a.out) - 1)
}

// complete turns the tree of literals into an automaton that never goes back.
func (a *automaton) complete() {
	fail := make([]int32, len(a.out))
	var queue []int32
	for c := 0; c < a.classes; c++ {
		if s := a.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for c := 0; c < a.classes; c++ {
			at := int(s)*a.classes + c
			back := a.next[int(fail[s])*a.classes+c]
			if to := a.next[at]; to != 0 {
				fail[to] = back
				a.out[to] = append(a.out[to], a.out[back]...)
				queue = append(queue, to)
			} else {
				a.next[at] = back
			}
		}
	}
}

// each calls found with every literal that stands in s, as often as it does.
func (a *automaton) each(s string, found func(literal int32)) {
	state := int32(0)
	for i := 0; i < len(s); i++ {
		state = a.next[int(state)*a.classes+int(a.class[s[i]])]
		for _, id := range a.out[state] {
			found(id)
		}
	}
}
