package search

import (
	"maps"

	"github.com/deftskills/deft/skill"
)

// Fork makes a scope that begins with what another one has read, so that its first Update
// reads only what differs: a session that adds a few skills to many. What happens to one
// of the two later is not seen in the other. A scope that is there already stays as it
// is. The new one is never kept on disk: its name means nothing to the next process.
func (x *Index) Fork(from, to string) {
	if x.opt.Dialect == skill.Mastra {
		return // that dialect's texts are no generations
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	src := x.scopes[from]
	if src == nil || x.scopes[to] != nil {
		return
	}
	g := *src.gen.Load()
	g.pending = nil // being read for src: the Update names them again
	s := &scope{name: to, loaded: true, forked: true, saved: map[*segment]string{}}
	s.gen.Store(&g)
	src.vectors.mu.RLock()
	s.vectors.loaded, s.vectors.rows, s.vectors.dim = true, maps.Clone(src.vectors.rows), src.vectors.dim
	src.vectors.mu.RUnlock()
	x.scopes[to] = s
}
