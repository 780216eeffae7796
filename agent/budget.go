package agent

import (
	"fmt"
	"time"

	"github.com/deftskills/deft/agent/model"
)

// warnAt is the share of a budget, in percent, at which model and person are told.
const warnAt = 80

// Spent is how much of which budget is gone.
type Spent struct {
	What  string `json:"what"` // steps, calls, input_tokens, output_tokens
	Used  int    `json:"used"`
	Limit int    `json:"limit"`
}

// String tells it in words for the model.
func (s Spent) String() string { return fmt.Sprintf("%d of %d %s", s.Used, s.Limit, s.What) }

// account counts what a turn spends.
type account struct {
	limit  Budget
	steps  int
	calls  int
	usage  model.Usage
	warned bool

	subs End    // what sub-agents have spent
	lent Budget // what those that run may spend
}

// total is what turn and sub-agents have spent.
func (a *account) total() End {
	return End{Steps: a.steps + a.subs.Steps, Calls: a.calls + a.subs.Calls, Usage: a.usage.Add(a.subs.Usage)}
}

// lines are the budgets in force, as data: each is checked in the same way. What is lent
// counts as spent.
func (a *account) lines(lent Budget) []struct {
	Spent
	stop Stop
} {
	spent := a.total()
	return []struct {
		Spent
		stop Stop
	}{
		{Spent{"steps", spent.Steps + lent.Steps, a.limit.Steps}, StopSteps},
		{Spent{"calls", spent.Calls + lent.Calls, a.limit.Calls}, StopSteps},
		{Spent{"input_tokens", spent.Usage.Input + lent.InputTokens, a.limit.InputTokens}, StopTokens},
		{Spent{"output_tokens", spent.Usage.Output + lent.OutputTokens, a.limit.OutputTokens}, StopTokens},
	}
}

// half is half of what is left, for a sub-agent; false where that is nothing.
func (a *account) half(elapsed time.Duration) (Budget, bool) {
	spent := a.total()
	b := Budget{
		Steps: (a.limit.Steps - spent.Steps - a.lent.Steps) / 2, Calls: (a.limit.Calls - spent.Calls - a.lent.Calls) / 2,
		InputTokens:  (a.limit.InputTokens - spent.Usage.Input - a.lent.InputTokens) / 2,
		OutputTokens: (a.limit.OutputTokens - spent.Usage.Output - a.lent.OutputTokens) / 2,
		Time:         (a.limit.Time - elapsed) / 2,
	}
	return b, min(b.Steps, b.Calls, b.InputTokens, b.OutputTokens) > 0 && b.Time > 0
}

// settle takes back what was lent to a sub-agent, and books what it spent of it.
func (a *account) settle(lent Budget, end *End) {
	a.lent = a.lent.plus(lent, -1)
	a.subs.Steps, a.subs.Calls, a.subs.Usage = a.subs.Steps+end.Steps, a.subs.Calls+end.Calls, a.subs.Usage.Add(end.Usage)
}

// plus adds o, n times; its time is not a sum.
func (b Budget) plus(o Budget, n int) Budget {
	b.Steps, b.Calls = b.Steps+n*o.Steps, b.Calls+n*o.Calls
	b.InputTokens, b.OutputTokens = b.InputTokens+n*o.InputTokens, b.OutputTokens+n*o.OutputTokens
	return b
}

// exhausted returns the first budget that is used up.
func (a *account) exhausted() (Spent, Stop, bool) {
	for _, l := range a.lines(a.lent) {
		if l.Used >= l.Limit {
			return l.Spent, l.stop, true
		}
	}
	return Spent{}, "", false
}

// warning returns the first budget that has passed the warning mark, once a turn.
func (a *account) warning() (Spent, bool) {
	if a.warned {
		return Spent{}, false
	}
	for _, l := range a.lines(Budget{}) {
		if l.Used*100 >= l.Limit*warnAt && l.Limit > 1 {
			a.warned = true
			return l.Spent, true
		}
	}
	return Spent{}, false
}

func (a *account) left() int { return a.limit.Calls - a.total().Calls - a.lent.Calls }
