package search

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/deftskills/deft/internal/progress"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// Index answers queries over skills. Any number of goroutines may search while one
// updates; a query sees one generation from beginning to end. Update only compares;
// the texts are read by the first search after it (or by Warm).
type Index struct {
	opt    Options
	an     *analyzer
	closed atomic.Bool

	mu     sync.RWMutex
	scopes map[string]*scope
}

// scope is one owner's skills: nothing in it can change a score in another.
type scope struct {
	write sync.Mutex // held by Update and by the build
	gen   atomic.Pointer[generation]
}

// generation is one immutable state of a scope.
type generation struct {
	number uint64
	parts  []part
	stats
	pending []*document
	diags   []skill.Diagnostic
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

// Open returns an empty index. The error is for parameters out of range.
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
	return &Index{opt: o, an: newAnalyzer(o), scopes: map[string]*scope{}}, nil
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
		s = &scope{}
		s.gen.Store(&generation{})
		x.scopes[name] = s
	}
	return s
}

// Update makes the scope hold the winners of snap that somebody may see: available,
// hidden from models, or with conditions that do not hold now. Skills with an
// unchanged digest are kept as they are; vanished ones are gone at once; new ones
// are read by the next search.
func (x *Index) Update(ctx context.Context, scope string, snap *registry.Snapshot) (UpdateReport, error) {
	docs := make([]*document, 0, len(snap.Winners))
	for _, rec := range snap.Winners {
		switch rec.State {
		case registry.Available, registry.Hidden, registry.Unmet:
			docs = append(docs, documentOf(rec))
		}
	}
	return x.update(ctx, scope, docs)
}

// AddDocs makes the scope hold exactly docs, whose addresses must differ.
func (x *Index) AddDocs(ctx context.Context, scope string, docs []Document) (UpdateReport, error) {
	list := make([]*document, len(docs))
	for i, d := range docs {
		list[i] = &document{Document: d}
	}
	return x.update(ctx, scope, list)
}

func (x *Index) update(ctx context.Context, name string, docs []*document) (UpdateReport, error) {
	if x.closed.Load() {
		return UpdateReport{}, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return UpdateReport{}, err
	}
	s := x.scope(name)
	s.write.Lock()
	defer s.write.Unlock()
	old := s.gen.Load()
	g, report := old.diff(docs)
	if g != nil {
		s.gen.Store(g)
	}
	return report, nil
}

// same reports whether the index already holds d as it is.
func (d *document) same(e *document) bool {
	return d.Address == e.Address && d.Digest == e.Digest && d.Digest != "" && d.Location == e.Location &&
		d.Name == e.Name && d.Source == e.Source && d.Trust == e.Trust
}

// diff returns the generation that holds docs, or nil when old does.
func (old *generation) diff(docs []*document) (*generation, UpdateReport) {
	var report UpdateReport
	keep := make(map[*document]bool, len(docs))
	var pending []*document
	for _, d := range docs {
		have := old.lookup(d.Address)
		switch {
		case have != nil && have.same(d):
			keep[have] = true
			report.Unchanged++
		case have != nil:
			report.Changed++
			pending = append(pending, d)
		default:
			report.Added++
			pending = append(pending, d)
		}
	}
	report.Removed = old.live - report.Unchanged - report.Changed
	if report.Removed == 0 && len(pending) == 0 && len(old.pending) == 0 {
		return nil, report
	}
	g := &generation{number: old.number + 1, pending: pending}
	for _, p := range old.parts {
		var dead []uint32
		for i, d := range p.docs {
			if p.alive(uint32(i)) && !keep[d] {
				dead = append(dead, uint32(i))
			}
		}
		if p = p.without(dead); p.gone < len(p.docs) {
			g.parts = append(g.parts, p)
		}
	}
	g.count()
	return g, report
}

// lookup returns the living document of that address.
func (g *generation) lookup(address string) *document {
	for _, p := range g.parts {
		if i, ok := p.address[address]; ok && p.alive(i) {
			return p.docs[i]
		}
	}
	return nil
}

// count sums up what the formula needs of the living documents.
func (g *generation) count() {
	g.stats = stats{}
	for _, p := range g.parts {
		for i := range p.lens {
			if p.alive(uint32(i)) {
				g.add(&p.lens[i], 1)
			}
		}
	}
}

// Warm reads what the last Update found new, so that the next search need not.
func (x *Index) Warm(ctx context.Context, scope string) error {
	_, err := x.ready(ctx, x.scope(scope))
	return err
}

// Bounds of fragmentation: more segments, or a greater share of dead documents, and
// the segments are merged.
const (
	maxParts    = 4
	maxDeadPart = 5 // one in five
)

// ready returns a generation with nothing pending. A cancelled build keeps what it
// has read.
func (x *Index) ready(ctx context.Context, s *scope) (*generation, error) {
	if g := s.gen.Load(); len(g.pending) == 0 {
		return g, nil
	}
	s.write.Lock()
	defer s.write.Unlock()
	old := s.gen.Load()
	if len(old.pending) == 0 {
		return old, nil
	}
	g := &generation{number: old.number + 1, parts: append([]part(nil), old.parts...), diags: old.diags}
	b := newBuilder(&x.opt, x.an)
	progress.Begin(ctx, "index", len(old.pending))
	for i, d := range old.pending {
		if ctx.Err() != nil {
			g.pending = old.pending[i:]
			break
		}
		g.diags = append(g.diags, b.index(ctx, d)...)
		progress.Add(ctx, 1)
	}
	g.parts = append(g.parts, part{segment: b.segment()})
	g.count()
	total := 0
	for _, p := range g.parts {
		total += len(p.docs)
	}
	if len(g.parts) > maxParts || (total-g.live)*maxDeadPart > total {
		one, _ := merge(&x.opt, g.parts)
		g.parts = []part{{segment: one}}
	}
	s.gen.Store(g)
	return g, ctx.Err()
}

// Diagnostics returns what building the scope's index had to skip.
func (x *Index) Diagnostics(scope string) []skill.Diagnostic { return x.scope(scope).gen.Load().diags }

// Stats describes the default scope.
func (x *Index) Stats() Stats {
	g := x.scope("").gen.Load()
	st := Stats{Skills: g.live, Segments: len(g.parts), Generation: g.number, Pending: len(g.pending)}
	for _, p := range g.parts {
		st.Terms += p.terms()
		st.Postings += int64(len(p.data))
		st.Bytes += int64(len(p.data)+len(p.blob)+12*p.terms()) + int64(len(p.lens))*int64(4*fieldCount)
	}
	return st
}

// Drop forgets a scope.
func (x *Index) Drop(scope string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.scopes, scope)
	return nil
}

// Close ends the index; later calls return ErrClosed.
func (x *Index) Close() error {
	x.closed.Store(true)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.scopes = map[string]*scope{}
	return nil
}
