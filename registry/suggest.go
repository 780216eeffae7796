package registry

import (
	"slices"
	"sync"

	"github.com/deftskills/deft/internal/fold"
)

// The bounds of what counts as a close name.
const (
	closeDistance  = 2
	closePrefix    = 4
	maxSuggestions = 3
	maxSelector    = 256 // bytes of a selector that is compared at all
)

// unknown returns the error for a selector that names nothing a model may see.
func (s *Snapshot) unknown(sel string) *UnknownError {
	return &UnknownError{Selector: sel, Suggestions: s.Suggest(sel)}
}

// Suggest returns at most three names that are close to a selector, the closest
// first: within two edits or with four letters in common at the start, else the
// nearest. Only what a model may see is named.
func (s *Snapshot) Suggest(sel string) []string {
	return s.lookup.near.of(s.Winners).suggest(sel, func(r *Record) bool { return r.ForModel() && r.Skill.Meta.Listed })
}

// spelling holds the keys of records one after the other: to compare a name with a
// hundred thousand others costs mostly the way to them.
type spelling struct {
	once    sync.Once
	records []*Record
	keys    string
	ends    []uint32
}

// of fills it, once, when the first close name is asked for.
func (p *spelling) of(records []*Record) *spelling {
	p.once.Do(func() {
		n := 0
		for _, r := range records {
			n += len(r.Skill.Key)
		}
		text := make([]byte, 0, n)
		p.ends = make([]uint32, 0, len(records))
		for _, r := range records {
			text = append(text, r.Skill.Key...)
			p.ends = append(p.ends, uint32(len(text)))
		}
		p.keys, p.records = string(text), records
	})
	return p
}

// nearest is one of the records that may be meant.
type nearest struct {
	r *Record
	d int
}

func (p *spelling) suggest(sel string, visible func(*Record) bool) []string {
	if sel == "" || len(sel) > maxSelector || hostile(sel) {
		return nil
	}
	key := fold.Key(sel)
	best := p.within(key, visible)
	if len(best) == 0 {
		best = p.closest(key, visible)
	}
	var out []string
	for _, b := range best {
		out = append(out, b.r.Address)
	}
	return out
}

// within returns the first of those within the bounds, the closest first, equal ones in
// their order.
func (p *spelling) within(key string, visible func(*Record) bool) []nearest {
	best := make([]nearest, 0, maxSuggestions+1)
	worst, start := closeDistance, 0
	for i, end := range p.ends {
		other := p.keys[start:end]
		start = int(end)
		d := fold.Distance(key, other, worst)
		if d > worst && worst == closeDistance && sharedPrefix(key, other) >= closePrefix {
			d = closeDistance
		}
		if d > worst || !visible(p.records[i]) {
			continue
		}
		at := len(best)
		for at > 0 && best[at-1].d > d {
			at--
		}
		best = slices.Insert(best, at, nearest{p.records[i], d})
		best = best[:min(len(best), maxSuggestions)]
		if len(best) == maxSuggestions {
			if worst = best[maxSuggestions-1].d - 1; worst < 0 {
				break
			}
		}
	}
	return best
}

// closest returns the one nearest to a name that resembles none.
func (p *spelling) closest(key string, visible func(*Record) bool) []nearest {
	const farthest = 64
	found := nearest{d: farthest + 1}
	start := 0
	for i, end := range p.ends {
		other := p.keys[start:end]
		start = int(end)
		if d := fold.Distance(key, other, found.d-1); d < found.d && visible(p.records[i]) {
			found = nearest{p.records[i], d}
		}
	}
	if found.r == nil {
		return nil
	}
	return []nearest{found}
}

func sharedPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
