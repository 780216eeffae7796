package agent

import (
	"fmt"

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
}

// lines are the budgets in force, as data: each is checked in the same way.
func (a *account) lines() []struct {
	Spent
	stop Stop
} {
	return []struct {
		Spent
		stop Stop
	}{
		{Spent{"steps", a.steps, a.limit.Steps}, StopSteps},
		{Spent{"calls", a.calls, a.limit.Calls}, StopSteps},
		{Spent{"input_tokens", a.usage.Input, a.limit.InputTokens}, StopTokens},
		{Spent{"output_tokens", a.usage.Output, a.limit.OutputTokens}, StopTokens},
	}
}

// exhausted returns the first budget that is used up.
func (a *account) exhausted() (Spent, Stop, bool) {
	for _, l := range a.lines() {
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
	for _, l := range a.lines() {
		if l.Used*100 >= l.Limit*warnAt && l.Limit > 1 {
			a.warned = true
			return l.Spent, true
		}
	}
	return Spent{}, false
}

func (a *account) left() int { return a.limit.Calls - a.calls }
