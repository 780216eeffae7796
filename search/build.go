package search

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deftskills/deft/internal/progress"
)

const (
	// warmBatch is how many skills Warm reads before searches see them.
	warmBatch = 8192
	// smallMerge is how many documents are merged on the spot; more are in the
	// background. 500 take two milliseconds.
	smallMerge = 512
	// maxDead is the greatest share of dead documents: one in so many.
	maxDead = 5
	// lookTime is how long a search waits for a look at references.
	lookTime = 150 * time.Millisecond
)

// Warm reads what the last Update found new, so that the next search need not, and
// gets its vectors; an error of the embedder leaves the words searchable. Searches beside it answer from what it has read and scan the rest.
func (x *Index) Warm(ctx context.Context, scope string) error {
	s := x.scope(scope)
	x.look(ctx, s, time.Hour)
	s.write.Lock()
	s.warming.Store(true)
	s.write.Unlock()
	defer s.warming.Store(false)
	for {
		if x.closed.Load() {
			return ErrClosed
		}
		s.write.Lock()
		g, err := x.build(ctx, s, warmBatch)
		s.write.Unlock()
		if err != nil {
			return err
		}
		if len(g.pending) == 0 {
			break
		}
	}
	if x.opt.Embedder == nil {
		return nil
	}
	return x.embed(ctx, s)
}

// ready returns a generation with nothing pending, or what there is while Warm is
// building. A cancelled build keeps what it has read.
func (x *Index) ready(ctx context.Context, s *scope) (g *generation, building bool, err error) {
	x.look(ctx, s, lookTime)
	if g := s.gen.Load(); len(g.pending) == 0 {
		return g, false, nil
	}
	if s.warming.Load() {
		g := s.gen.Load()
		return g, len(g.pending) > 0, nil
	}
	s.write.Lock()
	defer s.write.Unlock()
	g, err = x.build(ctx, s, 0)
	return g, false, err
}

// build reads pending documents, at most so many when limit is not 0. The scope's
// write lock is held.
func (x *Index) build(ctx context.Context, s *scope, limit int) (*generation, error) {
	old := s.gen.Load()
	if len(old.pending) == 0 {
		return old, nil
	}
	g := old.next()
	b := newBuilder(&x.opt, x.an)
	batch := old.pending
	if limit > 0 && len(batch) > limit {
		batch = batch[:limit]
	}
	batch = slices.Clone(batch)
	slices.SortFunc(batch, (*document).ahead)
	progress.Begin(ctx, "index", len(old.pending))
	read := map[*document]bool{}
	for _, d := range batch {
		if ctx.Err() != nil {
			break
		}
		b.index(ctx, d)
		progress.Add(ctx, 1)
		read[d] = true
	}
	g.pending = slices.DeleteFunc(g.pending, func(d *document) bool { return read[d] })
	p := b.part()
	for i := range p.lens {
		g.add(&p.lens[i], 1)
	}
	if len(p.docs) > 0 {
		g.parts = append(g.parts, p)
	}
	g.settle(&x.opt)
	s.gen.Store(g)
	if g.fragments(math.MaxInt) >= 0 {
		x.compact(s)
	} else {
		x.save(s)
	}
	return g, ctx.Err()
}

// fragments returns from which part on the parts should be one, -1 for none, where one
// may hold at most so many documents. Sizes of parts that stay at least double, so
// that a document is merged a few times in its life, however many are added one by one.
func (g *generation) fragments(most int) (first int) {
	total := 0
	for _, p := range g.parts {
		total += len(p.docs)
	}
	if (total-g.live)*maxDead > total && g.live <= most {
		return 0
	}
	if len(g.parts) < 2 {
		return -1
	}
	first = len(g.parts) - 1
	docs := g.parts[first].living()
	for first > 0 && g.parts[first-1].living() <= min(2*docs, most-docs) {
		first--
		docs += g.parts[first].living()
	}
	if first == len(g.parts)-1 {
		return -1
	}
	return first
}

// settle merges what is quickly merged.
func (g *generation) settle(opt *Options) {
	if first := g.fragments(smallMerge); first >= 0 {
		one, _ := merge(opt, g.parts[first:])
		if g.parts = g.parts[:first:first]; len(one.docs) > 0 {
			g.parts = append(g.parts, one)
		}
	}
}

// compact merges fragments in the background; readers and writers go on meanwhile.
func (x *Index) compact(s *scope) {
	if !s.compacting.CompareAndSwap(false, true) {
		return
	}
	x.background(func(ctx context.Context) {
		defer s.compacting.Store(false)
		for ctx.Err() == nil {
			old := s.gen.Load()
			first := old.fragments(math.MaxInt)
			if first < 0 {
				break
			}
			from := old.parts[first:]
			one, to := merge(&x.opt, from)
			s.write.Lock()
			g := s.gen.Load().next()
			g.swap(from, one, to)
			s.gen.Store(g)
			s.write.Unlock()
		}
		x.write(s)
	})
}

// swap puts one, which from was merged to, in the place of from, of which documents
// may have gone meanwhile.
func (g *generation) swap(from []part, one part, to [][]uint32) {
	docs := make([]*document, len(one.docs))
	kept, at := g.parts[:0:0], len(g.parts)
	for _, now := range g.parts {
		was := -1
		for i := range from {
			if from[i].segment == now.segment {
				was = i
			}
		}
		if was < 0 {
			kept = append(kept, now)
			continue
		}
		at = min(at, len(kept))
		for d, doc := range now.docs {
			if now.alive(uint32(d)) {
				docs[to[was][d]] = doc
			}
		}
	}
	if one = one.replace(docs); one.living() > 0 {
		kept = slices.Insert(kept, min(at, len(kept)), one)
	}
	g.parts = kept
}

// Recheck has the next search look whether references of a scope's skills have
// changed. Update does so by itself.
func (x *Index) Recheck(scope string) { x.scope(scope).moved.Store(true) }

// look finds skills whose references have changed, when that is due, and makes them
// pending. It waits for that at most so long; the rest happens in the background.
func (x *Index) look(ctx context.Context, s *scope, patience time.Duration) {
	if !s.moved.Load() || !s.looking.TryLock() {
		return
	}
	s.moved.Store(false)
	done := make(chan struct{})
	if !x.background(func(ctx context.Context) {
		defer close(done)
		defer s.looking.Unlock()
		x.requeue(s, movedOf(ctx, s.gen.Load().documents()))
	}) {
		s.looking.Unlock()
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// movedOf returns those whose references are no longer as they were indexed.
func movedOf(ctx context.Context, docs []*document) (moved []*document) {
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(docs)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if docs[i].moved(ctx) {
					mu.Lock()
					moved = append(moved, docs[i])
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return moved
}

// requeue has the next search read documents again, where the index still holds them.
func (x *Index) requeue(s *scope, docs []*document) {
	if len(docs) == 0 {
		return
	}
	s.write.Lock()
	defer s.write.Unlock()
	g := s.gen.Load().next()
	var again []string
	var fresh []*document
	for _, d := range docs {
		if p, doc, ok := lookup(g.parts, d.Address); ok && g.parts[p].docs[doc] == d {
			again = append(again, d.Address)
			fresh = append(fresh, newDocument(d.Document))
		}
	}
	if g.take(again) > 0 {
		g.pending = append(g.pending, fresh...)
		s.gen.Store(g)
	}
}
