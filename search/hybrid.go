package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Fusion says how the ranks by words and by vectors become one.
type Fusion string

// The fusions. Reciprocal adds 1/(60 + rank) of both sides; Weighted adds half of the
// cosine and half of the words' score, which is stretched to 0…1 first.
const (
	Reciprocal Fusion = "reciprocal"
	Weighted   Fusion = "weighted"
)

const (
	rankOffset   = 60
	fusedScale   = 1 << 20 // the unit of a reciprocal rank in Hit.Score
	vectorWeight = 0.5
	// parallelRows is how many vectors are worth another goroutine.
	parallelRows = 4096
)

// depth is how many hits of each side are fused.
func (o *Options) depth(topK int) int {
	if o.Fusion == Weighted {
		return min(2*topK, 50)
	}
	return min(max(4*topK, 50), 200)
}

// asking is a query's vector on its way.
type asking struct {
	done chan struct{}
	vec  []float32
	err  error
}

// ask begins to embed a query.
func (x *Index) ask(ctx context.Context, text string) *asking {
	a := &asking{done: make(chan struct{})}
	limited, stop := context.WithTimeout(ctx, x.opt.VectorTimeout)
	if !x.background(func(life context.Context) {
		defer close(a.done)
		defer stop()
		defer context.AfterFunc(life, stop)()
		list, err := x.vectorsOf(limited, []string{text})
		if a.err = err; err == nil {
			a.vec = unit(list[0])
		}
	}) {
		stop()
		a.err = ErrClosed
		close(a.done)
	}
	return a
}

