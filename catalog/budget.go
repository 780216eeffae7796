package catalog

import (
	"cmp"
	"math"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/internal/tokens"
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

// charsPerToken turns tokens into other units and back: the usual estimate for English
// text.
const charsPerToken = 4

// roomOf applies the dialect's rule to a budget and says in which unit it counts.
func roomOf(b Budget, d *dialect, routing bool) (room, Unit) {
	unit := cmp.Or(b.Unit, Tokens)
	limit := b.Limit
	if limit <= 0 {
		rule := d.rule
		if b.Max > 0 {
			rule.max, rule.unit, rule.unknown = b.Max, Tokens, 0
		}
		if b.Fraction > 0 && !math.IsInf(b.Fraction, 0) {
			rule.fraction, rule.unit = b.Fraction, cmp.Or(rule.unit, Tokens)
		}
		if rule.fraction == 0 && rule.max == 0 {
			return room{}, unit
		}
		limit, unit = rule.limit(b.Window, b.Unit)
	}
	if !routing || limit == 0 {
		return room{limit: limit}, unit
	}
	return room{limit: limit, reserve: reserveOf(limit)}, unit
}

func reserveOf(limit int) int { return min(limits.CatalogReserve, limit/5) }

// limit returns a share of the window, at most a fixed number: a list of skills must
// not crowd out the work. want is the unit that was asked for, "" = the rule's own.
func (r rule) limit(window int, want Unit) (int, Unit) {
	if window <= 0 {
		own := cmp.Or(r.unitUnknown, r.unit)
		return convert(cmp.Or(r.unknown, r.max), own, cmp.Or(want, own)), cmp.Or(want, own)
	}
	unit := cmp.Or(want, r.unit)
	factor := 1
	if r.unit != Tokens {
		factor = charsPerToken
	}
	share := math.Floor(float64(window) * r.fraction * float64(factor))
	if top := r.max; top > 0 && share > float64(top) {
		share = float64(top)
	}
	return convert(max(1, int(min(share, math.MaxInt32))), r.unit, unit), unit
}

func convert(n int, from, to Unit) int {
	switch {
	case from == Tokens && to != Tokens:
		return n * charsPerToken
	case from != Tokens && to == Tokens:
		return n / charsPerToken
	}
	return n
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
