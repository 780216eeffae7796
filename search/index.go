package search

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// Index answers queries over skills. Any number of goroutines may search while one
// updates; a query sees one generation from beginning to end. Update only compares;
// the texts are read by the first search after it (or by Warm). Close it: it has
// work under way in the background.
type Index struct {
	opt    Options
	an     *analyzer
	closed atomic.Bool
	life   context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup // in the background

	breaker breaker // of the embedder

	mu     sync.RWMutex
	scopes map[string]*scope
}

// scope is one owner's skills: nothing in it can change a score in another.
type scope struct {
	name  string
	write sync.Mutex // held by whoever replaces gen
	gen   atomic.Pointer[generation]
	// stored is what the disk held and the first Update has yet to confirm.
	stored []part
	loaded bool
	forked bool // of another scope: not kept on disk

	warming    atomic.Bool // Warm is reading what is pending
	compacting atomic.Bool
	moved      atomic.Bool // references may have changed since they were indexed
	looking    sync.Mutex  // held by who looks at references

	texts     texts // in dialect mastra, in the place of gen's parts
	vectors   vectorStore
	embedding sync.Mutex // held while vectors are asked for

	saving sync.Mutex
	saved  map[*segment]string // names of their files
}

// generation is one immutable state of a scope.
type generation struct {
	number uint64
	parts  []part
	stats
	pending []*document
	notes   []skill.Diagnostic
}

// UpdateReport counts what an Update found.
type UpdateReport struct{ Added, Changed, Removed, Unchanged int }

// Stats describes a scope.
type Stats struct {
	Skills     int
	Terms      int   // of all segments
	Postings   int64 // bytes
	Bytes      int64 // postings, dictionary and lengths
	Segments   int
	Generation uint64
	Pending    int // skills that the next search reads first
}

// Open returns an index without skills: what Options.Dir holds saves reading those
// that an Update names again. The error is for parameters out of range.
func Open(o Options) (*Index, error) {
	o = o.withDefaults()
	if o.K1 < 0 {
		return nil, fmt.Errorf("%w: k1 %v is negative", ErrBadQuery, o.K1)
	}
	for f, p := range o.Fields {
		if f >= fieldCount || p.Weight < 0 || p.B < 0 || p.B > 1 {
			return nil, fmt.Errorf("%w: field %v has weight %v, b %v", ErrBadQuery, f, p.Weight, p.B)
		}
	}
	if o.Fusion != "" && o.Fusion != Reciprocal && o.Fusion != Weighted {
		return nil, fmt.Errorf("%w: fusion %q is unknown", ErrBadQuery, o.Fusion)
	}
	x := &Index{opt: o, an: newAnalyzer(o), scopes: map[string]*scope{}}
	x.life, x.stop = context.WithCancel(context.Background())
	return x, nil
}

func (x *Index) scope(name string) *scope {
	x.mu.RLock()
	s := x.scopes[name]
	x.mu.RUnlock()
	if s != nil {
		return s
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if s = x.scopes[name]; s == nil {
		s = &scope{name: name, saved: map[*segment]string{}}
		s.gen.Store(&generation{})
		x.scopes[name] = s
	}
	return s
}

// background has f run until it returns or the index is closed, which waits for it.
// It reports whether f runs: not when the index is closed already.
func (x *Index) background(f func(ctx context.Context)) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed.Load() {
		return false
	}
	x.work.Go(func() { f(x.life) })
	return true
}

// Update makes the scope hold the winners of snap that somebody may see: available,
// hidden from models, or with conditions that do not hold now. Skills with an
// unchanged digest are kept as they are; vanished ones are gone at once; new ones
// are read by the next search.
func (x *Index) Update(ctx context.Context, scope string, snap *registry.Snapshot) (UpdateReport, error) {
	return x.update(ctx, scope, documentsOf(snap))
}

func documentsOf(snap *registry.Snapshot) []*document {
	docs := make([]*document, 0, len(snap.Winners))
	all := make([]document, len(snap.Winners))
	for i, rec := range snap.Winners {
		switch rec.State {
		case registry.Available, registry.Hidden, registry.Unmet:
			all[i].Document = documentOf(rec)
			docs = append(docs, &all[i])
		}
	}
	return docs
}

// AddDocs makes the scope hold exactly docs, whose addresses must differ.
func (x *Index) AddDocs(ctx context.Context, scope string, docs []Document) (UpdateReport, error) {
	list, all := make([]*document, len(docs)), make([]document, len(docs))
	for i := range docs {
		all[i].Document = docs[i]
		list[i] = &all[i]
	}
	return x.update(ctx, scope, list)
}

// Diagnostics returns what building the scope's index had to skip.
func (x *Index) Diagnostics(scope string) (out []skill.Diagnostic) {
	g := x.scope(scope).gen.Load()
	out = append(out, g.notes...)
	for _, d := range g.documents() {
		out = append(out, d.notes...)
	}
	return out
}

// Stats describes the default scope.
func (x *Index) Stats() Stats {
	g := x.scope("").gen.Load()
	st := Stats{Skills: g.live, Segments: len(g.parts), Generation: g.number, Pending: len(g.pending)}
	for _, p := range g.parts {
		st.Terms += p.terms()
		st.Postings += int64(len(p.data))
		st.Bytes += int64(len(p.data)+len(p.blob)+16*p.terms()+8*len(p.names)) + int64(len(p.lens))*int64(4*fieldCount)
	}
	return st
}

// Drop forgets a scope. What is kept of it on disk stays.
func (x *Index) Drop(scope string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.scopes, scope)
	return nil
}

// Close ends the index, after what it is writing; later calls return ErrClosed.
func (x *Index) Close() error {
	x.mu.Lock()
	x.closed.Store(true)
	x.mu.Unlock()
	x.stop()
	x.work.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.scopes = map[string]*scope{}
	return nil
}
