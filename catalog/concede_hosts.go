package catalog

import (
	"fmt"
	"path"
	"strings"
)

// concedeWhole gives up descriptions as dialect claude-code does: one whole description
// after the other, the last in rank first; every name stays, whatever it costs.
func concedeWhole(o offer) outcome {
	n := len(o.lines)
	out := outcome{level: make([]int8, n), n: n, edge: -1, fits: true, listed: n}
	out.used = o.frame(n)
	for _, l := range o.lines {
		out.used += l.cost[levelName]
	}
	out.least, out.over = out.used, out.used > o.room
	for pos := range n {
		i := o.at(pos)
		more := o.lines[i].cost[levelFull] - o.lines[i].cost[levelName]
		if out.used+more > o.room {
			return out
		}
		out.used += more
		out.level[i] = levelFull
	}
	out.complete = true
	return out
}

// concedeEvenly gives up what dialect codex does: all descriptions are cut to one
// length, then long folders get short names, then entries go from the end.
func concedeEvenly(o offer) outcome {
	out := o.evenly("")
	if out.fits {
		return out
	}
	lines, roots := shortened(o.lines)
	if roots != "" {
		o.lines = lines
		if out = o.evenly(roots); out.fits {
			return out
		}
	}
	out = o.blank()
	out.omitted()
	out.lines, out.roots, out.hard = o.lines, roots, true
	out.used = o.frame(0) + o.costOfText(roots)
	out.least = out.used
	if out.used > o.room {
		out.fits = false
		return out
	}
	for i, l := range o.lines {
		if out.used+o.nameCost(l) > o.room {
			break
		}
		out.used += o.nameCost(l)
		out.level[i], out.listed = levelName, out.listed+1
	}
	return out
}

func (o offer) costOfText(text string) int {
	if text == "" {
		return 0
	}
	n, _ := o.cost(text)
	return n
}

// nameCost is what a line costs without its description; lines whose place was
// shortened have not been counted before.
func (o offer) nameCost(l *line) int {
	if l.cost[levelName] == 0 {
		l.cost[levelName], _ = o.cost(string(o.shape.line(nil, l, "")))
	}
	return l.cost[levelName]
}

// evenly shows of every description as much as fits when all have one length; it does
// not fit when that is less than nothing.
func (o offer) evenly(roots string) outcome {
	n, longest := len(o.lines), 0
	fixed := o.frame(n) + o.costOfText(roots)
	for _, l := range o.lines {
		longest = max(longest, runes(l.desc))
	}
	sum := func(length int) int {
		total := fixed
		for _, l := range o.lines {
			switch {
			case length == 0:
				total += o.nameCost(l)
			case length >= runes(l.desc) && l.cost[levelFull] > 0:
				total += l.cost[levelFull]
			default:
				total += int(o.cutAt(l, min(length, runes(l.desc))).cost)
			}
		}
		return total
	}
	out := outcome{level: make([]int8, n), n: n, cuts: make([]int32, n), edge: -1, fits: true, listed: n, roots: roots}
	if roots != "" {
		out.lines = o.lines
	}
	best := longest
	if sum(longest) > o.room {
		if sum(0) > o.room {
			out.fits = false
			return out
		}
		best = largest(0, longest, func(length int) bool { return sum(length) <= o.room })
	}
	out.used, out.least, out.complete = sum(best), sum(0), best == longest
	for i, l := range o.lines {
		out.cuts[i] = int32(offset(l.desc, best))
	}
	return out
}

// shortened returns the lines with a short name for each folder that holds several
// skills, and the lines that explain these names.
func shortened(lines []*line) (out []*line, roots string) {
	count := map[string]int{}
	for _, l := range lines {
		count[folder(l.loc)]++
	}
	named := map[string]string{}
	var b strings.Builder
	for _, l := range lines {
		dir := folder(l.loc)
		if count[dir] < 2 || dir == "" {
			out = append(out, l)
			continue
		}
		if named[dir] == "" {
			named[dir] = fmt.Sprintf("$R%d", len(named)+1)
			fmt.Fprintf(&b, "%s=%s\n", named[dir], dir)
		}
		out = append(out, l.at(named[dir]+strings.TrimPrefix(l.loc, dir)))
	}
	return out, b.String()
}

// folder is where a skill's own folder lies; "" for a place that has no two levels.
func folder(location string) string {
	if dir := path.Dir(path.Dir(location)); len(dir) > 1 {
		return dir
	}
	return ""
}

// at is the line with its file at another place, not counted yet.
func (l *line) at(loc string) *line {
	return &line{digest: l.digest, name: l.name, desc: l.desc, reasons: l.reasons, loc: loc, source: l.source, end: l.end,
		shown: l.shown, clusters: l.clusters, removed: l.removed, capped: l.capped, builtin: l.builtin, protected: l.protected}
}
