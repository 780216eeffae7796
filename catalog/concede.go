package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/deftskills/deft/internal/limits"
)

const notePrefix = "Note: "

// notes are the lines that tell the model what it does not see. They are part of
// the budget, and always English.
type notes struct{ tools ToolNames }

// shortened says that s of m descriptions are not complete.
func (n notes) shortened(s, m int) string {
	text := fmt.Sprintf("%s%d of %d skill descriptions are shortened.", notePrefix, s, m)
	switch {
	case n.tools.Search != "":
		return text + " Use " + n.tools.Search + " to find a skill by what it does."
	case n.tools.Skill != "":
		return text + " Load a skill with " + n.tools.Skill + " by its exact name to read it."
	}
	return text
}

// omitted says that only k of m skills are listed.
func (n notes) omitted(k, m int) string {
	text := fmt.Sprintf("%s%d of %d skills are listed.", notePrefix, k, m)
	switch {
	case n.tools.Search != "":
		return text + " The others can be found with " + n.tools.Search + " and loaded by name."
	case n.tools.Skill != "":
		return text + " The others can be loaded with " + n.tools.Skill + " by exact name."
	}
	return text
}

// counter returns the tag of a prompt that lists no skill itself.
func (notes) total(m int) string { return `<available_skills total="` + strconv.Itoa(m) + `" />` }

// offer is what one block could show.
type offer struct {
	lines []*line
	order []int32 // indices of lines, the last to lose anything first; nil = as they stand
	total int     // visible skills; more than lines where others are not offered
	room  int
	notes notes
	cost  measure
	fixed measure // cost with a memory, for what every render asks
	shape *shape
}

func (o offer) at(pos int) int {
	if o.order == nil {
		return pos
	}
	return int(o.order[pos])
}

// outcome is what a block shows of each line.
type outcome struct {
	level     []int8 // by line; nil = as steps over the n lines in their order say
	steps, n  int
	cuts      []int32 // by line, bytes of the description; nil = as the level says
	edge      int     // the line that is cut inside a level; -1 = none
	edgeEnd   int     // bytes of its description
	edgeShown int     // clusters of it
	edgeCost  int
	lines     []*line // in place of the offered ones; nil = those
	roots     string  // lines that say what stands for long paths
	note      string
	used      int
	listed    int
	complete  bool // everything is shown in full
	least     int  // the smallest room that gives a block
	fits      bool // false: not even the tags and a note fit
	over      bool // names alone are more than the room, and shown all the same
	soft      bool // set by dialects that tell the two overflows apart
	hard      bool
}

// blank is an outcome that shows nothing yet.
func (o offer) blank() outcome {
	return outcome{n: len(o.lines), edge: -1, fits: true}
}

// omitted makes room for levels of their own: every line starts without one.
func (out *outcome) omitted() {
	out.level = slices.Repeat([]int8{levelOmitted}, out.n)
}

// levelOf returns the level of line i.
func (out outcome) levelOf(i int) int {
	switch {
	case out.level != nil:
		return int(out.level[i])
	case i < out.steps%max(1, out.n):
		return out.steps / out.n
	}
	return out.steps/max(1, out.n) - 1
}

// concedeSteps finds the most that fits. What a block can show is a prefix of one fixed
// sequence: all names, then all short forms, then all medium ones, then all full
// ones, each over the rank order. The sums over it need not grow steadily, so all
// of them are looked at and the longest prefix that fits is taken.
func concedeSteps(o offer) outcome {
	n := len(o.lines)
	out := outcome{n: n, steps: n * levels, edge: -1, fits: true, listed: n}
	frame := o.frame(n)
	full, floor := frame, o.frame(0)
	if n < o.total {
		out.note = o.notes.omitted(n, o.total)
		full += o.costOf(out.note)
	}
	floor += o.costOf(o.notes.omitted(0, o.total))
	for _, l := range o.lines {
		full += l.cost[levelFull]
	}
	out.least = min(full, floor)
	if full <= o.room {
		out.used, out.complete = full, true
		return out
	}
	steps, sum := o.longest(frame)
	if steps == 0 {
		none := o.blank()
		none.note, none.used, none.fits, none.least = o.notes.omitted(0, o.total), floor, floor <= o.room, out.least
		return none
	}
	out.steps = steps
	if o.order != nil {
		byRank := out
		out.level = make([]int8, n)
		for pos, i := range o.order {
			out.level[i] = int8(byRank.levelOf(pos))
		}
	}
	out.listed = min(steps, n)
	o.cutEdge(&out, steps, sum)
	out.note = o.noteFor(out)
	out.used = frame + o.costOf(out.note)
	for i, l := range o.lines {
		switch {
		case i == out.edge:
			out.used += out.edgeCost
		case out.levelOf(i) != levelOmitted:
			out.used += l.cost[out.levelOf(i)]
		}
	}
	return out
}

