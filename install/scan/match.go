package scan

import "slices"

const (
	maxHits    = 4096 // of one pattern in one text; beyond, the file counts as not read whole
	maxPerRule = 8    // findings of one rule in one file that are told
	maxPerText = 64   // of one rule in one text that are looked at to choose them
	// maxWork bounds what patterns may look at in one file: bytes, each as often as the size
	// of the pattern says. It is about 80 ms, and no real skill of 2,434 needs it.
	maxWork = 1600 << 10
)

// hit is where a pattern matched.
type hit struct{ line, from, to int }

// matches are the hits of every pattern over the lines of one text.
type matches struct {
	set   *ruleSet
	seen  []int32 // by literal: the stamp of the line that has it
	stamp int32
	tried []int // patterns of one line, kept to save its memory
	lines []line
	hits  map[int][]hit
	// taught is set once the lines are marked.
	taught bool
}

// run finds all patterns in the lines. It reports false when a bound ended it early.
func (m *matches) run(work *int) bool {
	if m.hits == nil {
		m.hits = map[int][]hit{}
	}
	clear(m.hits)
	whole := true
	var found []int32
	for i := range m.lines {
		m.stamp++
		found = found[:0]
		m.set.auto.each(m.lines[i].low, func(id int32) {
			if m.seen[id] != m.stamp {
				m.seen[id] = m.stamp
				found = append(found, id)
			}
		})
		if len(found) > 0 && !m.line(i, found, work) {
			whole = false
		}
	}
	return whole
}

// line tries the patterns of which the line holds the literals.
func (m *matches) line(i int, found []int32, work *int) bool {
	l, whole := &m.lines[i], true
	tried := m.tried[:0]
	for _, id := range found {
		for _, p := range m.set.holders[id] {
			if slices.Contains(tried, p) {
				continue
			}
			tried = append(tried, p)
			if m.set.patterns[p].where&l.where != 0 && !slices.ContainsFunc(m.set.patterns[p].need, func(list []int) bool {
				return !slices.ContainsFunc(list, func(id int) bool { return m.seen[id] == m.stamp })
			}) {
				if len(m.hits[p]) >= maxHits || *work <= 0 {
					whole = false
					continue
				}
				*work -= (len(l.low) + 16) * m.set.patterns[p].weight / 128
				if at := m.set.patterns[p].expr().FindStringIndex(l.low); at != nil {
					m.hits[p] = append(m.hits[p], hit{i, at[0], at[1]})
				}
			}
		}
	}
	m.tried = tried
	return whole
}

// near reports whether one of the patterns hit a line that the rule looks at, within n
// lines of line at; n < 0 is anywhere.
func (m *matches) near(r *rule, p, at, n int) bool {
	no, hits := m.lines[at].no, m.hits[p]
	if n >= 0 {
		first, _ := slices.BinarySearchFunc(hits, no-n, func(h hit, no int) int { return m.lines[h.line].no - no })
		hits = hits[first:]
	}
	for _, h := range hits {
		l := &m.lines[h.line]
		if n >= 0 && l.no > no+n {
			break
		}
		if r.speaksOf(l) {
			return true
		}
	}
	return false
}

// findings applies the rules to the hits.
func (m *matches) findings(f *file, form string) []Finding {
	if len(m.hits) == 0 {
		return nil
	}
	var out []Finding
	for i := range m.set.rules {
		r := &m.set.rules[i]
		if form != "" && len(r.Decode) > 0 && !slices.Contains(r.Decode, form) {
			continue
		}
		out = append(out, m.rule(r, f, form)...)
	}
	return out
}

func (m *matches) rule(r *rule, f *file, form string) (out []Finding) {
	var anchors []hit
	for _, p := range r.any {
		anchors = append(anchors, m.hits[p]...)
	}
	slices.SortFunc(anchors, func(a, b hit) int { return a.line - b.line })
	last := 0
	for _, h := range anchors {
		l := &m.lines[h.line]
		if len(out) == maxPerText {
			break
		}
		if l.no == last || !r.speaksOf(l) || !m.holds(r, h.line) {
			continue
		}
		last = l.no
		lowered := slices.ContainsFunc(r.lowers, func(p int) bool { return m.near(r, p, h.line, max(r.Near, 0)) })
		out = append(out, Finding{
			Rule: r.ID, Class: r.Class, Level: m.level(r, l, lowered && (form == "" || form == "joined")), File: f.name,
			Line: l.no, Column: l.column(h.from), Evidence: shown(l, h, form), Why: r.Why, AST: r.AST,
		})
	}
	return out
}

// level returns the level of a rule's finding on the line.
func (m *matches) level(r *rule, l *line, lowered bool) Level {
	level := r.level(l, lowered)
	if level != Block || r.Firm || l.where&(inProse|inCode|inQuote) == 0 {
		return level
	}
	if !m.taught {
		teach(m.lines)
		m.taught = true
	}
	if l.taught {
		return level.lowered()
	}
	return level
}

// holds checks the conditions of a rule beside its first.
func (m *matches) holds(r *rule, at int) bool {
	for _, p := range r.all {
		if !m.near(r, p, at, r.Near) {
			return false
		}
	}
	for _, p := range r.not {
		if m.near(r, p, at, r.Near) {
			return false
		}
	}
	for _, p := range r.except {
		if m.near(r, p, at, 0) {
			return false
		}
	}
	return true
}

// shown returns the part of the line about a match, for people.
func shown(l *line, h hit, form string) string {
	from := max(0, l.column(h.from)-1-l.start)
	from = min(from, len(l.raw))
	to := min(len(l.raw), from+max(h.to-h.from, 80)+16)
	text := l.raw[from:to]
	if form != "" {
		text = form + ": " + text
	}
	return evidence(text)
}
