package route

import "sort"

// automaton finds every pattern of a set in one pass over a text (Aho–Corasick). Its
// nodes are numbered breadth first, so that the children of a node are neighbours:
// node v has those from first[v] to first[v+1], sorted by label. Node 0 is the root.
type automaton struct {
	first []int32
	label []byte
	fail  []int32 // the longest proper suffix that is a node
	out   []int32 // pattern that ends here, or -1
	link  []int32 // the nearest node along fail with an out; 0 for none
	root  [256]int32
	size  []int32 // bytes of each pattern
}

// newAutomaton builds the automaton of distinct, sorted, non-empty patterns; a
// pattern's number is its place in the list.
func newAutomaton(patterns []string) *automaton {
	m := &automaton{size: make([]int32, len(patterns))}
	for i, p := range patterns {
		m.size[i] = int32(len(p))
	}
	// A node stands for patterns[lo:hi], which share their first depth bytes.
	type job struct{ lo, hi, depth int32 }
	jobs := []job{{0, int32(len(patterns)), 0}}
	m.push(0, 0)
	for v := int32(0); int(v) < len(jobs); v++ {
		j := jobs[v]
		jobs[v] = job{}
		m.first = append(m.first, int32(len(jobs)))
		if j.lo < j.hi && m.size[j.lo] == j.depth {
			m.out[v] = j.lo
			j.lo++
		}
		for lo := j.lo; lo < j.hi; {
			c := patterns[lo][j.depth]
			n := sort.Search(int(j.hi-lo), func(k int) bool { return patterns[lo+int32(k)][j.depth] > c })
			child := int32(len(jobs))
			jobs = append(jobs, job{lo, lo + int32(n), j.depth + 1})
			fail := int32(0)
			if v == 0 {
				m.root[c] = child
			} else {
				fail = m.step(m.fail[v], c)
			}
			m.push(c, fail)
			lo += int32(n)
		}
	}
	m.first = append(m.first, int32(len(jobs)))
	m.links()
	return m
}

func (m *automaton) push(c byte, fail int32) {
	m.label = append(m.label, c)
	m.fail = append(m.fail, fail)
	m.out = append(m.out, -1)
}

// links is a pass of its own: what ends at a node is known when its turn comes.
func (m *automaton) links() {
	m.link = make([]int32, len(m.label))
	for v := 1; v < len(m.link); v++ {
		if f := m.fail[v]; m.out[f] >= 0 {
			m.link[v] = f
		} else {
			m.link[v] = m.link[f]
		}
	}
}

// step returns the node of the longest suffix that is one after reading c at v.
func (m *automaton) step(v int32, c byte) int32 {
	for v != 0 {
		lo, hi := m.first[v], m.first[v+1]
		for lo < hi {
			mid := (lo + hi) / 2
			switch l := m.label[mid]; {
			case l == c:
				return mid
			case l < c:
				lo = mid + 1
			default:
				hi = mid
			}
		}
		v = m.fail[v]
	}
	return m.root[c]
}

// matches calls found for every occurrence of every pattern, by its end, longer ones
// first; found ends the pass by returning false.
func (m *automaton) matches(text string, found func(pattern int32, from, to int) bool) {
	v := int32(0)
	for i := range len(text) {
		v = m.step(v, text[i])
		u := v
		if m.out[u] < 0 {
			u = m.link[u]
		}
		for ; u != 0; u = m.link[u] {
			p := m.out[u]
			if !found(p, i+1-int(m.size[p]), i+1) {
				return
			}
		}
	}
}