func (o offer) costOf(note string) int {
	n, _ := o.fixed(note + "\n")
	return n
}

// frame is what a block costs beside its note and n entries.
func (o offer) frame(n int) int {
	of := func(text string) int {
		cost, _ := o.fixed(text)
		return cost
	}
	s := o.shape
	if n == 0 && s.none != "" {
		return of(s.open) + of(s.none)
	}
	sum := of(s.open) + of(s.start) + of(s.end)
	if s.last != "" { // the last entry has no comma
		sum += of(s.last) - of(strings.Replace(s.last, "\n", ",\n", 1))
	}
	return sum
}

// longest returns how many steps of the sequence fit beside the dearest note, and
// their sum.
func (o offer) longest(frame int) (steps, sum int) {
	total := frame + max(o.costOf(o.notes.omitted(o.total, o.total)), o.costOf(o.notes.shortened(o.total, o.total)))
	n := len(o.lines)
	for level := range levels {
		for pos := range n {
			l := o.lines[o.at(pos)]
			total += l.cost[level]
			if level > 0 {
				total -= l.cost[level-1]
			}
			if total <= o.room {
				steps, sum = level*n+pos+1, total
			}
		}
	}
	return steps, sum
}

// cutEdge gives the room that is left to the next description in line, as many
// characters of it as fit.
func (o offer) cutEdge(out *outcome, steps, sum int) {
	n := len(o.lines)
	level := steps / n
	if level == levelName || level == levels {
		return
	}
	i := o.at(steps % n)
	l := o.lines[i]
	low, high := l.shown[level-1], l.shown[level]
	if level == levelShort {
		low = limits.CatalogLeast - 1
	}
	if high-low < 2 {
		return
	}
	b, room := borders(l.desc), o.room-sum+l.cost[level-1]
	at := func(clusters int) int {
		cost, _ := o.cost(string(o.shape.line(nil, l, l.until(b[clusters]))))
		return cost
	}
	best := largest(low, high, func(c int) bool { return at(c) <= room })
	if best = trimmed(l.desc, b, best); best <= low {
		return
	}
	if cost := at(best); cost <= room {
		out.edge, out.edgeEnd, out.edgeShown, out.edgeCost = i, b[best], best, cost
	}
}

// nearby bounds how far a longer text can cost less than a shorter one: merges
// happen inside a word.
const nearby = 24

// largest returns the largest number strictly between low and high that fits, or
// low. Fitting is monotonic but for stretches shorter than nearby.
func largest(low, high int, fits func(int) bool) int {
	from, to := low, high
	for to-from > 1 {
		mid := (from + to) / 2
		if fits(mid) {
			from = mid
		} else {
			to = mid
		}
	}
	for c := min(high-1, from+nearby); c > from; c-- {
		if fits(c) {
			return c
		}
	}
	return from
}

// noteFor returns the note of an outcome that does not show everything.
func (o offer) noteFor(out outcome) string {
	if out.listed < o.total {
		return o.notes.omitted(out.listed, o.total)
	}
	short := 0
	for i, l := range o.lines {
		if out.stateOf(i, l) != Full {
			short++
		}
	}
	return o.notes.shortened(short, o.total)
}

// stateOf returns what the outcome shows of line i.
func (out outcome) stateOf(i int, l *line) State {
	switch {
	case out.levelOf(i) == levelOmitted:
		return Omitted
	case out.end(i, l) == len(l.desc):
		return Full
	case i == out.edge || out.end(i, l) > 0:
		return Shortened
	}
	return NameOnly
}

// end returns how many bytes of the description the outcome shows of line i.
func (out outcome) end(i int, l *line) int {
	switch {
	case out.levelOf(i) == levelOmitted:
		return 0
	case out.cuts != nil:
		return int(out.cuts[i])
	case i == out.edge:
		return out.edgeEnd
	}
	return l.end[out.levelOf(i)]
}

// text returns the description that the outcome shows of line i.
func (out outcome) text(i int, l *line) string {
	if out.cuts != nil {
		return l.desc[:out.cuts[i]]
	}
	return l.until(out.end(i, l))
}