// wait returns the query's vector, or why there is none in time; for a nil asking,
// that there are none to compare it with, and why.
func (a *asking) wait(ctx context.Context, limit time.Duration, why error) ([]float32, error) {
	if a == nil {
		return nil, why
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-a.done:
		if errors.Is(a.err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("no answer in %v", limit)
		}
		return a.vec, a.err
	case <-timer.C:
		return nil, fmt.Errorf("no answer in %v", limit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fused answers q by words and vectors, or by vectors alone.
func (x *Index) fused(ctx context.Context, s *scope, g *generation, q Query) (Result, error) {
	q.Filter = q.Filter.folded()
	question := x.an.parse(q)
	if len(question.terms)+len(question.phrases) == 0 {
		return x.ranked(ctx, s, g, q)
	}
	x.startEmbedding(s, g)
	set, why := s.vectors.rowsOf(g), s.vectors.why()
	var waiting *asking
	if len(set.rows) > 0 {
		waiting = x.ask(ctx, clip(q.Text, maxQuery))
	}
	p := g.plan(x.opt, x.an, question, q.Filter)
	res := Result{Mode: q.Mode, Generation: g.number, Diagnostics: question.diags}
	side := q
	side.TopK, side.MinScore = x.opt.depth(q.TopK), 0
	col := p.gather(ctx, side, question, &res)
	words := []*found(col.top)
	slices.SortFunc(words, (*found).before)
	query, err := waiting.wait(ctx, x.opt.VectorTimeout, why)
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err == nil {
		if len(set.rows[0].vec) != len(query) {
			err = fmt.Errorf("%w: %d numbers, not %d", ErrBadVector, len(query), len(set.rows[0].vec))
		}
		if set.without > 0 {
			res.Degraded = fmt.Sprintf("embedder: %d of %d skills have vectors", g.live-set.without, g.live)
		}
		if err == nil {
			near := nearest(p, set.rows, query, side, question, col.named)
			words = x.fuse(q.Mode, words, near, side.TopK)
		}
	}
	if err != nil {
		res.Degraded, res.Mode = "embedder: "+err.Error(), BM25
	}
	return x.finish(ctx, s, p, q, question, words, col, &res)
}

// finish turns fused candidates into hits: named skills first, phrases held.
func (x *Index) finish(ctx context.Context, s *scope, p *plan, q Query, ask question, list []*found, col *collector, res *Result) (Result, error) {
	all := slices.Clone(list)
	for i := range col.named {
		all = append(all, &col.named[i])
	}
	p.judge(all)
	for _, f := range all {
		if f.fused {
			f.score = f.fusedScore
		}
	}
	list = slices.DeleteFunc(promote(list, col.named, len(all)), func(f *found) bool { return f.score < q.MinScore && !f.named })
	list = phrased(ctx, list, ask.phrases)
	res.Total = max(col.total, len(list))
	var sh showing
	for _, f := range list[:min(len(list), q.TopK)] {
		res.Hits = append(res.Hits, p.hit(ctx, q, ask, f, &sh))
	}
	res.Diagnostics = append(res.Diagnostics, sh.diags...)
	x.requeue(s, sh.stale)
	return *res, ctx.Err()
}

// fuse makes one list of both sides, in the order of the fused score.
func (x *Index) fuse(mode Mode, words, near []*found, depth int) []*found {
	type place struct{ part, doc int }
	at := map[place]*found{}
	var out []*found
	one := func(f *found) *found {
		k := place{f.part, int(f.number)}
		if at[k] == nil {
			at[k] = f
			f.fused = true
			out = append(out, f)
		}
		return at[k]
	}
	if mode == Vector {
		words = nil
	}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, f := range words {
		low, high = min(low, f.score), max(high, f.score)
	}
	for rank, f := range words {
		share := 1.0
		if high > low {
			share = float64(f.score-low) / float64(high-low)
		}
		f = one(f)
		f.byWords = f.score
		if x.opt.Fusion == Weighted {
			f.fusedScore += int64(math.Round(float64(float64(share*(1-vectorWeight)) * scale)))
		} else {
			f.fusedScore += fusedScale / int64(rankOffset+rank+1)
		}
	}
	for rank, f := range near {
		cosine := f.cosine
		f = one(f)
		f.cosine = cosine
		switch {
		case mode == Vector:
			f.fusedScore = int64(math.Round(float64(float64(cosine) * scale)))
		case x.opt.Fusion == Weighted:
			f.fusedScore += int64(math.Round(float64(float64(float64(cosine)*vectorWeight) * scale)))
		default:
			f.fusedScore += fusedScale / int64(rankOffset+rank+1)
		}
	}
	slices.SortFunc(out, func(a, b *found) int {
		return cmp.Or(cmp.Compare(b.fusedScore, a.fusedScore), cmp.Compare(b.byWords, a.byWords), cmp.Compare(b.cosine, a.cosine), a.ahead(b.document))
	})
	return out[:min(len(out), 2*depth)]
}

// nearest returns the documents whose vectors are nearest to the query's, at most
// q.TopK, among those that may be hits.
func nearest(p *plan, rows []row, query []float32, q Query, ask question, named []found) []*found {
	allowed := make([]func(doc uint32) bool, len(p.g.parts))
	for i := range p.g.parts {
		allowed[i] = p.allowed(i, q, ask, named)
	}
	workers := max(1, min(runtime.GOMAXPROCS(0), len(rows)/parallelRows))
	tops := make([][]*found, workers)
	var wg sync.WaitGroup
	for w := range workers {
		from, to := edge(rows, len(rows)*w/workers), edge(rows, len(rows)*(w+1)/workers)
		wg.Go(func() { tops[w] = nearestOf(p, rows[from:to], query, q.TopK, allowed) })
	}
	wg.Wait()
	all := slices.Concat(tops...)
	slices.SortFunc(all, (*found).nearer)
	return all[:min(len(all), q.TopK)]
}

// edge moves i to where a document's rows begin, so that none is cut in two.
func edge(rows []row, i int) int {
	for i > 0 && i < len(rows) && rows[i].part == rows[i-1].part && rows[i].doc == rows[i-1].doc {
		i++
	}
	return i
}

func nearestOf(p *plan, rows []row, query []float32, k int, allowed []func(uint32) bool) (top []*found) {
	least := float32(math.Inf(-1))
	for i := 0; i < len(rows); {
		r := rows[i]
		best := float32(math.Inf(-1))
		for ; i < len(rows) && rows[i].part == r.part && rows[i].doc == r.doc; i++ {
			best = max(best, dot(rows[i].vec, query))
		}
		if len(top) >= k && best < least || !allowed[r.part](r.doc) {
			continue
		}
		top = append(top, &found{document: p.g.parts[r.part].docs[r.doc], part: r.part, number: r.doc, cosine: best})
		if len(top) >= 2*k+64 {
			slices.SortFunc(top, (*found).nearer)
			top = top[:k]
			least = top[k-1].cosine
		}
	}
	slices.SortFunc(top, (*found).nearer)
	return top[:min(len(top), k)]
}

// allowed says which documents of part number i may be hits: in the view, let through
// by the filter, without an excluded word, and no hit by name already.
func (p *plan) allowed(i int, q Query, ask question, named []found) func(doc uint32) bool {
	part, seen := p.g.parts[i], q.View.bits(p.g, i)
	out := map[uint32]bool{}
	for _, c := range part.open(ask.without) {
		for ; c.doc != finished; c.next() {
			out[c.doc] = true
		}
	}
	for _, f := range named {
		if f.part == i {
			out[f.number] = true
		}
	}
	filter := q.Filter
	return func(doc uint32) bool {
		return (seen == nil || seen[doc/64]&(1<<(doc%64)) != 0) && !out[doc] && (!filter.narrow() || filter.admits(part.docs[doc]))
	}
}

// dot is the product of two vectors of one length. The order of its sums is fixed and
// every product is rounded by itself, so that every machine gets the same.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		x, y := (*[8]float32)(a), (*[8]float32)(b)
		s0 += float32(x[0] * y[0])
		s1 += float32(x[1] * y[1])
		s2 += float32(x[2] * y[2])
		s3 += float32(x[3] * y[3])
		s4 += float32(x[4] * y[4])
		s5 += float32(x[5] * y[5])
		s6 += float32(x[6] * y[6])
		s7 += float32(x[7] * y[7])
		a, b = a[8:], b[8:]
	}
	for i := range min(len(a), len(b)) {
		s0 += float32(a[i] * b[i])
	}
	return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
}
