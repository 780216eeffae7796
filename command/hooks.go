package command

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Registered is a hook in force.
type Registered struct {
	Hook
	ID    string // of owner, scope and index
	Owner string // who registered it
}

// Who names the hook for people and for a model.
func (h Registered) Who() string {
	if h.Skill.Name == "" {
		return fmt.Sprintf("hook %d of the host", h.Index)
	}
	return fmt.Sprintf("hook %d of skill %q", h.Index, h.Skill.Name)
}

// HookSet holds the hooks of one session in the order of their registration, the host's
// first. The zero value is ready. Safe for concurrent use.
type HookSet struct {
	mu   sync.Mutex
	list []Registered
	up   *HookSet // of the session that this one works for; nil = none
	deep int      // how many are above
}

// Below returns the set of a session that works for this one: what hooks say of calls here
// holds there too.
func (s *HookSet) Below() *HookSet { return &HookSet{up: s, deep: s.deep + 1} }

// Register puts hooks in force and returns their ids, in order. An id stands for owner,
// scope and index: registering again takes the place of the former hook, and a hook that
// runs once runs once more. Two hooks of one index are an error, and nothing changes.
func (s *HookSet) Register(owner, scope string, hooks []Hook) ([]string, error) {
	ids := make([]string, len(hooks))
	for i, h := range hooks {
		ids[i] = hookID(s.deep, owner, scope, h.Index)
		if slices.Contains(ids[:i], ids[i]) {
			return nil, errors.New("hooks: two of one index")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := slices.Clone(s.list)
	for i, h := range hooks {
		r := Registered{Hook: h, ID: ids[i], Owner: owner}
		if at := slices.IndexFunc(next, func(o Registered) bool { return o.ID == r.ID }); at >= 0 {
			next[at] = r
			continue
		}
		at := len(next)
		if h.Skill == (SkillRef{}) {
			if first := slices.IndexFunc(next, func(o Registered) bool { return o.Skill != (SkillRef{}) }); first >= 0 {
				at = first
			}
		}
		next = slices.Insert(next, at, r)
	}
	s.list = next
	return ids, nil
}

// Unregister takes hooks out of force. Ids that are not there are no error.
func (s *HookSet) Unregister(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(slices.Clone(s.list), func(r Registered) bool { return slices.Contains(ids, r.ID) })
}

// List returns the hooks in force, in the order in which they run.
func (s *HookSet) List() []Registered {
	if s == nil {
		return nil
	}
	above := slices.DeleteFunc(s.up.List(), func(r Registered) bool { return !hookEvents[r.Event].call })
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(above, s.list...)
}

// Has reports whether a hook of the event is in force.
func (s *HookSet) Has(event string) bool {
	return slices.ContainsFunc(s.List(), func(r Registered) bool { return r.Event == event && !r.Inert })
}

// take ends a hook that runs once and reports whether this was its run.
func (s *HookSet) take(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.list)
	s.list = slices.DeleteFunc(slices.Clone(s.list), func(r Registered) bool { return r.ID == id })
	return len(s.list) < n || s.up != nil && s.up.take(id)
}

func hookID(deep int, owner, scope string, index int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %q %d", deep, owner, scope, index))
	return hex.EncodeToString(sum[:8])
}
