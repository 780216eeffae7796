package catalog

import (
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

const (
	openDelta  = "<skills_changed>"
	closeDelta = "</skills_changed>"
)

// Delta says what a model that was shown prev has to know of next: skills that came,
// went, or describe themselves otherwise. false means that this is more than a tail
// should hold, at most 20 lines and 300 tokens: show next as a whole then. A Block
// without text means that nothing changed that the model sees.
func (r *Renderer) Delta(prev, next Catalog) (Block, bool) {
	if prev.plan == nil || next.plan == nil {
		return Block{}, false
	}
	came, went, differ := compare(prev.plan, next.plan)
	if n := len(came) + len(went) + len(differ); n == 0 || n > limits.CatalogChanges {
		return Block{}, n == 0
	}
	s, _ := shapeOf(skill.Deft, Minara) // a list's lines without the dash
	cost := measureOf(Tokens, r.counter)
	line := func(rec *registry.Record) *line { return newLine(recipeOf(rec, s, Tokens, nil), s, cost) }
	for _, level := range []int{levelFull, levelMedium, levelShort} {
		b := []byte(openDelta + "\n")
		for _, rec := range came {
			l := line(rec)
			b = s.line(append(b, "+ "...), l, l.part(level))
		}
		for _, rec := range went {
			b = s.line(append(b, "- "...), line(rec), "")
		}
		for _, rec := range differ {
			l := line(rec)
			b = s.line(append(b, "~ "...), l, l.part(level))
		}
		block := r.block(string(append(b, closeDelta...)))
		if block.Tokens <= limits.CatalogChangeTokens {
			return block, true
		}
	}
	return Block{}, false
}

// compare lists what came, went and differs, each in the order of display.
func compare(prev, next *plan) (came, went, differ []*registry.Record) {
	before := make(map[string]*line, len(prev.visible))
	for i, l := range prev.lines() {
		before[prev.visible[i].Address] = l
	}
	for i, l := range next.lines() {
		rec := next.visible[i]
		switch old, known := before[rec.Address]; {
		case !known:
			came = append(came, rec)
		case old.digest != l.digest:
			differ = append(differ, rec)
		}
		delete(before, rec.Address)
	}
	for _, rec := range prev.visible {
		if before[rec.Address] != nil {
			went = append(went, rec)
		}
	}
	return came, went, differ
}

// join puts parts of a tail below each other.
func join(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n")
}
