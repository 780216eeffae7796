package catalog

import (
	"math"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/skill"
)

// measure returns what text costs and whether the number is a fallback.
type measure func(text string) (n int, inexact bool)

// measureOf returns the measure of a unit.
func measureOf(u Unit, c Counter) measure {
	switch u {
	case Chars:
		return func(s string) (int, bool) { return utf8.RuneCountInString(s), false }
	case Bytes:
		return func(s string) (int, bool) { return len(s), false }
	}
	if checked, ok := c.(tokens.Checked); ok {
		return checked.CountChecked
	}
	return func(s string) (int, bool) { return c.Count(s), false }
}

// room is a resolved budget. All numbers are in the budget's unit.
type room struct {
	limit   int // 0 = none
	reserve int // of limit, for the tail
}

// stable returns what the stable block may cost.
func (r room) stable() int {
	if r.limit == 0 {
		return math.MaxInt
	}
	return r.limit - r.reserve
}

// charsPerToken turns the rule's tokens into other units: the usual estimate for
// English text.
const charsPerToken = 4

// roomOf applies the dialect's rule to a budget.
func roomOf(b Budget, d skill.Dialect, routing bool) room {
	limit := b.Limit
	if limit <= 0 {
		if d == skill.AgentSkills {
			return room{}
		}
		limit = rule(b)
		if b.Unit == Chars || b.Unit == Bytes {
			limit *= charsPerToken
		}
	}
	if !routing || d == skill.AgentSkills {
		return room{limit: limit}
	}
	return room{limit: limit, reserve: reserveOf(limit)}
}

func reserveOf(limit int) int { return min(limits.CatalogReserve, limit/5) }

// rule returns a share of the window, at most a fixed number: a list of skills must
// not crowd out the work.
func rule(b Budget) int {
	top, fraction := b.Max, b.Fraction
	if top <= 0 {
		top = limits.CatalogBudget
	}
	if !(fraction > 0) || math.IsInf(fraction, 0) {
		fraction = 0.02
	}
	if b.Window <= 0 {
		return top
	}
	share := math.Floor(float64(b.Window) * fraction)
	if share >= float64(top) {
		return top
	}
	return max(1, int(share))
}

// leastBudget returns the smallest limit whose stable part is need.
func leastBudget(need int, reserved bool) int {
	if !reserved {
		return need
	}
	limit := need
	for limit-reserveOf(limit) < need {
		limit++
	}
	return limit
}
