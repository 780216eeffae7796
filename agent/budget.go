package agent

import (
	"fmt"
	"sync"
	"time"
)

// warnAt is the share of a budget, in percent, at which model and person are told.
const warnAt = 80

// Spent is how much of which budget is gone.
type Spent struct {
	What  string `json:"what"` // steps, calls, input_tokens, output_tokens, seconds
	Used  int    `json:"used"`
	Limit int    `json:"limit"`
}

// String tells it in words for the model.
func (s Spent) String() string { return fmt.Sprintf("%d of %d %s", s.Used, s.Limit, s.What) }

// account counts what a turn spends by itself, and books it in its pool.
type account struct {
	limit  Budget
	steps  int
	warned bool
	pool   *pool
}

// spend books steps, calls and tokens.
func (a *account) spend(e End) {
	a.steps += e.Steps
	a.pool.spend(e)
}

// pool is what a turn and its sub-agents may spend, and have spent, together. The pool of
// a sub-agent lies within that of its caller: what is spent of one is spent of all above.
// Safe for concurrent use.
type pool struct {
	up    *pool // nil = of a turn that is no sub-agent's
	limit Budget

	mu    sync.Mutex
	spent End
}

func (p *pool) spend(e End) {
	for ; p != nil; p = p.up {
		p.mu.Lock()
		p.spent.Steps, p.spent.Calls, p.spent.Usage = p.spent.Steps+e.Steps, p.spent.Calls+e.Calls, p.spent.Usage.Add(e.Usage)
		p.mu.Unlock()
	}
}

// total is what turn and sub-agents have spent.
func (p *pool) total() End {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent
}

// lines are the budgets in force, as data: each is checked in the same way.
func (p *pool) lines() []struct {
	Spent
	stop Stop
} {
	spent := p.total()
	return []struct {
		Spent
		stop Stop
	}{
		{Spent{"steps", spent.Steps, p.limit.Steps}, StopSteps},
		{Spent{"calls", spent.Calls, p.limit.Calls}, StopSteps},
		{Spent{"input_tokens", spent.Usage.Input, p.limit.InputTokens}, StopTokens},
		{Spent{"output_tokens", spent.Usage.Output, p.limit.OutputTokens}, StopTokens},
	}
}

// half is half of what is left, for a sub-agent; false where that is nothing.
func (p *pool) half(elapsed time.Duration) (Budget, bool) {
	spent := p.total()
	b := Budget{
		Steps: (p.limit.Steps - spent.Steps) / 2, Calls: (p.limit.Calls - spent.Calls) / 2,
		InputTokens: (p.limit.InputTokens - spent.Usage.Input) / 2, OutputTokens: (p.limit.OutputTokens - spent.Usage.Output) / 2,
		Time: (p.limit.Time - elapsed) / 2,
	}
	return b, min(b.Steps, b.Calls, b.InputTokens, b.OutputTokens) > 0 && b.Time > 0
}

// exhausted returns the first budget that is used up, of the turn or of one above it.
func (a *account) exhausted() (Spent, Stop, bool) {
	for p := a.pool; p != nil; p = p.up {
		for _, l := range p.lines() {
			if l.Used >= l.Limit {
				return l.Spent, l.stop, true
			}
		}
	}
	return Spent{}, "", false
}

// warning returns the first budget that has passed the warning mark, once a turn.
func (a *account) warning(elapsed time.Duration) (Spent, bool) {
	if a.warned {
		return Spent{}, false
	}
	if limit := a.limit.Time; limit > 0 && elapsed*100 >= limit*warnAt {
		a.warned = true
		return Spent{"seconds", int(elapsed.Seconds()), int(limit.Seconds())}, true
	}
	for _, l := range a.pool.lines() {
		if l.Used*100 >= l.Limit*warnAt && l.Limit > 1 {
			a.warned = true
			return l.Spent, true
		}
	}
	return Spent{}, false
}

// left is how many tool calls may be made.
func (a *account) left() int {
	n := a.pool.limit.Calls
	for p := a.pool; p != nil; p = p.up {
		n = min(n, p.limit.Calls-p.total().Calls)
	}
	return n
}
