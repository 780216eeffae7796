package catalog

import (
	"context"
	"sync"
)

// Thread is what one conversation has been shown. While its skills change little it
// keeps the part of the prompt that providers cache byte for byte and tells the changes
// in the tail; the mode and the ranks hold until the conversation is shortened. Safe
// for concurrent use.
type Thread struct {
	r *Renderer

	mu    sync.Mutex
	shown *Catalog // whose prefix the model has; nil = nothing yet
	asked Input    // what it was rendered from
	rank  Rank
	other int // turns in a row in which ModeAuto would have chosen another mode
	delta Block
	since string // the Key that delta leads to

	former *ThreadState // of another process, until the first turn
}

// ThreadState is what a conversation goes on with in another process: while the skills are
// the same, its model is shown the same bytes.
type ThreadState struct {
	Key     string          `json:"key"` // of what the model has
	Rank    Rank            `json:"rank"`
	Mode    Mode            `json:"mode"`
	Touched map[string]bool `json:"touched"`          // nil is not empty
	Active  int             `json:"active,omitempty"` // tokens of active skills
	Other   int             `json:"other,omitempty"`  // turns in which another mode was the better one
}

// State returns what Restore takes; false = nothing was shown yet.
func (t *Thread) State() (ThreadState, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown == nil {
		if t.former != nil {
			return *t.former, true
		}
		return ThreadState{}, false
	}
	return ThreadState{string(t.shown.Key), t.rank, t.asked.Mode, t.asked.View.Touched, t.asked.ActiveTokens, t.other}, true
}

// Restore goes on with a conversation of another process, before its next turn.
func (t *Thread) Restore(s ThreadState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.former = &s
}

// patience is for how many turns another mode must be the better one.
const patience = 2

// Thread begins a conversation.
func (r *Renderer) Thread() *Thread { return &Thread{r: r} }

// Fresh forgets what the model was shown: it has lost it. The next turn gets a whole
// catalog with nothing left to tell.
func (t *Thread) Fresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown, t.other, t.former = nil, 0, nil
}

// First reports whether the next turn is the first since the beginning or since Fresh:
// the one whose Input decides the ranks.
func (t *Thread) First() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown == nil && t.former == nil
}

// Next renders a turn. It fails as Render does, and the thread is then as before.
func (t *Thread) Next(ctx context.Context, in Input) (Catalog, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.former != nil {
		if err := t.recall(ctx, in); err != nil {
			return Catalog{}, err
		}
	}
	if t.shown == nil {
		c, err := t.r.Render(ctx, in)
		if err == nil {
			t.show(c, in)
			t.rank = in.Rank
		}
		return c, err
	}
	in.Rank = t.rank
	c, err := t.r.Render(ctx, in)
	if err != nil {
		return c, err
	}
	if auto := in.Mode == "" || in.Mode == ModeAuto; auto && c.Report.Mode != t.shown.Report.Mode && c.Report.Dialect == t.shown.Report.Dialect {
		if t.other++; t.other < patience {
			in.Mode = t.shown.Report.Mode
			if c, err = t.r.Render(ctx, in); err != nil {
				return c, err
			}
		}
	} else {
		t.other = 0
	}
	return t.kept(c, in), nil
}

// show notes what the model has from now on.
func (t *Thread) show(c Catalog, in Input) { t.shown, t.asked = &c, in }

// recall renders what a former process has shown. Where the skills are others now it
// cannot be told what changed: the model gets a whole catalog.
func (t *Thread) recall(ctx context.Context, in Input) error {
	s := t.former
	was := in
	was.Rank, was.View.Touched, was.ActiveTokens = s.Rank, s.Touched, s.Active
	was.Mode = s.Mode
	c, err := t.r.Render(ctx, was)
	if err != nil {
		return err
	}
	t.former, t.rank, t.other = nil, s.Rank, s.Other
	if string(c.Key) != s.Key {
		was.Mode, was.View.Touched, was.ActiveTokens = in.Mode, in.View.Touched, in.ActiveTokens
		if c, err = t.r.Render(ctx, was); err != nil {
			return err
		}
	}
	t.show(c, was)
	return nil
}

// kept returns c with the prefix that the model has, where what changed fits the tail;
// else c is what the model has from now on.
func (t *Thread) kept(c Catalog, in Input) Catalog {
	was := t.shown
	if c.Key == was.Key || !c.keeps(*was) {
		t.show(c, in)
		return c
	}
	if t.since != c.Key {
		delta, small := t.r.Delta(*was, c)
		if !small {
			t.show(c, in)
			return c
		}
		t.delta, t.since = delta, c.Key
	}
	c.Guidance, c.Stable, c.Key = was.Guidance, was.Stable, was.Key
	if t.delta.Text != "" {
		c.Tail = t.r.block(join(t.delta.Text, c.Tail.Text))
		c.Report.Changes = t.delta.Tokens
	}
	return c
}

// keeps reports whether a change from was to c may be told in the tail: only skills
// differ, and both have something in the prefix that names them.
func (c Catalog) keeps(was Catalog) bool {
	return c.plan != nil && was.plan != nil && c.plan.o.d.telling && c.setting == was.setting &&
		c.Prefix() != "" && was.Prefix() != "" && c.Prefix() != was.Prefix()
}
