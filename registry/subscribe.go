package registry

import (
	"slices"

	"github.com/deftskills/deft/skill"
)

// Change says which usable skills differ between two Snapshots. Skills are named by
// address, sorted. A change of files that changes no skill makes none.
type Change struct {
	Added, Removed, Updated []string
	Reason                  string // what was noticed: "watch", "poll", "refresh"
	Version                 uint64 // of the new Snapshot
}

// subscribers are called one after another, in the order of the changes, by a
// goroutine that lives as long as there is something to deliver.
type subscribers struct {
	list       []*subscriber
	pending    []Change
	delivering bool
}

type subscriber struct{ call func(Change) }

// Subscribe calls fn after each Snapshot whose usable skills differ from those of the
// one before, in order, never at the same time twice. fn may call the registry; one
// that panics costs the others nothing. cancel ends it: no call begins afterwards.
func (r *Registry) Subscribe(fn func(Change)) (cancel func()) {
	s := &subscriber{fn}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subs.list = append(r.subs.list, s)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.subs.list = slices.DeleteFunc(slices.Clone(r.subs.list), func(x *subscriber) bool { return x == s })
	}
}

// publish queues a change for the subscribers.
func (r *Registry) publish(c Change) {
	if len(c.Added)+len(c.Removed)+len(c.Updated) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Reason = "refresh"; r.running != nil && r.running.o.reason != "" {
		c.Reason = r.running.o.reason
	}
	if len(r.subs.list) == 0 || r.closed {
		return
	}
	r.subs.pending = append(r.subs.pending, c)
	if !r.subs.delivering {
		r.subs.delivering = true
		go r.deliver() // not waited for by Close, which a subscriber may call
	}
}

func (r *Registry) deliver() {
	for {
		r.mu.Lock()
		if len(r.subs.pending) == 0 || r.closed {
			r.subs.pending, r.subs.delivering = nil, false
			r.mu.Unlock()
			return
		}
		c := r.subs.pending[0]
		r.subs.pending = r.subs.pending[1:]
		list := r.subs.list
		r.mu.Unlock()
		for _, s := range list {
			if r.subscribed(s) {
				s.deliver(c)
			}
		}
	}
}

func (r *Registry) subscribed(s *subscriber) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.subs.list, s)
}

func (s *subscriber) deliver(c Change) {
	defer func() { _ = recover() }() // somebody else's fault must not end the deliveries
	s.call(c)
}

// changeOf compares what the two Snapshots offer.
func changeOf(old, next *Snapshot) Change {
	type face struct {
		digest   skill.Digest
		location string
		state    State
	}
	of := func(r *Record) face { return face{r.Skill.Digest, r.Location, r.State} }
	before, after := old.Winners, next.Winners // sorted: what is equal at both ends is no change
	same := func(x, y *Record) bool { return x.Address == y.Address && of(x) == of(y) }
	for len(before) > 0 && len(after) > 0 && same(before[0], after[0]) {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && same(before[len(before)-1], after[len(after)-1]) {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	c := Change{Version: next.Version}
	was := make(map[string]face, len(before))
	for _, r := range before {
		was[r.Address] = of(r)
	}
	for _, r := range after {
		f, known := was[r.Address]
		switch {
		case !known:
			c.Added = append(c.Added, r.Address)
		case f != of(r):
			c.Updated = append(c.Updated, r.Address)
		}
		delete(was, r.Address)
	}
	for a := range was {
		c.Removed = append(c.Removed, a)
	}
	slices.Sort(c.Added)
	slices.Sort(c.Updated)
	slices.Sort(c.Removed)
	return c
}
