package catalog

import "sync"

// The notices of dialect minimax, word for word.
const (
	noticeShort   = "Skill descriptions were shortened to fit the catalog budget."
	noticeOmitted = "Some skills were omitted because not every skill name fits within the skills context budget."
)

// misses is how many lengths in a row may be too long before the scan for a longer one
// that fits again gives up: a longer text can cost less than a shorter one.
const misses = 8

// cuts remembers what a line costs with its description cut: the searches of one render
// ask for the same lengths as those of the last one.
type cuts struct {
	mu    sync.Mutex
	known []cut
}

type cut struct{ length, end, cost int32 }

// remembered bounds the cuts that one line keeps: some searches' worth.
const remembered = 64

// cutAt returns where the description's code point number length stands, and what the
// line costs that ends there.
func (o offer) cutAt(l *line, length int) cut {
	l.cuts.mu.Lock()
	defer l.cuts.mu.Unlock()
	for _, c := range l.cuts.known {
		if int(c.length) == length {
			return c
		}
	}
	if len(l.cuts.known) == remembered {
		l.cuts.known = l.cuts.known[:0]
	}
	end := offset(l.desc, length)
	cost, _ := o.cost(string(o.shape.line(nil, l, l.desc[:end])))
	c := cut{int32(length), int32(end), int32(cost)}
	l.cuts.known = append(l.cuts.known, c)
	return c
}

// tiers is the state of one concession of dialect minimax: every line has the length
// that it may show now, in code points.
type tiers struct {
	offer
	length []int // of each description
	shown  []int
	sum    int // of all lines as shown
	frame  int
}

// concedeTiers gives up descriptions as dialect minimax does: built-in skills share one
// length and come before all others; names go last, from the end of the order. What a
// block costs is the sum of its lines.
func concedeTiers(o offer) outcome {
	t := &tiers{offer: o, length: make([]int, len(o.lines)), shown: make([]int, len(o.lines))}
	t.frame = o.frame(len(o.lines))
	whole := t.frame
	for i, l := range o.lines {
		t.length[i] = runes(l.desc)
		whole += l.cost[levelFull]
		if l.protected {
			t.shown[i] = t.length[i]
			t.sum += l.cost[levelFull]
			continue
		}
		t.sum += l.cost[levelName]
	}
	if whole <= o.room {
		copy(t.shown, t.length)
		t.sum = whole - t.frame
		return t.outcome("", len(o.lines))
	}
	if t.frame+t.sum > o.room {
		return t.overflow()
	}
	floor := append([]int(nil), t.shown...)
	if notice := o.costOf(noticeShort); t.frame+t.sum+notice <= o.room {
		t.room -= notice
		if out := t.fill(noticeShort); out.fits {
			return out
		}
		t.room += notice
		t.reset(floor)
	}
	if out := t.fill(""); out.fits {
		return out
	}
	t.reset(floor)
	out := t.outcome("", len(o.lines))
	out.soft = true
	return out
}

func (t *tiers) reset(shown []int) {
	copy(t.shown, shown)
	t.sum = 0
	for i, l := range t.lines {
		t.sum += t.costAt(l, t.shown[i], t.length[i])
	}
}

// costAt is what a line costs that shows n of its code points.
func (t *tiers) costAt(l *line, n, length int) int {
	switch n {
	case 0:
		return l.cost[levelName]
	case length:
		return l.cost[levelFull]
	}
	return int(t.cutAt(l, n).cost)
}

// fill gives the room that is left to the built-in skills, and once they are complete
// to the others. The outcome does not fit where the whole block costs more than its
// lines.
func (t *tiers) fill(note string) outcome {
	complete := true
	for _, builtin := range []bool{true, false} {
		if !complete {
			break
		}
		var tier []int
		longest := 0
		for i, l := range t.lines {
			if l.builtin == builtin && !l.protected {
				tier = append(tier, i)
				longest = max(longest, t.length[i])
			}
		}
		t.level(tier, longest)
		for _, i := range tier {
			complete = complete && t.shown[i] == t.length[i]
		}
	}
	out := t.outcome(note, len(t.lines))
	out.soft = true
	text := t.shape.block(t.lines, out)
	whole, _ := t.cost(text)
	full := t.room
	if note != "" {
		full += t.costOf(note)
	}
	out.fits = whole <= full
	return out
}

// level finds the largest length that all of a tier can show, then lets one after the
// other show one code point more.
func (t *tiers) level(tier []int, longest int) {
	base := t.sum
	for _, i := range tier {
		base -= t.costAt(t.lines[i], t.shown[i], t.length[i])
	}
	fits := func(length int) bool {
		sum := t.frame + base
		for _, i := range tier {
			sum += t.costAt(t.lines[i], min(length, t.length[i]), t.length[i])
		}
		return sum <= t.room
	}
	best, high := 0, longest
	for best < high {
		if mid := (best + high + 1) / 2; fits(mid) {
			best = mid
		} else {
			high = mid - 1
		}
	}
	for length, missed := best+1, 0; length <= longest && missed < misses; length++ {
		if missed++; fits(length) {
			best, missed = length, 0
		}
	}
	t.sum = base
	for _, i := range tier {
		t.shown[i] = min(best, t.length[i])
		t.sum += t.costAt(t.lines[i], t.shown[i], t.length[i])
	}
	for _, i := range tier {
		if t.shown[i] == t.length[i] {
			continue
		}
		more := t.sum - t.costAt(t.lines[i], t.shown[i], t.length[i]) + t.costAt(t.lines[i], t.shown[i]+1, t.length[i])
		if t.frame+more <= t.room {
			t.sum, t.shown[i] = more, t.shown[i]+1
		}
	}
}

// overflow shows the longest run of entries from the start that fits, with a notice
// unless that costs an entry; nothing at all where not even the tags fit.
func (t *tiers) overflow() outcome {
	run := func(notice int) int {
		sum := t.frame + notice
		if sum > t.room {
			return -1
		}
		for i, l := range t.lines {
			if sum += t.costAt(l, t.shown[i], t.length[i]); sum > t.room {
				return i
			}
		}
		return len(t.lines)
	}
	note, listed := noticeOmitted, run(t.costOf(noticeOmitted))
	if without := run(0); listed < without {
		note, listed = "", without
	}
	if listed < 0 {
		out := t.blank()
		out.fits, out.hard, out.least = false, true, t.frame
		return out
	}
	out := t.outcome(note, listed)
	out.hard = true
	return out
}

// outcome is what t shows now, of the first listed lines.
func (t *tiers) outcome(note string, listed int) outcome {
	out := t.blank()
	out.omitted()
	out.cuts, out.note, out.listed, out.least = make([]int32, len(t.lines)), note, listed, t.frame
	out.used, out.complete = t.frame, note == "" && listed == len(t.lines)
	if note != "" {
		out.used += t.costOf(note)
	}
	for i, l := range t.lines[:listed] {
		out.level[i] = levelName
		out.cuts[i] = int32(offset(l.desc, t.shown[i]))
		out.used += t.costAt(l, t.shown[i], t.length[i])
		out.complete = out.complete && t.shown[i] == t.length[i]
	}
	return out
}
